// SPDX-License-Identifier: Apache-2.0

/// The settings that say whose positions go where, and who is shown which credentials.
enum SettingsDestination {
  /// The sections that are about it, and their keys that are not.
  private static let sections: [SettingSection: Set<String>] = [
    .vehicle: [],
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

  private static func refuseMisspelled(in root: TOMLValue) throws(KeptSettings.Refusal) {
    let names = keys + sections.keys.map(\.rawValue)
    for (name, member) in root.members.sorted(by: { $0.key < $1.key }) {
      let section = SettingSection(rawValue: name)
      var strangers = section == nil ? [name] : []
      let known = Set(section?.settings.map(\.name) ?? [])
      strangers += tables(of: member.value).flatMap(\.keys).filter { !known.contains($0) }
      for stranger in strangers.sorted() where NearestName.find(stranger, among: names) != nil {
        throw .unreadable("\(member.value.position): \(stranger.printable) is no setting there")
      }
    }
  }

  /// The table, or each of an array.
  private static func tables(of value: TOMLValue) -> [[String: TOMLValue.Member]] {
    if case .array(let elements) = value.content { elements.map(\.members) } else { [value.members] }
  }
}

extension TOMLValue {
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
