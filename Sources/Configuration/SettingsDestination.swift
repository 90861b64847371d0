// SPDX-License-Identifier: Apache-2.0

/// The settings that say whose positions go where, and who is shown which credentials.
enum SettingsDestination {
  /// The sections that are about it, and their keys that are not.
  private static let sections: [SettingSection: Set<String>] = [
    .vehicle: ["offline_on_stop"],
    .fleetEngine: ["deadline", "position_field"],
    .token: [
      "deadline", "cache", "response", "token_key", "expiration_key", "expiration_format", "creation_key",
    ],
  ]

  private static let keys: [String] = sections.flatMap { section, others in
    section.settings.map(\.name).filter { !others.contains($0) }
  }

  /// Whether a text holds the name of such a section or key.
  static func isNamed(in text: String) -> Bool {
    let text = text.lowercased()
    return (sections.keys.map(\.rawValue) + keys).contains { text.contains($0) }
  }

  /// Compares what is written, not what it refers to.
  ///
  /// - Throws: `new` names another vehicle, token provider or Fleet Engine than `kept`, or another way to them, or has a name
  ///   in it that may be a misspelled one of these.
  static func requireSame(of new: TOMLValue, as kept: TOMLValue) throws(KeptSettings.Refusal) {
    for (section, others) in sections.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      if let value = new.members[section.rawValue]?.value, !value.isTable {
        throw .unreadable("\(value.position): \(section.rawValue) is no table")
      }
      let (new, kept) = (members(of: new, section), members(of: kept, section))
      for name in Set(new.keys).union(kept.keys).subtracting(others).sorted() {
        guard let value = new[name], let known = kept[name], value.value.saysTheSame(as: known.value) else {
          let place = (new[name] ?? kept[name]).map { " (\($0.value.position))" } ?? ""
          throw KeptSettings.Refusal(
            message:
              "are not used: they differ in \(section.rawValue).\(name)\(place), and no position or credential may go "
              + "where it is not meant to")
        }
      }
    }
    try refuseMisspelled(in: new)
  }

  private static func members(of root: TOMLValue, _ section: SettingSection) -> [String: TOMLValue.Member] {
    root.members[section.rawValue]?.value.members ?? [:]
  }

  /// A section or key that does not exist may be meant for one of these, unless its name is near that of another section, and
  /// no key in it is near that of one of these.
  private static func refuseMisspelled(in root: TOMLValue) throws(KeptSettings.Refusal) {
    let (all, names) = (SettingSection.allCases.map(\.rawValue), keys + sections.keys.map(\.rawValue))
    for (name, member) in root.members.sorted(by: { $0.key < $1.key }) {
      let section = SettingSection(rawValue: name)
      if section == nil {
        let meant = NearestName.find(name, among: all).flatMap(SettingSection.init)
        guard let meant, sections[meant] == nil else {
          throw .unreadable("\(member.value.position): \(name.printable) is no section")
        }
      }
      let known = Set(section?.settings.map(\.name) ?? [])
      for stranger in member.value.names(but: known).sorted() where NearestName.find(stranger, among: names) != nil {
        throw .unreadable("\(member.value.position): \(stranger.printable) is no setting there")
      }
    }
  }
}

extension TOMLValue {
  fileprivate var isTable: Bool { if case .table = content { true } else { false } }

  /// The keys at every depth, but those of the first that are known, with all that is in them.
  fileprivate func names(but known: Set<String> = []) -> [String] {
    switch content {
    case .table(let members):
      members.filter { !known.contains($0.key) }.flatMap { [$0.key] + $0.value.value.names() }
    case .array(let elements): elements.flatMap { $0.names(but: known) }
    default: []
    }
  }

  /// Whether both mean the same, wherever they stand.
  fileprivate func saysTheSame(as other: TOMLValue) -> Bool {
    switch (content, other.content) {
    case (.array(let own), .array(let others)):
      own.count == others.count && zip(own, others).allSatisfy { $0.saysTheSame(as: $1) }
    case (.table(let own), .table(let others)):
      own.count == others.count
        && own.allSatisfy { name, member in others[name].map { member.value.saysTheSame(as: $0.value) } ?? false }
    default: content == other.content
    }
  }
}
