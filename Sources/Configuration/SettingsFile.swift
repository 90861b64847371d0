// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// The settings of one daemon: the main file `NAME.toml`, with the files of the directory `conf.d` next to it merged
/// into it, and then those of the directory `NAME.toml.d`.
package struct SettingsFile: Equatable, Sendable {
  /// The merged settings.
  package internal(set) var settings: Settings
  /// Warnings, in the order of the files and lines.
  package private(set) var warnings: [Diagnostic]
  /// Every file that was read, in the order in which they were merged.
  package let files: [String]
  /// The merged text.
  let root: TOMLValue
  /// What later files have replaced, in the order of the files.
  private(set) var replacements: [TOMLValue.Replacement] = []

  /// Maximum size of a file in bytes.
  static let maxFileSize = 1_000_000

  /// Reads the main file, every `conf.d/*.toml` next to it (settings that all daemons of a box share), and every
  /// `*.toml` in the directory with the name of the main file and `.d` (settings of this daemon). In each directory the
  /// files are read in the order of their names (as bytes); names with a leading dot are left out. A key of a later
  /// file replaces the same key of an earlier one; sections and headers are merged.
  ///
  /// - Parameters:
  ///   - path: the main file. Relative paths in any of the files are relative to its directory.
  ///   - environment: the machine that the settings may refer to.
  ///   - needsVehicleID: false for a command that does not use it: its credential or environment variable may be there
  ///     only for the service.
  ///   - section: the only section that a command uses; nil if it uses all. Mistakes in the values of the others are
  ///     not reported: a file that they name may appear later, or be readable only for the service.
  /// - Throws: all mistakes, not only the first.
  package static func load(
    path: String, environment: ConfigurationEnvironment, needsVehicleID: Bool = true,
    using section: SettingSection? = nil
  ) throws(ConfigurationError) -> SettingsFile {
    var (files, ignored, unreadable) = findFiles(path: path, environment: environment)
    var root: TOMLValue?
    var replacements: [TOMLValue.Replacement] = []
    var malformed: [Diagnostic] = []
    var empty: [String] = []
    for file in files {
      let bytes: [UInt8]
      do throws(Diagnostic) {
        bytes = try read(file, isMain: file == path, environment)
      } catch {
        unreadable.append(error)
        continue
      }
      // The zeros that a power cut may leave are no TOML.
      if isEmpty(bytes), bytes.isEmpty || bytes.contains(0) {
        empty.append(file)
        continue
      }
      do throws(Diagnostic) {
        let value = try TOMLParser.parse(bytes, file: file)
        replacements += root?.replacements(by: value, merges: isMerged) ?? []
        root = root?.merged(with: value, merges: isMerged) ?? value
      } catch {
        malformed.append(error)
      }
    }
    guard var root, unreadable.isEmpty, malformed.isEmpty else {
      throw ConfigurationError(diagnostics: unreadable + malformed)
    }
    if !needsVehicleID { root = root.merged(with: anyVehicle(path), merges: isMerged) }
    var file = try SettingsFile(root: root, files: files, main: path, environment: environment, using: section)
    file.replacements = replacements
    file.warnings += SettingsDestination.warnings(about: replacements, main: path)
    file.warnings += empty.map {
      Diagnostic(
        position: SourcePosition(file: $0),
        message: "is empty, perhaps because of a power cut; write it again, or delete it")
    }
    file.warnings += ignored.map {
      Diagnostic(
        position: SourcePosition(file: $0),
        message: $0.hasSuffix(".toml")
          ? "is ignored: the directories that are read are \(sharedDirectory(of: path)) and \(path).d"
          : "is ignored: only files whose name ends in .toml are read")
    }
    return file
  }

  /// - Parameters:
  ///   - main: the main file; relative paths are relative to its directory.
  ///   - section: the only section whose values must have no mistake; nil for all.
  /// - Throws: all mistakes in the values, not only the first.
  init(
    root: TOMLValue, files: [String], main: String, environment: ConfigurationEnvironment,
    using section: SettingSection? = nil
  ) throws(ConfigurationError) {
    var reader = SettingsReader(
      root: root, files: files, context: SettingsFile.context(of: main, environment: environment))
    settings = Settings(&reader)
    reader.sort()
    let problems = reader.problems.filter { problem in section.map { problem.concerns($0) } ?? true }
    guard problems.isEmpty else { throw ConfigurationError(diagnostics: problems, warnings: reader.warnings) }
    warnings = reader.warnings
    self.files = files
    self.root = root.removing(reader.ignoredKeys)
  }

  /// The files that `load` reads, in the order in which they are merged, files next to them that it does not read, and
  /// the directories that cannot be read.
  static func findFiles(
    path: String, environment: ConfigurationEnvironment
  ) -> (files: [String], ignored: [String], unreadable: [Diagnostic]) {
    let directory = directory(of: path)
    var (files, ignored, unreadable) = ([path], [String](), [Diagnostic]())
    for extraDirectory in [sharedDirectory(of: path), "\(path).d"] {
      do throws(ConfigurationEnvironment.FileProblem) {
        let names = try environment.listDirectory(extraDirectory).filter { !$0.hasPrefix(".") }
          .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        files += names.filter { $0.hasSuffix(".toml") }.map { "\(extraDirectory)/\($0)" }
        // Backup files of editors and dpkg are ignored without a warning.
        ignored += names.filter { ($0.hasSuffix(".txt") || !$0.contains(text: ".toml")) && !$0.hasSuffix("~") }
          .map { "\(extraDirectory)/\($0)" }
      } catch {
        // If the parent directory cannot be read, it is unknown whether this one exists.
        let isParentDenied =
          error == .permissionDenied && !directory.isEmpty && (try? environment.listDirectory(directory)) == nil
        let advice =
          error == .permissionDenied
          ? "; the user of the service must be able to enter it and the directories above it: chmod 755 "
            + (isParentDenied ? directory : extraDirectory) : ""
        guard !isParentDenied || unreadable.isEmpty else { continue }
        unreadable.append(
          Diagnostic(
            position: SourcePosition(file: isParentDenied ? directory : extraDirectory),
            message: error.explanation + advice, isPermissionDenied: error == .permissionDenied))
      }
    }
    // The correct name contains the main file's extension.
    let misnamed = (path.hasSuffix(".toml") ? String(path.dropLast(5)) : path) + ".d"
    for name in (misnamed != "\(path).d" ? try? environment.listDirectory(misnamed) : nil) ?? []
    where name.hasSuffix(".toml") { ignored.append("\(misnamed)/\(name)") }
    return (files, ignored, unreadable)
  }

  /// Settings with a vehicle's ID that nothing uses.
  private static func anyVehicle(_ path: String) -> TOMLValue {
    let position = SourcePosition(file: path)
    let table = { (key: String, value: TOMLValue) in
      TOMLValue(content: .table([key: TOMLValue.Member(keyPosition: position, value: value)]), position: position)
    }
    let id = TOMLValue(content: .string("any"), position: position)
    return table(SettingSection.vehicle.rawValue, table("vehicle_id", id))
  }

  /// The directory with the settings that all daemons of a box share.
  ///
  /// - Parameter path: of the main file.
  static func sharedDirectory(of path: String) -> String { "conf.d".resolvedPath(in: directory(of: path)) }

  /// Sections merge key by key and the headers name by name; any other table is one value.
  static func isMerged(_ path: [String]) -> Bool {
    path.count < 2 || path == [SettingSection.token.rawValue, "headers"]
  }

  static func read(
    _ file: String, isMain: Bool, _ environment: ConfigurationEnvironment
  ) throws(Diagnostic) -> [UInt8] {
    let position = SourcePosition(file: file)
    let bytes: [UInt8]
    do throws(ConfigurationEnvironment.FileProblem) {
      bytes = try environment.readFile(file, maxFileSize)
    } catch {
      let advice =
        switch error {
        case .missing where !isMain: ": it is a link to a file that is missing"
        case .missing:
          "; sudo fleet-locationctl setup writes it, and fleet-locationd --example-settings prints one to start with"
        case .tooLarge: ": a settings file has at most \(maxFileSize / 1_000_000) MB"
        case .permissionDenied:
          "; the user of the service must be able to read it (chmod 644) and to enter its directory (chmod 755), and cannot see "
            + "anything under /root and /home"
        case .systemError: "; the user of the service must be able to read it"
        case .directory, .notRegular: ""
        }
      throw Diagnostic(
        position: position, message: error.explanation + advice, mayAppearLater: error == .missing && !isMain,
        isPermissionDenied: error == .permissionDenied)
    }
    guard !isMain || !isEmpty(bytes) else {
      throw Diagnostic(
        position: position, message: "is empty; at least [vehicle], [source] and [token] are expected")
    }
    if let line = invalidLine(bytes) {
      throw Diagnostic(
        position: SourcePosition(file: file, line: line), message: "is not UTF-8 text; save the file as UTF-8")
    }
    return bytes
  }

  /// Whether a file has no text: nothing but white space, or the zeros that some file systems leave after a power cut.
  static func isEmpty(_ bytes: [UInt8]) -> Bool {
    bytes.allSatisfy { " \t\r\n\0".utf8.contains($0) }
  }

  /// The number of the first line that is not UTF-8.
  static func invalidLine(_ bytes: [UInt8]) -> Int? {
    guard String(validating: bytes, as: UTF8.self) == nil else { return nil }
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let index = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }
    return (index ?? 0) + 1
  }

  /// - Parameter main: the main file.
  static func context(of main: String, environment: ConfigurationEnvironment) -> SettingsContext {
    SettingsContext(environment: environment, directory: directory(of: main))
  }

  /// The directory of a path; empty if the path has none.
  private static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    // "/." for the root: a slash and a name are appended to it.
    return slash == path.startIndex ? "/." : String(path[..<slash])
  }
}
