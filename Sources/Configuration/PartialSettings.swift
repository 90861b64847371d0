// SPDX-License-Identifier: Apache-2.0

/// The valid part of settings files: all lines but those with a syntax error, of all files that can be read.
struct PartialSettings {
  /// The merged text.
  let root: TOMLValue
  /// Every file, in the order in which they are merged.
  let files: [String]
  /// Whether every file could be read and has text. Otherwise a key that is not in `root` may be in one of the others.
  let isComplete: Bool

  /// Maximum number of lines with an error in one file.
  private static let maxErrors = 20

  /// A file or directory that is empty, or that cannot be read, is assumed to name no other destination.
  ///
  /// - Throws: a file is missing, too large, not a regular file or not text, or a line with an error may decide where
  ///   positions and credentials are sent.
  init(path: String, environment: ConfigurationEnvironment) throws(KeptSettings.Refusal) {
    var root = TOMLValue(content: .table([:]), position: SourcePosition(file: path))
    let (files, _, unreadable) = SettingsFile.findFiles(path: path, environment: environment)
    var isComplete = unreadable.isEmpty
    for file in files {
      let bytes: [UInt8]
      do throws(ConfigurationEnvironment.FileProblem) {
        bytes = try environment.readFile(file, SettingsFile.maxFileSize)
      } catch {
        switch error {
        case .permissionDenied, .systemError:
          isComplete = false
          continue
        case .missing, .directory, .notRegular, .tooLarge: throw .unknownDestination("\(file) \(error.explanation)")
        }
      }
      guard !SettingsFile.isEmpty(bytes) else {
        isComplete = false
        continue
      }
      if let line = SettingsFile.invalidLine(bytes) { throw .unknownDestination("\(file):\(line) is not UTF-8 text") }
      root = root.merged(with: try PartialSettings.validLines(of: bytes, file), merges: SettingsFile.isMerged)
    }
    self.root = root
    self.files = files
    self.isComplete = isComplete
  }

  /// Parses a file, leaving out each line with an error.
  private static func validLines(of bytes: [UInt8], _ file: String) throws(KeptSettings.Refusal) -> TOMLValue {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    var firstMistake: Diagnostic?
    for _ in 0...maxErrors {
      let mistake: Diagnostic
      do throws(Diagnostic) {
        return try TOMLParser.parse(Array(lines.joined(separator: [UInt8(ascii: "\n")])), file: file)
      } catch {
        mistake = error
      }
      firstMistake = firstMistake ?? mistake
      let index = mistake.position.line - 1
      guard lines.indices.contains(index), let invalid = omittedLines(lines, index) else { break }
      for index in invalid { lines[index] = [] }
    }
    throw .unknownDestination(firstMistake.map { "\($0)" } ?? file)
  }

  /// The lines to leave out for an error in the line at `index`; nil if they may decide where positions and credentials
  /// are sent. After an invalid heading these are all lines up to the next heading, because their section is unknown.
  private static func omittedLines(_ lines: [[UInt8]], _ index: Int) -> Range<Int>? {
    let line = text(lines[index])
    guard !line.isEmpty else { return nil }
    let section = lines[..<index].lazy.map(text).last(where: isHeading)
    if let section, SettingsDestination.isUnrelated(assignment: line, below: section) { return index..<index + 1 }
    let end = line.hasPrefix("[") ? lines[(index + 1)...].firstIndex { isHeading(text($0)) } ?? lines.count : index + 1
    guard !lines[index..<end].contains(where: { SettingsDestination.isNamed(in: text($0)) }) else { return nil }
    if !isHeading(line), let section, SettingsDestination.isNamed(in: section) { return nil }
    return index..<end
  }

  /// A heading begins with a letter; other lines with a bracket may be part of a multi-line value.
  private static func isHeading(_ line: String) -> Bool {
    line.hasPrefix("[") && line.drop { $0 == "[" || $0 == " " }.first?.isLetter ?? false
  }

  private static func text(_ line: [UInt8]) -> String {
    String(decoding: line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
  }
}

extension KeptSettings.Refusal {
  /// The refusal when it cannot be determined whether the settings files name the same vehicle and servers.
  static func unknownDestination(_ why: String) -> KeptSettings.Refusal {
    KeptSettings.Refusal(
      message: "are not used, because it is unknown which vehicle and servers the new ones name: \(why)")
  }
}
