// SPDX-License-Identifier: Apache-2.0

/// The kinds of source, each with its settings. To add one, write its settings in a file of their own and add it to
/// `SourceKind` in three places: the case, `all` and `settings`. The compiler then reports the places where code
/// for it is missing: reading such a source (`SourceLines` of the daemon), and checking one (`Doctor`).
package enum SourceKind: Equatable, Sendable {
  case serial(SerialSettings)
  case gpsd(GPSDSettings)
  case nmeaTCP(NMEATCPSettings)
  case nmeaUDP(NMEAUDPSettings)
  case modemManager(ModemManagerSettings)
  case simulated(SimulatedSettings)
  case replay(ReplaySettings)

  /// Every kind with its defaults, in the order in which the reference lists them.
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

  /// Seconds of the drive per second of its timestamps; 1 for a receiver.
  package var pace: Double { settings.drivePace }
}

/// The settings of a source of one kind, and its name.
protocol SourceSettings: Equatable, Sendable {
  /// The value of `type`.
  static var type: String { get }
  /// Its keys, besides those that every source has.
  static var keys: [Setting<Self>] { get }

  var kind: SourceKind { get }
  /// The device, address or file, for messages.
  var name: String { get }
  /// Whether it never ends, so that no source after it is ever used.
  var isEndless: Bool { get }
  /// Seconds of the drive per second of its timestamps, by which reported speeds are multiplied.
  var drivePace: Double { get }

  /// Checks keys that depend on each other, after all were read.
  mutating func finish(_ reader: inout SettingsReader)
  /// Checks that matter only if there are several sources.
  ///
  /// - Parameter others: the sources before this one.
  func check(after others: [SourceKind], _ reader: inout SettingsReader)
}

extension SourceSettings {
  var isEndless: Bool { false }

  var drivePace: Double { 1 }

  func finish(_ reader: inout SettingsReader) {}

  func check(after others: [SourceKind], _ reader: inout SettingsReader) {}
}
