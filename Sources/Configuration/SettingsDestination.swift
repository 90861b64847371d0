// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// Compares the settings that decide which vehicle's positions and credentials are sent to which server.
enum SettingsDestination {
  /// The sections that decide this, by name.
  private static let sections = SettingSection.allCases.filter(\.decidesDestination).sorted {
    $0.rawValue < $1.rawValue
  }

  private static let keys = sections.flatMap { section in
    section.settings.map(\.name).filter { section.decidesDestination(by: $0) }
  }

  /// Warnings about a file that all daemons of a box share, and that changes the destination of one of them.
  ///
  /// - Parameters:
  ///   - replacements: in the order of the files.
  ///   - main: the main file.
  static func warnings(about replacements: [TOMLValue.Replacement], main: String) -> [Diagnostic] {
    let shared = SettingsFile.sharedDirectory(of: main) + "/"
    return replacements.compactMap { replacement in
      guard let section = replacement.path.first.flatMap(SettingSection.init),
        let key = replacement.path.dropFirst().first, section.decidesDestination(by: key),
        replacement.later.position.file.hasPrefix(shared),
        !replacement.earlier.hasSameContent(as: replacement.later)
      else { return nil }
      return Diagnostic(
        position: replacement.later.position, key: replacement.path.joined(separator: "."),
        message: "replaces the value of \(replacement.earlier.position); remove one of the two "
          + "(fleet-locationctl settings shows what is in force)")
    }
  }

  /// Whether a text contains the name of a section or key that decides the destination.
  static func isNamed(in text: String) -> Bool {
    let text = text.lowercased()
    return (sections.map(\.rawValue) + keys).contains { text.contains(text: $0) }
  }

  /// Whether a line with an error, such as `device = "/dev/gps0`, sets a key that does not decide the destination, in a
  /// section that does not either.
  ///
  /// - Parameter heading: the valid heading above it.
  static func isUnrelated(assignment line: String, below heading: String) -> Bool {
    guard let name = line.split(separator: "=", maxSplits: 1).first, name.utf8.count < line.utf8.count else {
      return false
    }
    let key = String(name.prefix { $0 != " " && $0 != "\t" })
    let title = heading.drop { $0 == "[" || $0 == " " }.prefix { $0 != "]" && $0 != " " }
    guard let section = SettingSection(rawValue: String(title)), !section.decidesDestination, !keys.contains(key)
    else { return false }
    return section.settings.contains { $0.name == key }
  }

  /// Compares the written values, not what they refer to (files, credentials, host name).
  ///
  /// - Throws: `partial` names a different vehicle, token provider or Fleet Engine from `kept`, or a different
  ///   connection to them, or contains a name that may be a misspelling of one of these. A key that is unknown in its
  ///   section is not such a name if every known key is unchanged. If `partial` is not complete, a key may be missing
  ///   in it. A key that belongs to another service or provider is ignored if it would be in valid files.
  static func requireSame(of partial: PartialSettings, as kept: TOMLValue) throws(KeptSettings.Refusal) {
    let new = partial.root
    for section in sections {
      if let value = new.members[section.rawValue]?.value, !value.isTable {
        throw .unknownDestination("\(value.position): \(section.rawValue) is not a table")
      }
      let (new, kept) = (members(of: new, section), members(of: kept, section))
      let known = Set(section.settings.map(\.name))
      for name in Set(new.keys).union(kept.keys).filter(section.decidesDestination(by:)).sorted() {
        if partial.isComplete ? !known.contains(name) && kept[name] == nil : new[name] == nil { continue }
        if known.contains(name), kept[name] == nil, isIgnored(name, new, section, partial.files) { continue }
        guard let value = new[name], let old = kept[name], value.value.hasSameContent(as: old.value) else {
          let place = (new[name] ?? kept[name]).map { " (\($0.value.position))" } ?? ""
          throw KeptSettings.Refusal(
            message:
              "are not used: they differ in \(section.rawValue).\(name)\(place), and no position or credential may be "
              + "sent to another destination")
        }
      }
    }
    try rejectMisspelled(in: new)
  }

  private static func isIgnored(
    _ name: String, _ members: [String: TOMLValue.Member], _ section: SettingSection, _ files: [String]
  ) -> Bool {
    guard let key = members[name], let selector = section.selector.flatMap({ members[$0]?.value }),
      case .string(let choice) = selector.content
    else { return false }
    return !section.has(name, with: choice)
      && section.ignoresKeys(in: key.keyPosition.file, ifSelectedBy: selector.position.file, files)
  }

  private static func members(of root: TOMLValue, _ section: SettingSection) -> [String: TOMLValue.Member] {
    root.members[section.rawValue]?.value.members ?? [:]
  }

  /// Rejects an unknown section, or an unknown key of a section that does not decide the destination, if it may be a
  /// misspelling of a section or key that does. An unknown section is harmless only if its name is close to that of a
  /// section that does not decide the destination, and none of its keys is close to a key that does.
  private static func rejectMisspelled(in root: TOMLValue) throws(KeptSettings.Refusal) {
    let (all, names) = (SettingSection.allCases.map(\.rawValue), keys + sections.map(\.rawValue))
    for (name, member) in root.members.sorted(by: { $0.key < $1.key }) {
      let section = SettingSection(rawValue: name)
      if section == nil {
        let meant = NearestName.find(name, among: all).flatMap(SettingSection.init)
        guard let meant, !meant.decidesDestination else {
          throw .unknownDestination("\(member.value.position): \(name.printable) is not a section")
        }
      }
      if section?.decidesDestination == true { continue }
      let known = Set(section?.settings.map(\.name) ?? [])
      for unknown in member.value.keys(excluding: known).sorted() where NearestName.find(unknown, among: names) != nil {
        throw .unknownDestination("\(member.value.position): \(unknown.printable) is not a setting there")
      }
    }
  }
}

extension TOMLValue {
  fileprivate var isTable: Bool { if case .table = content { true } else { false } }

  /// The keys at every depth, without the known keys of the first level and their contents.
  fileprivate func keys(excluding known: Set<String> = []) -> [String] {
    switch content {
    case .table(let members):
      members.filter { !known.contains($0.key) }.flatMap { [$0.key] + $0.value.value.keys() }
    case .array(let elements): elements.flatMap { $0.keys(excluding: known) }
    default: []
    }
  }

  /// Whether both are equal, regardless of their positions in the files.
  fileprivate func hasSameContent(as other: TOMLValue) -> Bool {
    switch (content, other.content) {
    case (.array(let own), .array(let others)):
      own.count == others.count && zip(own, others).allSatisfy { $0.hasSameContent(as: $1) }
    case (.table(let own), .table(let others)):
      own.count == others.count
        && own.allSatisfy { name, member in others[name].map { member.value.hasSameContent(as: $0.value) } ?? false }
    default: content == other.content
    }
  }
}
