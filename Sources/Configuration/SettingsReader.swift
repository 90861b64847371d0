// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Reads keys from the merged settings files, and collects the mistakes in them.
struct SettingsReader {
  private let root: TOMLValue
  /// The files in the order in which they were merged; the first is the main one.
  private let files: [String]
  /// The tables of the sources: the table `[source]`, or each table of the array `[[source]]`.
  private let sources: [Table]
  /// Index of the source whose keys are read.
  private var sourceIndex = 0
  private(set) var problems: [Diagnostic] = []
  /// Keys of earlier files that later files made ineffective.
  private(set) var ignoredKeys: [(section: SettingSection, name: String)] = []
  private(set) var warnings: [Diagnostic] = []

  /// Where a key is in the settings.
  private struct KeyName {
    let section: SettingSection
    let name: String
  }

  /// The keys that may be written, with the properties that they set.
  private var keys: [(name: KeyName, target: () -> AnyKeyPath)] = []
  /// The keys that are written, by their properties.
  private var writtenKeys: [AnyKeyPath: KeyName] = [:]
  /// The properties whose keys have a mistake.
  private var invalidKeys: Set<AnyKeyPath> = []
  let context: SettingsContext

  init(root: TOMLValue, files: [String], context: SettingsContext) {
    self.root = root
    self.files = files
    self.context = context
    sources = SettingsReader.sources(root.members[SettingSection.source.rawValue])
  }

  /// A table of the text and its position.
  private struct Table {
    let position: SourcePosition
    let members: [String: TOMLValue.Member]
  }

