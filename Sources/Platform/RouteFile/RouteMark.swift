// SPDX-License-Identifier: Apache-2.0
import Positioning

/// The words by which a route file tells what lies along it: the `type` of a point, a line or a track.
enum RouteMark {
  /// How long the vehicle stands at a stop that tells no dwell.
  static let usualDwell = Duration.seconds(60)

  /// Nil when the word is none of these.
  static func surroundings(_ type: String) -> Route.Surroundings? {
    switch type.lowercased() {
    case "tunnel": .tunnel
    case "canyon", "urban canyon": .canyon
    case "open": .open
    default: nil
    }
  }

  static func isStop(_ type: String) -> Bool { type.lowercased() == "stop" }

  /// A name on one line, at most 100 characters of it.
  static func name(_ text: String) -> String {
    let scalars = text.unicodeScalars.filter { $0.properties.generalCategory != .control }
    return String(String.UnicodeScalarView(scalars.prefix(100)))
  }

  /// - Parameter seconds: from 0 to a week; anything else is no dwell.
  static func dwell(seconds: Double) -> Duration? {
    (0...604_800).contains(seconds) ? .milliseconds(Int64((seconds * 1000).rounded())) : nil
  }
}
