// SPDX-License-Identifier: Apache-2.0

/// The lines on the terminal, without the time before each.
enum UpdateLine {
  /// `truck-17  48.1173000,11.5166700   12.3 m/s   87°  ±4 m  fix 0.2 s old  +3 past`
  ///
  /// - Parameters:
  ///   - gap: milliseconds since the previous accepted update.
  ///   - positionGap: milliseconds since the previous one with a live position.
  static func accepted(
    vehicle: String, update: JSON, mask: UpdateMask, warnings: [VehicleStatistics.Warning], gap: Int64?,
    positionGap: Int64?, at now: ServerTime
  ) -> String {
    var parts = [plain(vehicle)]
    if mask.topLevel.contains("lastLocation"), let location = update["lastLocation"] {
      let reported = ReportedLocation(location)
      if let (latitude, longitude) = reported.coordinate {
        parts.append("\(fixed(latitude, 7)),\(fixed(longitude, 7))")
      }
      if let speed = location["speed"]?.double { parts.append("\(pad(fixed(speed, 1), 4)) m/s") }
      if let heading = location["heading"]?.integer { parts.append("\(pad(String(heading), 3))°") }
      if let accuracy = reported.accuracy {
        parts.append("±\(fixed(accuracy, accuracy < 10 && accuracy != accuracy.rounded() ? 1 : 0)) m")
      }
      if let time = reported.time { parts.append(age(now.wall - time)) }
    } else if !mask.topLevel.contains("vehicleState") {
      parts.append(mask.paths.joined(separator: ","))
    }
    if mask.topLevel.contains("vehicleState"), let state = update["vehicleState"]?.string { parts.append(state) }
    if let past = update["pastLocations"]?.array, !past.isEmpty { parts.append("+\(past.count) past") }
    for warning in warnings { parts.append("! \(explain(warning, gap: warning == .tooSoon ? positionGap : gap))") }
    return parts.joined(separator: "  ")
  }

  static func refused(vehicle: String, error: APIError) -> String {
    event(vehicle, "refused \(error.httpStatus) \(error.code.rawValue): \(error.message)")
  }

  static func event(_ vehicle: String, _ text: String) -> String {
    "\(plain(vehicle))  \(plain(text))"
  }

  private static func explain(_ warning: VehicleStatistics.Warning, gap: Int64?) -> String {
    let gap = fixed(Double(gap ?? 0) / 1000, 1)
    return switch warning {
    case .tooSoon: "\(gap) s after the last position; the minimum is 5 s"
    case .tooLate: "\(gap) s after the last update; the maximum is 60 s"
    case .backwards: "older than the position it replaces"
    case .pastIsNewer: "a past location is newer than lastLocation"
    case .noPosition: "lastLocation has no position"
    case .ignoredField: "a field is not in the mask and was ignored"
    case .noState: "vehicleState is in the mask and not in the body"
    }
  }

  private static func age(_ milliseconds: Int64) -> String {
    if milliseconds < -500 { return "fix \(fixed(Double(-milliseconds) / 1000, 1)) s ahead" }
    let seconds = Double(max(0, milliseconds)) / 1000
    if seconds < 120 { return "fix \(fixed(seconds, 1)) s old" }
    if seconds < 7200 { return "fix \(fixed(seconds / 60, 0)) min old" }
    return seconds < 172_800 ? "fix \(fixed(seconds / 3600, 0)) h old" : "fix \(fixed(seconds / 86_400, 0)) days old"
  }

  /// A decimal number with this number of digits after the point, at most 9; huge ones in Swift's format.
  static func fixed(_ value: Double, _ digits: Int) -> String {
    let scale = (0..<digits).reduce(1.0) { product, _ in product * 10 }
    let scaled = (value * scale).rounded()
    guard scaled.magnitude < 1e15 else { return "\(value)" }
    let text = String(Int64(scaled.magnitude))
    let whole = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
    let sign = scaled < 0 ? "-" : ""
    return digits == 0 ? sign + whole : "\(sign)\(whole.dropLast(digits)).\(whole.suffix(digits))"
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  /// Text from a client, with characters escaped that control the terminal, or that change the order of others.
  static func plain(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if [.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory) {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
