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
  case positions

  /// What the section is about.
  package var summary: String {
    switch self {
    case .vehicle: "Which vehicle the positions belong to."
    case .source:
      "Where positions come from. For several sources, write one `[[source]]` each, the one with the highest priority "
        + "first. The first source with accepted positions is used. When it is lost, or has no accepted position for its "
        + "`silence_timeout`, the next one is used; the first is used again after it has had accepted positions for 10 s (up "
        + "to 5 min if it repeatedly fails soon after a failback). The sources of a later file replace all those of an earlier "
        + "one, unless both files have a single `[source]`."
    case .token: "Where the vehicle's access tokens for Fleet Engine come from."
    case .fleetEngine: "The server that receives positions, and the connection to it."
    case .reporting: "How often positions are sent."
    case .filter: "Which fixes are accepted; see [filter.md](filter.md)."
    case .backlog: "Positions that are stored during an outage and sent after it."
    case .log: "What is written to the journal."
    case .metrics: "Metrics for a monitoring system; see [metrics.md](metrics.md)."
    case .positions: "Positions for other programs on the box; see [driver-app.md](driver-app.md#positions)."
    }
  }

  /// The key whose value determines which other keys the section may have; nil if it may have all.
  var selector: String? {
    switch self {
    case .vehicle: "service"
    case .source: "type"
    case .token: "provider"
    default: nil
    }
  }

  /// The settings that set a property of `Settings`; those of sources and tokens are read separately.
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
    case .positions: Settings.positionsKeys
    }
  }

  /// Its settings, in the order of the reference.
  package var settings: [SettingDescription] { SettingSection.descriptions[self] ?? [] }

  /// Whether the section has this key when its selector has the value `choice` (nil: any value). It is called at each
  /// start for each key of the files, so it does not use `settings`, whose descriptions are slow to make.
  func has(_ name: String, with choice: String?) -> Bool {
    switch self {
    case .source:
      has(name, with: choice, in: SourceSection.keys)
        || SourceKind.all.contains { (choice == nil || type(of: $0).type == choice) && has(name, of: $0) }
    case .token: has(name, with: choice, in: TokenSection.keys)
    default: has(name, with: choice, in: keys)
    }
  }

  /// Whether keys of other choices are ignored in `file`, because `selectorFile` has the selector.
  ///
  /// - Parameter files: in the order in which they are merged.
  func ignoresKeys(in file: String, ifSelectedBy selectorFile: String, _ files: [String]) -> Bool {
    guard let earlier = files.firstIndex(of: file), let later = files.firstIndex(of: selectorFile) else { return false }
    // A file in conf.d may have the keys of a token provider that the main file does not select.
    return self == .token ? earlier != later : earlier < later
  }

  /// Whether the section decides which vehicle's positions and credentials are sent to which server.
  var decidesDestination: Bool {
    switch self {
    case .vehicle, .fleetEngine, .token: true
    default: false
    }
  }

  /// Whether this key of the section, which may be unknown, decides the destination.
  func decidesDestination(by name: String) -> Bool {
    decidesDestination && !keys.contains { $0.name == name && $0.isDestinationNeutral }
      && !(self == .token && TokenSection.keys.contains { $0.name == name && $0.isDestinationNeutral })
  }

  private func has<Kind: SourceSettings>(_ name: String, of _: Kind) -> Bool { has(name, with: nil, in: Kind.keys) }

  private func has<Root>(_ name: String, with choice: String?, in keys: [Setting<Root>]) -> Bool {
    keys.contains { $0.name == name && ($0.selectorValue == nil || choice == nil || $0.selectorValue == choice) }
  }

  /// All settings, section by section.
  static let allSettings: [SettingDescription] = allCases.flatMap(\.settings)

  private static let descriptions = {
    let defaults = Settings()
    return Dictionary(uniqueKeysWithValues: allCases.map { ($0, $0.describe(defaults)) })
  }()

  private func describe(_ defaults: Settings) -> [SettingDescription] {
    switch self {
    case .source: describe(SourceSection.keys, SourceSection()) + SourceKind.all.flatMap { describe($0) }
    case .token: describe(TokenSection.keys, TokenSection())
    default: describe(keys, defaults)
    }
  }

  private func describe<Kind: SourceSettings>(_ kind: Kind) -> [SettingDescription] {
    describe(Kind.keys, kind, selectorValue: Kind.type)
  }

  private func describe<Root>(
    _ keys: [Setting<Root>], _ defaults: Root, selectorValue: String? = nil
  ) -> [SettingDescription] {
    keys.map { SettingDescription($0, in: self, selectorValue: selectorValue, defaults: defaults) }
  }
}
