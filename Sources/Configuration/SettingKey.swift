// SPDX-License-Identifier: Apache-2.0

/// A table of the settings file.
enum SettingSection: String, CaseIterable, Sendable {
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
  var summary: String {
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
}

/// One setting: its place, what it may be, what holds when it is not written, and a sentence for the reader.
struct SettingKey<Value: Sendable>: Sendable {
  /// What holds when the key is not written.
  enum Absence: Sendable {
    /// It must be written.
    case required
    /// There is no value; the sentence says what that means.
    case none
    case value(TOMLValue.Content)
  }

  let section: SettingSection
  let name: String
  let kind: SettingKind<Value>
  let absence: Absence
  /// The `type` of source that the key belongs to; nil when to all.
  let sourceType: SourceType?
  /// The token provider that the key belongs to; nil when to all.
  let tokenProvider: TokenProvider?
  let summary: String

  init(
    _ section: SettingSection, _ name: String, _ kind: SettingKind<Value>, _ absence: Absence,
    for sourceType: SourceType? = nil, of tokenProvider: TokenProvider? = nil, _ summary: String
  ) {
    self.section = section
    self.name = name
    self.kind = kind
    self.absence = absence
    self.sourceType = sourceType
    self.tokenProvider = tokenProvider
    self.summary = summary
  }
}

/// A setting as it is described, whatever its value.
protocol DescribedSetting: Sendable {
  var section: SettingSection { get }
  var name: String { get }
  var sourceType: SourceType? { get }
  var tokenProvider: TokenProvider? { get }
  var summary: String { get }
  var typeName: String { get }
  var allowed: String { get }
  var isRequired: Bool { get }
  /// The default as a settings file would write it; nil when there is none.
  var defaultSource: String? { get }
}

extension DescribedSetting {
  /// `section.name`.
  var path: String { "\(section.rawValue).\(name)" }
}

extension SettingKey: DescribedSetting {
  var typeName: String { kind.name }
  var allowed: String { kind.allowed }

  var isRequired: Bool {
    if case .required = absence { return true }
    return false
  }

  var defaultSource: String? {
    if case .value(let content) = absence { return content.source }
    return nil
  }
}

/// The kinds of source that this release reads.
enum SourceType: String, CaseIterable, Sendable {
  case serial
  case gpsd
  case simulated
  case replay
}

/// The kinds of token provider that this release asks.
enum TokenProvider: String, CaseIterable, Sendable {
  case http
  case command
  case file
}

/// Answers of Google's sample backends, whose keys need not be written one by one.
enum ResponsePreset: String, CaseIterable, Sendable {
  /// Last Mile Fleet Solution.
  case lastMile = "lmfs"
  /// On-demand rides.
  case rides = "rides-stub"

  var tokenKey: String { self == .lastMile ? "token" : "jwt" }
  var expirationKey: String { self == .lastMile ? "expiration_timestamp_ms" : "expirationTimestamp" }
  var creationKey: String { self == .lastMile ? "creation_timestamp_ms" : "creationTimestamp" }
}
