// SPDX-License-Identifier: Apache-2.0

/// Parses quantities in command-line options, which have the format of the settings: "50 km/h", "1.2 km", "10min".
package enum QuantityOption {
  /// Why a text is not a valid quantity.
  package struct Mistake: Error, Equatable, Sendable {
    /// What is wrong and what is allowed.
    package let message: String

    package init(message: String) {
      self.message = message
    }
  }

  /// A distance along a route, as in `stops` and `tunnels`. Metres.
  package static func routeDistance(_ text: String) throws(Mistake) -> Double {
    try read(text, DriveSettingTypes.routeDistance)
  }

  /// The length of a stretch of a route. Metres.
  package static func length(_ text: String) throws(Mistake) -> Double { try read(text, DriveSettingTypes.length) }

  /// The error of positions, one sigma. Metres.
  package static func noise(_ text: String) throws(Mistake) -> Double { try read(text, DriveSettingTypes.noise) }

  /// The time at a stop.
  package static func dwell(_ text: String) throws(Mistake) -> Duration { try read(text, DriveSettingTypes.dwell) }

  /// The driving speed. Metres per second.
  package static func speed(_ text: String) throws(Mistake) -> Double { try read(text, DriveSettingTypes.speed) }

  /// A duration with its unit, within `range`.
  package static func duration(_ text: String, _ range: ClosedRange<Duration>) throws(Mistake) -> Duration {
    try read(text, .duration(range))
  }

  private static func read<Value>(_ text: String, _ type: SettingType<Value>) throws(Mistake) -> Value {
    do throws(ValueProblem) {
      return try type.read(
        TOMLValue(content: .string(text), position: SourcePosition(file: "")),
        SettingsContext(environment: .system, directory: ""))
    } catch {
      throw Mistake(message: error.message)
    }
  }
}
