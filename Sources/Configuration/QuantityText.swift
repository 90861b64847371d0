// SPDX-License-Identifier: Apache-2.0

/// Reads quantities as the settings write them, for command lines: "50 km/h", "1.2 km", "10min".
package enum QuantityText {
  package struct Mistake: Error, Equatable, Sendable {
    /// What is wrong and what is allowed.
    package let message: String

    package init(message: String) {
      self.message = message
    }
  }

  /// - Parameter range: kilometres per hour.
  /// - Returns: metres per second.
  package static func speed(_ text: String, _ range: ClosedRange<Double>) throws(Mistake) -> Double {
    try read(text, .speed(range))
  }

  /// Metres.
  package static func distance(_ text: String, _ range: ClosedRange<Double>) throws(Mistake) -> Double {
    try read(text, .distance(range))
  }

  package static func duration(_ text: String, _ range: ClosedRange<Duration>) throws(Mistake) -> Duration {
    try read(text, .duration(range))
  }

  private static func read<Value>(_ text: String, _ kind: SettingKind<Value>) throws(Mistake) -> Value {
    do throws(ValueProblem) {
      return try kind.read(TOMLValue(content: .string(text), position: SourcePosition(file: "")))
    } catch {
      throw Mistake(message: error.message)
    }
  }
}
