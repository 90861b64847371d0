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

  init(root: TOMLValue, files: [String]) {
    self.root = root
    self.files = files
    sources = SettingsReader.sources(root.members[SettingSection.source.rawValue])
  }

  /// A table of the text and where it begins.
  private struct Table {
    let position: SourcePosition
    let members: [String: TOMLValue.Member]
  }

  /// The value of a key, or its default. Nil when it is optional and not written, or when it is wrong: then the problem is noted.
  mutating func read<Value>(_ key: SettingKey<Value>) -> Value? {
    let value: TOMLValue
    if let member = member(of: key) {
      value = member.value
    } else {
      switch key.absence {
      case .none: return nil
      case .value(let content): value = TOMLValue(content: content, position: position(of: key))
      case .required:
        let allowed = key.allowed.isEmpty ? "" : " (\(key.allowed.filter { $0 != "`" }))"
        problem(with: key, "is missing; a \(key.typeName) is expected\(allowed)")
        return nil
      }
    }
    do throws(ValueProblem) {
      return try key.kind.read(value)
    } catch {
      problems.append(
        Diagnostic(position: error.position ?? value.position, key: path(of: key), message: error.message))
      return nil
    }
  }

  /// Where the value of a key stands; its section or the main file when it is not written.
  func position(of key: some DescribedSetting) -> SourcePosition {
    member(of: key)?.value.position ?? table(of: key.section)?.position ?? SourcePosition(file: files.first ?? "")
  }

  /// The name of a key for a person: `source[2].device` where there are several sources.
  func path(of key: some DescribedSetting) -> String { "\(name(of: key.section)).\(key.name)" }

  func isWritten(_ key: some DescribedSetting) -> Bool { member(of: key) != nil }

  mutating func problem(with key: some DescribedSetting, _ message: String) {
    problems.append(Diagnostic(position: position(of: key), key: path(of: key), message: message))
  }

  mutating func warning(about key: some DescribedSetting, _ message: String) {
    warnings.append(Diagnostic(position: position(of: key), key: path(of: key), message: message))
  }

  /// Notes every section that does not exist, and every key of the others but those of sources.
  mutating func checkNames() {
    for (name, member) in root.members {
      guard let section = SettingSection(rawValue: name) else {
        unknownSection(name, member)
        continue
      }
      switch member.value.content {
      case .table(let members): if section != .source { checkNames(members, in: section, sourceType: nil) }
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

  /// Notes every key of the source at hand that does not exist, or does not belong to its type.
  ///
  /// - Parameter type: nil when it is not known; then no key is said to belong to another.
  mutating func checkSourceNames(type: SourceType?) {
    guard let table = table(of: .source) else { return }
    checkNames(table.members, in: .source, sourceType: type)
  }

  // MARK: - Several sources

  /// How many there are; one when none is written, so that what it lacks is said.
  var sourceCount: Int { max(sources.count, 1) }

  /// The keys of [source] are from now on those of this one.
  mutating func select(source index: Int) { source = index }

  private static func sources(_ member: TOMLValue.Member?) -> [Table] {
    switch member?.value.content {
    case .table(let members): member.map { [Table(position: $0.keyPosition, members: members)] } ?? []
    case .array(let elements):
      elements.prefix(mostSources).compactMap { element in
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
    if elements.count > SettingsReader.mostSources {
      problems.append(
        Diagnostic(
          position: member.value.position, key: name,
          message: "has \(elements.count) entries; allowed: at most \(SettingsReader.mostSources)"))
    }
    for element in elements {
      if case .table = element.content { continue }
      problems.append(
        Diagnostic(
          position: element.position, key: name,
          message: "has \(element.typeName) in it; tables are expected, each of which begins with the line [[source]]"))
    }
  }

  /// More is a mistake of whoever generates the file.
  private static let mostSources = 16

  private func table(of section: SettingSection) -> Table? {
    if section == .source { return sources.indices.contains(source) ? sources[source] : nil }
    return root.members[section.rawValue].map { Table(position: $0.keyPosition, members: $0.value.members) }
  }

  private func name(of section: SettingSection) -> String {
    section == .source && sources.count > 1 ? "source[\(source + 1)]" : section.rawValue
  }

  // MARK: - Names

  private mutating func checkNames(
    _ members: [String: TOMLValue.Member], in section: SettingSection, sourceType: SourceType?
  ) {
    for (name, member) in members {
      // A name may mean one thing to one type of source and another to another.
      let keys = SettingKeys.all.filter { $0.section == section && $0.name == name }
      if keys.isEmpty {
        unknownKey(name, member, in: section)
      } else {
        checkSourceType(keys, member, sourceType)
      }
    }
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

  private func member(of key: some DescribedSetting) -> TOMLValue.Member? {
    table(of: key.section)?.members[key.name]
  }

  private mutating func unknownSection(_ name: String, _ member: TOMLValue.Member) {
    let sections = SettingSection.allCases.map(\.rawValue)
    let hint: String
    if let key = SettingKeys.all.first(where: { $0.name == name }) {
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
    for key in SettingKeys.all where key.section == section && !siblings.contains(key.name) {
      siblings.append(key.name)
    }
    let hint: String
    if let sibling = NearestName.find(name, among: siblings) {
      hint = "did you mean `\(sibling)`?"
    } else if let other = SettingKeys.all.first(where: { $0.name == name }) {
      hint = "it belongs under [\(other.section.rawValue)]"
    } else if let near = NearestName.find(name, among: SettingKeys.all.map(\.name)),
      let other = SettingKeys.all.first(where: { $0.name == near })
    {
      hint = "did you mean `\(near)` under [\(other.section.rawValue)]?"
    } else {
      hint = "the keys of [\(section.rawValue)] are \(siblings.joined(separator: ", "))"
    }
    problems.append(
      Diagnostic(
        position: member.keyPosition, key: "\(self.name(of: section)).\(name)", message: "is not a setting; \(hint)"))
  }

  private mutating func checkSourceType(
    _ keys: [any DescribedSetting], _ member: TOMLValue.Member, _ sourceType: SourceType?
  ) {
    let owners = keys.compactMap(\.sourceType)
    guard let key = keys.first, let sourceType, !owners.isEmpty, !owners.contains(sourceType) else { return }
    let typeFile = position(of: SettingKeys.sourceType).file
    let types = owners.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
    let message = "belongs to type = \(types); the type is \"\(sourceType.rawValue)\""
    let diagnostic = Diagnostic(position: member.keyPosition, key: path(of: key), message: message)
    // A later file that changes the type need not, and cannot, take away the keys of the old one.
    let keyFile = member.keyPosition.file
    if let typeIndex = files.firstIndex(of: typeFile), let keyIndex = files.firstIndex(of: keyFile),
      keyIndex < typeIndex
    {
      warnings.append(
        Diagnostic(
          position: member.keyPosition, key: path(of: key), message: "is left out: it \(message) by \(typeFile)"))
    } else {
      problems.append(diagnostic)
    }
  }
}
