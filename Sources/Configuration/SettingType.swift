// SPDX-License-Identifier: Apache-2.0
import FixSources

/// The type of a setting's value: how it is parsed, and how it is described.
struct SettingType<Value>: Sendable {
  /// The name of the type, such as "duration".
  let name: String
  /// The allowed values, as text after "allowed: "; empty for any.
  let allowed: String
  /// Formats a value as in a settings file; nil if it has no such text.
  let text: @Sendable (Value) -> String?
  let read: @Sendable (TOMLValue, SettingsContext) throws(ValueProblem) -> Value

  init(
    name: String, allowed: String, text: @escaping @Sendable (Value) -> String? = { _ in nil },
    read: @escaping @Sendable (TOMLValue, SettingsContext) throws(ValueProblem) -> Value
  ) {
    self.name = name
    self.allowed = allowed
    self.text = text
    self.read = read
  }

  /// A type whose values do not depend on the context.
  init(
    name: String, allowed: String, text: @escaping @Sendable (Value) -> String? = { _ in nil },
    read: @escaping @Sendable (TOMLValue) throws(ValueProblem) -> Value
  ) {
    self.init(name: name, allowed: allowed, text: text) { value, _ throws(ValueProblem) in try read(value) }
  }
}

/// Why a value is not allowed.
struct ValueProblem: Error, Equatable {
  let message: String
  /// Where the problem is; nil if it is at the value.
  var position: SourcePosition?
  /// Whether the value refers to a file, credential or host name that is missing or empty, and may appear later.
  var mayAppearLater = false
  /// Whether this user has no permission to read a file that the value refers to.
  var isPermissionDenied = false

  /// The problem of a value that has a different type.
  static func wrongType(of value: TOMLValue, expected: String) -> ValueProblem {
    ValueProblem(message: "is \(value.typeName); \(expected) is expected")
  }
}

extension SettingType where Value == Bool {
  static let boolean = SettingType(name: "boolean", allowed: "", text: { "\($0)" }) { value throws(ValueProblem) in
    guard case .boolean(let isTrue) = value.content else {
      throw .wrongType(of: value, expected: "true or false, without quotes,")
    }
    return isTrue
  }
}