  /// Reads keys, and sets their properties. The property of a key that is not written or has a mistake is not changed;
  /// a mistake, and a missing required key, are added to `problems`.
  mutating func read<Root>(_ keys: [Setting<Root>], of section: SettingSection, into root: inout Root) {
    for key in keys {
      let name = KeyName(section: section, name: key.name)
      self.keys.append((name, { key.target() }))
      guard let value = table(of: section)?.members[key.name]?.value else {
        if key.isRequired {
          let allowed = key.allowed.isEmpty ? "" : " (\(key.allowed.filter { $0 != "`" }))"
          problem(with: key.target(), "is missing; a \(key.typeName) is expected\(allowed)")
        }
        continue
      }
      writtenKeys[key.target()] = name
      do throws(ValueProblem) {
        try key.read(value, context, &root)
      } catch {
        problem(
          with: key.target(), error.message, at: error.position, mayAppearLater: error.mayAppearLater,
          isPermissionDenied: error.isPermissionDenied)
      }
    }
  }

  /// Whether the key that sets this property is in the text.
  func isWritten(_ target: AnyKeyPath) -> Bool { writtenKeys[target] != nil }

  /// Whether the key that sets this property has no mistake, or was not read.
  func isValid(_ target: AnyKeyPath) -> Bool { !invalidKeys.contains(target) }

  /// Adds a mistake of the key that sets this property to `problems`.
  ///
  /// - Parameter position: where the mistake is; nil if it is at the key's value.
  mutating func problem(
    with target: AnyKeyPath, _ message: String, at position: SourcePosition? = nil, mayAppearLater: Bool = false,
    isPermissionDenied: Bool = false
  ) {
    invalidKeys.insert(target)
    problems.append(
      Diagnostic(
        position: position ?? self.position(of: target), key: path(of: target), message: message,
        mayAppearLater: mayAppearLater, isPermissionDenied: isPermissionDenied))
  }

  /// Adds a warning about the key that sets this property.
  mutating func warning(about target: AnyKeyPath, _ message: String) {
    warnings.append(Diagnostic(position: position(of: target), key: path(of: target), message: message))
  }

  /// The name of the key that sets this property; nil if it was not read.
  private func keyName(of target: AnyKeyPath) -> KeyName? {
    if let name = writtenKeys[target] { return name }
    return keys.last(where: { $0.target() == target })?.name
  }

  /// The position of a key's value; if it is not written, that of its section or of the main file.
  private func position(of target: AnyKeyPath) -> SourcePosition {
    guard let key = keyName(of: target), let table = table(of: key.section) else {
      return SourcePosition(file: files.first ?? "")
    }
    return table.members[key.name]?.value.position ?? table.position
  }

  /// The full name of a key, such as `source[2].device` if there are several sources.
  private func path(of target: AnyKeyPath) -> String? {
    keyName(of: target).map { "\(name(of: $0.section)).\($0.name)" }
  }

  /// Why a file that a setting names cannot be read; nil if it can. The limit is one byte, so `tooLarge` means that
  /// it can be read.
  func problem(ofFile path: String) -> ConfigurationEnvironment.FileProblem? {
    do throws(ConfigurationEnvironment.FileProblem) {
      _ = try context.environment.readFile(path, 1)
      return nil
    } catch {
      return error
    }
  }

  /// Reports every unknown section, and every unknown key of the known sections except those of sources.
  mutating func reportUnknownKeys() {
    for (name, member) in root.members {
      guard let section = SettingSection(rawValue: name) else {
        reportUnknownSection(name, member)
        continue
      }
      switch member.value.content {
      case .table: if section != .source { reportUnknownKeys(in: section) }
      case .array(let elements) where section == .source: checkSourceList(elements, member)
      default:
        let lists = section == .source ? ", or [[source]] for each of several" : ""
        problems.append(
          Diagnostic(
            position: member.value.position, key: name,
            message: "is \(member.value.typeName); a table is expected, which begins with the line [\(name)]\(lists)"))
      }
    }
  }

  /// Reports every unknown key of the section, or of the current source.
  ///
  /// - Parameter choice: the value of the section's selector; nil for any.
  mutating func reportUnknownKeys(in section: SettingSection, of choice: String? = nil) {
    for (name, member) in table(of: section)?.members ?? [:]
    where !section.has(name, with: choice) && !section.settings.contains(where: { $0.name == name }) {
      reportUnknownKey(name, member, in: section)
    }
  }

  // MARK: - Several sources

  /// The number of sources; one if none is written, so that its missing keys are reported.
  var sourceCount: Int { max(sources.count, 1) }

  /// Makes this the current source, and forgets what was read of the previous one.
  mutating func select(source index: Int) {
    sourceIndex = index
    invalidKeys = invalidKeys.filter { keyName(of: $0)?.section != .source }
    writtenKeys = writtenKeys.filter { $0.value.section != .source }
    keys.removeAll { $0.name.section == .source }
  }

  private static func sources(_ member: TOMLValue.Member?) -> [Table] {
    switch member?.value.content {
    case .table(let members): member.map { [Table(position: $0.keyPosition, members: members)] } ?? []
    case .array(let elements):
      elements.prefix(maxSources).compactMap { element in
        if case .table(let members) = element.content {
          Table(position: element.position, members: members)
        } else {
          nil
        }
      }
    default: []
    }
  }

  private mutating func checkSourceList(_ elements: [TOMLValue], _ member: TOMLValue.Member) {
    let name = SettingSection.source.rawValue
    if elements.count > SettingsReader.maxSources {
      problems.append(
        Diagnostic(
          position: member.value.position, key: name,
          message: "has \(elements.count) entries; allowed: at most \(SettingsReader.maxSources)"))
    }
    for element in elements {
      if case .table = element.content { continue }
      problems.append(
        Diagnostic(
          position: element.position, key: name,
          message: "has \(element.typeName) in it; tables are expected, each of which begins with the line [[source]]"))
    }
  }

  /// Maximum number of sources.
  private static let maxSources = 16

  /// The keys of a section that are in the text.
  func written(_ section: SettingSection) -> [String: TOMLValue.Member] { table(of: section)?.members ?? [:] }

  /// The keys of a source that are in the text.
  func writtenSource(_ index: Int) -> [String: TOMLValue.Member] {
    sources.indices.contains(index) ? sources[index].members : [:]
  }

  private func table(of section: SettingSection) -> Table? {
    if section == .source { return sources.indices.contains(sourceIndex) ? sources[sourceIndex] : nil }
    return root.members[section.rawValue].map { Table(position: $0.keyPosition, members: $0.value.members) }
  }

  private func name(of section: SettingSection) -> String {
    section == .source && sources.count > 1 ? "source[\(sourceIndex + 1)]" : section.rawValue
  }

  // MARK: - Names

  /// Reports every key of the section, or of the current source, that is allowed only with another value of the
  /// selector.
  ///
  /// - Parameter choice: the value of the selector, such as `serial`.
  mutating func reportKeysOfOtherChoices(in section: SettingSection, of choice: String) {
    guard let selector = section.selector, let table = table(of: section) else { return }
    let selectorFile = table.members[selector]?.value.position.file
    for (name, member) in table.members where !section.has(name, with: choice) {
      // Several values of the selector may have a key of the same name.
      let values = section.settings.filter { $0.name == name }.map(\.selectorValue)
      guard !values.isEmpty, !values.contains(nil), !values.contains(choice) else { continue }
      let words = values.compactMap { $0.map { "\"\($0)\"" } }.joined(separator: " or ")
      let message = "belongs to \(selector) = \(words); the \(selector) is \"\(choice)\""
      let (position, path) = (member.keyPosition, "\(self.name(of: section)).\(name)")
      // A later file that changes the selector cannot remove the keys of an earlier file, so they are only warned
      // about.
      if let selectorFile, section.ignoresKeys(in: position.file, ifSelectedBy: selectorFile, files) {
        ignoredKeys.append((section, name))
        warnings.append(
          Diagnostic(position: position, key: path, message: "is ignored: it \(message), set in \(selectorFile)"))
      } else {
        problems.append(Diagnostic(position: position, key: path, message: message))
      }
    }
  }

  /// Whether this key is in a later file than the other one, with which it cannot be combined. The other one is then
  /// ignored, with a warning, and does not count as written: a later file cannot remove the keys of an earlier one.
  ///
  /// - Parameters:
  ///   - target: the property of a key.
  ///   - other: the property of a key of the same section.
  mutating func replaces(_ target: AnyKeyPath, _ other: AnyKeyPath) -> Bool {
    guard let later = writtenKeys[target], let earlier = writtenKeys[other],
      let table = table(of: earlier.section), let member = table.members[earlier.name],
      let laterFile = table.members[later.name]?.keyPosition.file,
      let earlierIndex = files.firstIndex(of: member.keyPosition.file),
      let laterIndex = files.firstIndex(of: laterFile),
      earlierIndex < laterIndex
    else { return false }
    warnings.append(
      Diagnostic(
        position: member.keyPosition, key: path(of: other),
        message: "is ignored: it cannot be combined with `\(later.name)`, set in \(laterFile)"))
    ignoredKeys.append((earlier.section, earlier.name))
    writtenKeys[other] = nil
    return true
  }

  /// Sorts problems and warnings by file and line.
  mutating func sort() {
    problems = sorted(problems)
    warnings = sorted(warnings)
  }

  private func sorted(_ diagnostics: [Diagnostic]) -> [Diagnostic] {
    func order(_ diagnostic: Diagnostic) -> (Int, Int, Int, String) {
      let position = diagnostic.position
      return (
        files.firstIndex(of: position.file) ?? files.count, position.line, position.column, diagnostic.key ?? ""
      )
    }
    return diagnostics.sorted { order($0) < order($1) }
  }

  private mutating func reportUnknownSection(_ name: String, _ member: TOMLValue.Member) {
    let sections = SettingSection.allCases.map(\.rawValue)
    let hint: String
    if let key = SettingSection.allSettings.first(where: { $0.name == name }) {
      hint = "it belongs under [\(key.section.rawValue)]"
    } else if let section = NearestName.find(name, among: sections) {
      hint = "did you mean [\(section)]?"
    } else {
      hint = "the sections are \(sections.joined(separator: ", "))"
    }
    problems.append(Diagnostic(position: member.keyPosition, key: name, message: "is not a section; \(hint)"))
  }

  private mutating func reportUnknownKey(_ name: String, _ member: TOMLValue.Member, in section: SettingSection) {
    var siblings: [String] = []
    for key in section.settings where !siblings.contains(key.name) { siblings.append(key.name) }
    let hint: String
    if let sibling = NearestName.find(name, among: siblings) {
      hint = "did you mean `\(sibling)`?"
    } else if let other = SettingSection.allSettings.first(where: { $0.name == name }) {
      hint = "it belongs under [\(other.section.rawValue)]"
    } else if let near = NearestName.find(name, among: SettingSection.allSettings.map(\.name)),
      let other = SettingSection.allSettings.first(where: { $0.name == near })
    {
      hint = "did you mean `\(near)` under [\(other.section.rawValue)]?"
    } else {
      hint = "the keys of [\(section.rawValue)] are \(siblings.joined(separator: ", "))"
    }
    problems.append(
      Diagnostic(
        position: member.keyPosition, key: "\(self.name(of: section)).\(name)", message: "is not a setting; \(hint)"))
  }
}
