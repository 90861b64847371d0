// SPDX-License-Identifier: Apache-2.0

/// What can still be read of settings files of which some are not TOML: all but the lines at fault.
enum SettingsRemains {
  /// More lines at fault than a slip of the hand makes.
  private static let mostLines = 20

  /// - Throws: a file cannot be read, or a line at fault may say where positions and credentials go.
  static func read(
    path: String, environment: ConfigurationEnvironment
  ) throws(KeptSettings.Refusal) -> TOMLValue {
    var root = TOMLValue(content: .table([:]), position: SourcePosition(file: path))
    let files: [String]
    do throws(ConfigurationError) {
      files = try SettingsFile.names(path: path, environment: environment).files
    } catch {
      throw .unreadable(error.message)
    }
    for file in files {
      let bytes: [UInt8]
      do throws(Diagnostic) {
        bytes = try SettingsFile.read(file, isMain: file == path, environment)
      } catch {
        throw .unreadable("\(error)")
      }
      root = root.overlaid(by: try remains(of: bytes, file), merges: SettingsFile.isMerged)
    }
    return root
  }

  /// Takes the line at fault out as long as there is one.
  private static func remains(of bytes: [UInt8], _ file: String) throws(KeptSettings.Refusal) -> TOMLValue {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    var fault: Diagnostic?
    for _ in 0...mostLines {
      let mistake: Diagnostic
      do throws(Diagnostic) {
        return try TOMLParser.parse(Array(lines.joined(separator: [UInt8(ascii: "\n")])), file: file)
      } catch {
        mistake = error
      }
      // The first says it best.
      fault = fault ?? mistake
      let index = mistake.position.line - 1
      guard lines.indices.contains(index), mayBeLeftOut(lines, index) else { break }
      lines[index] = []
    }
    throw .unreadable(fault.map { "\($0)" } ?? file)
  }

  /// Whether a line is surely not about where positions and credentials go, nor the beginning of a section.
  private static func mayBeLeftOut(_ lines: [[UInt8]], _ index: Int) -> Bool {
    let line = text(lines[index])
    guard !line.isEmpty, !line.hasPrefix("["), !SettingsDestination.isNamed(in: line) else { return false }
    // Not a line of a text over several lines, as of JSON.
    let heading = lines[..<index].lazy.map(text).last {
      $0.hasPrefix("[") && $0.drop { $0 == "[" || $0 == " " }.first?.isLetter ?? false
    }
    return heading.map { !SettingsDestination.isNamed(in: $0) } ?? true
  }

  private static func text(_ line: [UInt8]) -> String {
    String(decoding: line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }, as: UTF8.self)
  }
}

extension KeptSettings.Refusal {
  /// The settings files cannot be read well enough to tell whether they name the same vehicle and servers.
  static func unreadable(_ why: String) -> KeptSettings.Refusal {
    KeptSettings.Refusal(message: "are not used: which vehicle and servers the new ones name cannot be told: \(why)")
  }
}
