// SPDX-License-Identifier: Apache-2.0

/// Decimal numbers for text and drawings.
enum Decimals {
  /// Rounded to this number of decimals, at most 9; values that are too large or not finite are printed by Swift.
  static func text(_ value: Double, _ digits: Int) -> String {
    let scale = (0..<digits).reduce(1.0) { product, _ in product * 10 }
    let scaled = (value * scale).rounded()
    guard scaled.magnitude < 1e15 else { return "\(value)" }
    let text = String(Int64(scaled.magnitude))
    let whole = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    let sign = scaled < 0 ? "-" : ""
    return digits == 0 ? sign + whole : "\(sign)\(whole.dropLast(digits)).\(whole.suffix(digits))"
  }
}
