// SPDX-License-Identifier: Apache-2.0

/// A table of the settings file.
package enum SettingSection: String, CaseIterable, Sendable {
  case vehicle
  case source
  case token
  case fleetEngine = "fleet_engine"
  case reporting
  case filter
  case backlog
  case log
  case metrics

  /// What the section is about.
  package var summary: String {
    switch self {
    case .vehicle: "Which vehicle this is."
    case .source:
      "Where positions come from. Several are written as `[[source]]` each, in the order of preference: the first with "
        + "believable positions is used, the next when it gives none for its `silence_timeout` or is lost, and it takes "
        + "back after it has been good for 10 s (longer, up to 5 min, if it failed soon the last time). A later file's "
        + "sources replace those of an earlier one as a whole, unless both have one `[source]`."
    case .token: "Who gives the access tokens that Fleet Engine asks for."
    case .fleetEngine: "Where positions go."
    case .reporting: "When a position is sent."
    case .filter: "Which fixes are believed."
    case .backlog: "What is kept while there is no network, to be sent later."
    case .log: "What the journal gets."
    case .metrics: "What a monitoring system gets; see [metrics.md](metrics.md)."
    }
  }

  /// The key of the section whose value decides which of the others it may have; nil when it may have all.
  var selector: String? {
    switch self {
    case .vehicle: "service"
    case .source: "type"
    case .token: "provider"
    default: nil
    }
  }

  /// The settings whose meaning stands in one place of `Settings`; those of sources and tokens depend on the selector.
  var keys: [Setting<Settings>] {
    switch self {
    case .vehicle: Settings.vehicleKeys
    case .source, .token: []
    case .fleetEngine: Settings.fleetEngineKeys
    case .reporting: Settings.reportingKeys
    case .filter: Settings.filterKeys
    case .backlog: Settings.backlogKeys
    case .log: Settings.logKeys
    case .metrics: Settings.metricsKeys
    }
  }

  /// What it may hold, in the order in which the reference lists it.
  package var settings: [SettingDescription] { SettingSection.descriptions[self] ?? [] }

  /// Whether it has this key with this choice of its selector; nil: with any. Each start asks that of each key that is written:
  /// it makes no description, and nothing of the kinds of source that are not chosen.
  func has(_ name: String, with choice: String?) -> Bool {
    switch self {
    case .source:
      has(name, with: choice, in: SourceDraft.keys)
        || SourceKind.all.contains { (choice == nil || type(of: $0).type == choice) && has(name, of: $0) }
    case .token: has(name, with: choice, in: TokenDraft.keys)
    default: has(name, with: choice, in: keys)
    }
  }

  private func has<Kind: SourceSettings>(_ name: String, of _: Kind) -> Bool { has(name, with: nil, in: Kind.keys) }

  private func has<Root>(_ name: String, with choice: String?, in keys: [Setting<Root>]) -> Bool {
    keys.contains { $0.name == name && ($0.owner == nil || choice == nil || $0.owner == choice) }
  }

  /// All settings, section by section.
  static let all: [SettingDescription] = allCases.flatMap(\.settings)

  private static let descriptions = {
    let defaults = Settings()
    return Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.describe(defaults)) })
  }()

  private func describe(_ defaults: Settings) -> [SettingDescription] {
    switch self {
    case .source: describe(SourceDraft.keys, SourceDraft()) + SourceKind.all.flatMap { describe($0) }
    case .token: describe(TokenDraft.keys, TokenDraft())
    default: describe(keys, defaults)
    }
  }

  private func describe<Kind: SourceSettings>(_ kind: Kind) -> [SettingDescription] {
    describe(Kind.keys, kind, owner: Kind.type)
  }

  private func describe<Root>(
    _ keys: [Setting<Root>], _ defaults: Root, owner: String? = nil
  ) -> [SettingDescription] {
    keys.map { SettingDescription($0, in: self, owner: owner, defaults: defaults) }
  }
}
