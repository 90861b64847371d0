// SPDX-License-Identifier: Apache-2.0

/// Reads keys from the merged text of the settings files, and collects what is wrong with them.
struct SettingsReader {
  private let root: TOMLValue
  /// The files in the order in which they were merged; the first is the main one.
  private let files: [String]
  /// The tables of the sources: one, or each of an array.
  private let sources: [Table]
  /// Index of the source whose keys are read.
  private var source = 0
  private(set) var problems: [Diagnostic] = []
  private(set) var warnings: [Diagnostic] = []

  /// The keys that were read, by the property that they set.
  private var places: [AnyKeyPath: (section: SettingSection, name: String)] = [:]
  /// The properties whose keys have a mistake.
  private var unsound: Set<AnyKeyPath> = []
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

  /// Sets the properties of the written keys. A missing or wrong key is noted, and its property is not changed.
  mutating func read<Root>(_ keys: [Setting<Root>], of section: SettingSection, into root: inout Root) {
    for key in keys {
      places[key.target] = (section, key.name)
      unsound.remove(key.target)
      guard let value = table(of: section)?.members[key.name]?.value else {
        if key.isRequired {
          let allowed = key.allowed.isEmpty ? "" : " (\(key.allowed.filter { $0 != "`" }))"
          problem(with: key.target, "is missing; a \(key.typeName) is expected\(allowed)")
        }
        continue
      }
      do throws(ValueProblem) {
        try key.read(value, context, &root)
      } catch {
        problem(with: key.target, error.message, at: error.position, isAbsence: error.isAbsence)
      }
    }
  }

  /// Whether the key that sets this property is in the text.
  func isWritten(_ target: AnyKeyPath) -> Bool { member(of: target) != nil }

  /// Whether the key that sets this property has no mistake, or was not read.
  func isSound(_ target: AnyKeyPath) -> Bool { !unsound.contains(target) }

  /// Notes a mistake of the key that sets this property.
  ///
  /// - Parameter position: of the mistake, if it is not that of the value.
  mutating func problem(
    with target: AnyKeyPath, _ message: String, at position: SourcePosition? = nil, isAbsence: Bool = false
  ) {
    unsound.insert(target)
    problems.append(
      Diagnostic(
        position: position ?? self.position(of: target), key: path(of: target), message: message, isAbsence: isAbsence))
  }

  /// Notes a warning about the key that sets this property.
  mutating func warning(about target: AnyKeyPath, _ message: String) {
    warnings.append(Diagnostic(position: position(of: target), key: path(of: target), message: message))
  }

  private func member(of target: AnyKeyPath) -> TOMLValue.Member? {
    places[target].flatMap { table(of: $0.section)?.members[$0.name] }
  }

  /// The position of a key's value; if it is not written, that of its section or of the main file.
  private func position(of target: AnyKeyPath) -> SourcePosition {
    member(of: target)?.value.position ?? places[target].flatMap { table(of: $0.section)?.position }
      ?? SourcePosition(file: files.first ?? "")
  }

  /// The full name of a key, as in `source[2].device` if there are several sources.
  private func path(of target: AnyKeyPath) -> String? {
    places[target].map { "\(name(of: $0.section)).\($0.name)" }
  }

  /// Notes every unknown section, and every unknown key of sections other than sources.
  mutating func checkNames() {
    for (name, member) in root.members {
      guard let section = SettingSection(rawValue: name) else {
        unknownSection(name, member)
        continue
      }
      switch member.value.content {
      case .table: if section != .source { checkNames(in: section) }
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

  /// Notes every unknown key of the section, or of the current source.
  ///
  /// - Parameter choice: the value of the section's selector; nil for any.
  mutating func checkNames(in section: SettingSection, of choice: String? = nil) {
    for (name, member) in table(of: section)?.members ?? [:]
    where !section.has(name, with: choice) && !section.settings.contains(where: { $0.name == name }) {
      unknownKey(name, member, in: section)
    }
  }

  // MARK: - Several sources

  /// The number of sources; one if none is written, so that its missing keys are reported.
  var sourceCount: Int { max(sources.count, 1) }

  /// Makes this the current source.
  mutating func select(source index: Int) { source = index }

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

  private func table(of section: SettingSection) -> Table? {
    if section == .source { return sources.indices.contains(source) ? sources[source] : nil }
    return root.members[section.rawValue].map { Table(position: $0.keyPosition, members: $0.value.members) }
  }

  private func name(of section: SettingSection) -> String {
    section == .source && sources.count > 1 ? "source[\(source + 1)]" : section.rawValue
  }

  // MARK: - Names

  /// Notes every key of the section, or of the current source, that belongs to another choice of its selector.
  ///
  /// - Parameter choice: the value of the selector, as in `serial`.
  mutating func checkOwners(in section: SettingSection, of choice: String) {
    guard let selector = section.selector, let table = table(of: section) else { return }
    let chosenIn = table.members[selector]?.value.position.file
    for (name, member) in table.members where !section.has(name, with: choice) {
      // Several choices may have a key of the same name.
      let owners = section.settings.filter { $0.name == name }.map(\.owner)
      guard !owners.isEmpty, !owners.contains(nil), !owners.contains(choice) else { continue }
      let words = owners.compactMap { $0.map { "\"\($0)\"" } }.joined(separator: " or ")
      let message = "belongs to \(selector) = \(words); the \(selector) is \"\(choice)\""
      let (position, path) = (member.keyPosition, "\(self.name(of: section)).\(name)")
      // A later file that changes the choice cannot remove the keys of the previous one.
      if let chosenIn, isLaidOver(position.file, by: chosenIn, in: section) {
        warnings.append(
          Diagnostic(position: position, key: path, message: "is left out: it \(message) by \(chosenIn)"))
      } else {
        problems.append(Diagnostic(position: position, key: path, message: message))
      }
    }
  }

  /// Whether the choice of one file makes the keys of another one mean nothing.
  private func isLaidOver(_ file: String, by chosenIn: String, in section: SettingSection) -> Bool {
    guard let earlier = files.firstIndex(of: file), let later = files.firstIndex(of: chosenIn) else { return false }
    // Keys of a provider may come from a file of their own, whatever is chosen elsewhere.
    return section == .token ? earlier != later : earlier < later
  }

  /// In the order of the files and lines.
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

  private mutating func unknownSection(_ name: String, _ member: TOMLValue.Member) {
    let sections = SettingSection.allCases.map(\.rawValue)
    let hint: String
    if let key = SettingSection.all.first(where: { $0.name == name }) {
      hint = "it belongs under [\(key.section.rawValue)]"
    } else if let section = NearestName.find(name, among: sections) {
      hint = "did you mean [\(section)]?"
    } else {
      hint = "the sections are \(sections.joined(separator: ", "))"
    }
    problems.append(Diagnostic(position: member.keyPosition, key: name, message: "is not a section; \(hint)"))
  }

  private mutating func unknownKey(_ name: String, _ member: TOMLValue.Member, in section: SettingSection) {
    var siblings: [String] = []
    for key in section.settings where !siblings.contains(key.name) { siblings.append(key.name) }
    let hint: String
    if let sibling = NearestName.find(name, among: siblings) {
      hint = "did you mean `\(sibling)`?"
    } else if let other = SettingSection.all.first(where: { $0.name == name }) {
      hint = "it belongs under [\(other.section.rawValue)]"
    } else if let near = NearestName.find(name, among: SettingSection.all.map(\.name)),
      let other = SettingSection.all.first(where: { $0.name == near })
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
