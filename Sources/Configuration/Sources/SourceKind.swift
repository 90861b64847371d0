// SPDX-License-Identifier: Apache-2.0

/// The kinds of source there are, each with its settings: the list that a new one is added to, in the three places of this
/// type. What it can be told stands in a file of its own; the compiler then asks for the code that reads such a source
/// (`FixSources` of the daemon) and the code that examines one (`Doctor`).
package enum SourceKind: Equatable, Sendable {
  case serial(SerialSettings)
  case gpsd(GPSDSettings)
  case nmeaTCP(NMEATCPSettings)
  case nmeaUDP(NMEAUDPSettings)
  case modemManager(ModemManagerSettings)
  case simulated(SimulatedSettings)
  case replay(ReplaySettings)

  /// Each with its defaults, in the order in which the reference lists them.
  static let all: [any SourceSettings] = [
    SerialSettings(), GPSDSettings(), NMEATCPSettings(), NMEAUDPSettings(), ModemManagerSettings(), SimulatedSettings(),
    ReplaySettings(),
  ]

  var settings: any SourceSettings {
    switch self {
    case .serial(let settings): settings
    case .gpsd(let settings): settings
    case .nmeaTCP(let settings): settings
    case .nmeaUDP(let settings): settings
    case .modemManager(let settings): settings
    case .simulated(let settings): settings
    case .replay(let settings): settings
    }
  }

  /// The device, address or file, for messages.
  package var name: String { settings.name }
}

/// What a source of one kind can be told, and how it is called.
protocol SourceSettings: Equatable, Sendable {
  /// The value of `type`.
  static var type: String { get }
  /// What it has beside the keys of every source.
  static var keys: [Setting<Self>] { get }

  var kind: SourceKind { get }
  /// The device, address or file, for messages.
  var name: String { get }
  /// Whether it gives positions for ever, so that no source after it is ever used.
  var isEndless: Bool { get }

  /// Checks what no key can check alone, after all were read.
  mutating func finish(_ reader: inout SettingsReader)
  /// Checks what only matters where there are several sources.
  ///
  /// - Parameter others: those before this one.
  func check(after others: [SourceKind], _ reader: inout SettingsReader)
}

extension SourceSettings {
  var isEndless: Bool { false }

  func finish(_ reader: inout SettingsReader) {}

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {}
}