extension SettingType where Value: FixedWidthInteger & Sendable {
  static func integer(_ range: ClosedRange<Value>) -> SettingType {
    SettingType(name: "integer", allowed: "\(range.lowerBound) to \(range.upperBound)", text: { "\($0)" }) {
      value throws(ValueProblem) in
      guard case .integer(let number) = value.content else {
        if case .string(let text) = value.content, Value(text) != nil {
          throw ValueProblem(message: "\"\(text)\" is in quotes; write the number without them: \(text)")
        }
        throw .wrongType(of: value, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      guard let whole = Value(exactly: number), range.contains(whole) else {
        throw ValueProblem(message: "\(number) is out of range; allowed: \(range.lowerBound) to \(range.upperBound)")
      }
      return whole
    }
  }
}

extension SettingType where Value == Int? {
  /// The baud rate of a serial port; nil for `"auto"`.
  static var baud: SettingType {
    let rates = BaudProbe.rates.sorted()
    let allowed = "\"auto\", " + rates.map(String.init).joined(separator: ", ")
    return SettingType(
      name: "integer or string", allowed: allowed, text: { rate in rate.map { "\($0)" } ?? "\"auto\"" }
    ) { value throws(ValueProblem) in
      switch value.content {
      case .string("auto"): return nil
      case .string(let text) where Int(text).map(rates.contains) == true:
        throw ValueProblem(message: "\"\(text)\" is in quotes; write the number without them: \(text)")
      case .string(let text):
        throw ValueProblem(message: "\"\(text.printable)\" is not allowed; allowed: \(allowed)")
      case .integer(let number):
        guard let rate = Int(exactly: number), rates.contains(rate) else {
          throw ValueProblem(message: "\(number) is not allowed; allowed: \(allowed)")
        }
        return rate
      default: throw .wrongType(of: value, expected: "one of \(allowed)")
      }
    }
  }
}

extension SettingType where Value == Double {
  /// A number without a unit.
  static func number(_ range: ClosedRange<Double>) -> SettingType {
    let allowed = "\(numberText(range.lowerBound)) to \(numberText(range.upperBound))"
    return SettingType(name: "number", allowed: allowed, text: numberText) { value throws(ValueProblem) in
      let number: Double
      switch value.content {
      case .integer(let whole): number = Double(whole)
      case .float(let real): number = real
      default: throw .wrongType(of: value, expected: "a number from \(allowed)")
      }
      guard range.contains(number) else {
        throw ValueProblem(message: "\(number) is out of range; allowed: \(allowed)")
      }
      return number
    }
  }

  /// - Parameter range: metres.
  static func distance(_ range: ClosedRange<Double>) -> SettingType {
    quantity(.distance, range, distanceText)
  }

  /// - Parameter range: kilometres per hour; the value is in metres per second.
  static func speed(_ range: ClosedRange<Double>) -> SettingType {
    quantity(.speed, range.lowerBound / 3.6...range.upperBound / 3.6) { "\(numberText($0 * 3.6)) km/h" }
  }

  /// - Parameter range: metres per second squared.
  static func acceleration(_ range: ClosedRange<Double>) -> SettingType {
    quantity(.acceleration, range) { "\(numberText($0)) m/s²" }
  }

  private enum Measure { case distance, speed, acceleration }

  /// - Parameter format: formats a value with its unit.
  private static func quantity(
    _ measure: Measure, _ range: ClosedRange<Double>, _ format: @escaping @Sendable (Double) -> String
  ) -> SettingType {
    let (units, example) =
      switch measure {
      case .distance: (Quantity.distances, "m")
      case .speed: (Quantity.speeds, "km/h")
      case .acceleration: (Quantity.accelerations, "m/s²")
      }
    let allowed = "\(format(range.lowerBound)) to \(format(range.upperBound))"
    return SettingType(name: units.noun, allowed: allowed, text: { "\"\(format($0))\"" }) {
      value throws(ValueProblem) in
      let text = try value.quantityText(noun: units.noun, example: example)
      let number = try Quantity.parse(text, as: units)
      // Rounding errors in the last place are accepted: 1000 km/h is 277.777… m/s.
      guard (range.lowerBound * (1 - 1e-12)...range.upperBound * (1 + 1e-12)).contains(number) else {
        throw ValueProblem(message: "\"\(text.printable)\" is out of range; allowed: \(allowed)")
      }
      return number
    }
  }

  @Sendable private static func distanceText(_ metres: Double) -> String {
    metres >= 1000 ? "\(numberText(metres / 1000)) km" : "\(numberText(metres)) m"
  }

  /// Rounded to a millionth: 250 km/h are stored as 69.444… m/s, which do not convert back to exactly 250 km/h.
  @Sendable private static func numberText(_ number: Double) -> String {
    let rounded = (number * 1e6).rounded() / 1e6
    return Int(exactly: rounded).map { "\($0)" } ?? "\(rounded)"
  }
}

extension SettingType where Value == Duration {
  static func duration(_ range: ClosedRange<Duration>) -> SettingType {
    let allowed = "\(Quantity.text(range.lowerBound)) to \(Quantity.text(range.upperBound))"
    return SettingType(name: "duration", allowed: allowed, text: { "\"\(Quantity.text($0))\"" }) {
      value throws(ValueProblem) in
      let text = try value.quantityText(noun: "duration", example: "s")
      let duration = try Quantity.duration(text)
      guard range.contains(duration) else {
        throw ValueProblem(message: "\"\(text.printable)\" is out of range; allowed: \(allowed)")
      }
      return duration
    }
  }
}

extension SettingType where Value == Int64 {
  /// - Parameter range: bytes.
  static func size(_ range: ClosedRange<Int64>) -> SettingType {
    let allowed = "\(Quantity.text(bytes: range.lowerBound)) to \(Quantity.text(bytes: range.upperBound))"
    return SettingType(name: "size", allowed: allowed, text: { "\"\(Quantity.text(bytes: $0))\"" }) {
      value throws(ValueProblem) in
      let text = try value.quantityText(noun: "size", example: "MB")
      let bytes = Int64(try Quantity.parse(text, as: Quantity.sizes).rounded())
      guard range.contains(bytes) else {
        throw ValueProblem(message: "\"\(text.printable)\" is out of range; allowed: \(allowed)")
      }
      return bytes
    }
  }
}

extension TOMLValue {
  /// The text of a quantity; a number without a unit is an error that shows the correct form.
  fileprivate func quantityText(noun: String, example: String) throws(ValueProblem) -> String {
    switch content {
    case .string(let text): return text
    case .integer, .float:
      // The example must be valid, and hardly any quantity may be negative.
      let written = content.literal.hasPrefix("-") ? "10" : content.literal
      let unit = example == "s" ? "s" : " \(example)"
      throw ValueProblem(message: "has no unit; write the \(noun) with one, in quotes, as in \"\(written)\(unit)\"")
    default:
      throw .wrongType(of: self, expected: "a \(noun) in quotes, as in \"10\(example == "s" ? "s" : " \(example)")\",")
    }
  }
}
