// SPDX-License-Identifier: Apache-2.0
import SimulatedDrives

/// The attributes of a point, a line or a track in a route file.
enum RouteAttributes {
  /// The default duration of a stop.
  static let defaultDwell = Duration.seconds(60)

  /// Nil for any other value.
  static func surroundings(_ type: String) -> Route.Surroundings? {
    switch type.lowercased() {
    case "tunnel": .tunnel
    case "canyon", "urban canyon": .canyon
    case "open": .open
    default: nil
    }
  }

  static func isStop(_ type: String) -> Bool { type.lowercased() == "stop" }

  /// A name on one line, truncated to 100 characters.
  static func name(_ text: String) -> String {
    let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
    return String(String.UnicodeScalarView(scalars.prefix(100)))
  }

  /// - Parameter seconds: from 0 to a week; for any other value the result is nil.
  static func dwell(seconds: Double) -> Duration? {
    (0...604_800).contains(seconds) ? .milliseconds(Int64((seconds * 1000).rounded())) : nil
  }
}
