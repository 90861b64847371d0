// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import SimulatedDrives

extension SettingType where Value == [SimulationSettings.Stop] {
  /// Stops of the vehicle.
  static let stops = SettingType(
    name: "array of tables",
    allowed: "`{ at = \"1.2 km\", dwell = \"90s\" }`, `{ waypoint = \"Depot\", dwell = \"90s\" }`"
  ) { value, context throws(ValueProblem) in
    try value.rows(context, example: "[{ at = \"1.2 km\", dwell = \"90s\" }]") { row throws(ValueProblem) in
      try row.rejectKeys(otherThan: ["at", "waypoint", "dwell"])
      let place: SimulationSettings.Place
      switch (
        try row.optional("at", DriveSettingTypes.routeDistance), try row.optional("waypoint", SettingType<String>.line)
      )
      {
      case (let metres?, nil): place = .distance(metres)
      case (nil, let name?): place = .waypoint(name)
      default: throw ValueProblem(message: "a stop needs either `at` or `waypoint`", position: row.position)
      }
      return SimulationSettings.Stop(place, dwell: try row.required("dwell", DriveSettingTypes.dwell))
    }
  }
}

extension SettingType where Value == [SimulationSettings.Stretch] {
  /// Stretches of the route.
  static let stretches = SettingType(
    name: "array of tables", allowed: "`{ from = \"2 km\", length = \"400 m\" }`"
  ) { value, context throws(ValueProblem) in
    try value.rows(context, example: "[{ from = \"2 km\", length = \"400 m\" }]") { row throws(ValueProblem) in
      try row.rejectKeys(otherThan: ["from", "length"])
      return try DriveSettingTypes.stretch(row)
    }
  }
}

extension SettingType where Value == [SimulationSettings.Canyon] {
  /// Stretches of the route where reflections add noise.
  static let canyons = SettingType(
    name: "array of tables", allowed: "`{ from = \"3 km\", length = \"500 m\", noise = \"15 m\" }`"
  ) { value, context throws(ValueProblem) in
    try value.rows(context, example: "[{ from = \"3 km\", length = \"500 m\" }]") { row throws(ValueProblem) in
      try row.rejectKeys(otherThan: ["from", "length", "noise"])
      var canyon = SimulationSettings.Canyon(try DriveSettingTypes.stretch(row))
      if let noise = try row.optional("noise", DriveSettingTypes.noise) { canyon.noise = noise }
      return canyon
    }
  }
}

extension SettingType where Value == Duration {
  /// A signed duration.
  static func offset(upTo limit: Duration) -> SettingType {
    let limitText = Quantity.text(limit)
    let magnitudeType = SettingType.duration(.zero...limit)
    return SettingType(name: "duration", allowed: "-\(limitText) to \(limitText)", text: magnitudeType.text) {
      value, context throws(ValueProblem) in
      guard case .string(let text) = value.content, text.hasPrefix("-") else {
        return try magnitudeType.read(value, context)
      }
      let magnitude = TOMLValue(content: .string(String(text.dropFirst())), position: value.position)
      return .zero - (try magnitudeType.read(magnitude, context))
    }
  }
}

/// The types of the values that describe a simulated drive; also used for command-line options (`QuantityOption`).
enum DriveSettingTypes {
  static let speed = SettingType<Double>.speed(0.1...500)
  static let routeDistance = SettingType<Double>.distance(0...10_000_000)
  static let length = SettingType<Double>.distance(1...10_000_000)
  static let dwell = SettingType<Duration>.duration(.seconds(1)...(.seconds(7 * 86_400)))
  static let noise = SettingType<Double>.distance(0...1000)

  fileprivate static func stretch(_ row: SettingRow) throws(ValueProblem) -> SimulationSettings.Stretch {
    SimulationSettings.Stretch(
      from: try row.required("from", routeDistance), length: try row.required("length", length))
  }
}

/// One table of an array of tables.
private struct SettingRow {
  let members: [String: TOMLValue.Member]
  let position: SourcePosition
  let context: SettingsContext

  func rejectKeys(otherThan names: [String]) throws(ValueProblem) {
    for (name, member) in members.sorted(by: { $0.key < $1.key }) where !names.contains(name) {
      let hint = NearestName.find(name, among: names).map { "; did you mean `\($0)`?" } ?? ""
      throw ValueProblem(
        message: "has the unknown key `\(name.printable)`; allowed: \(names.joined(separator: ", "))\(hint)",
        position: member.keyPosition)
    }
  }

  func required<Value>(_ name: String, _ type: SettingType<Value>) throws(ValueProblem) -> Value {
    guard let value = try optional(name, type) else {
      throw ValueProblem(message: "lacks `\(name)`, a \(type.name)", position: position)
    }
    return value
  }

  func optional<Value>(_ name: String, _ type: SettingType<Value>) throws(ValueProblem) -> Value? {
    guard let member = members[name] else { return nil }
    do throws(ValueProblem) {
      return try type.read(member.value, context)
    } catch {
      throw ValueProblem(message: "`\(name)` \(error.message)", position: error.position ?? member.value.position)
    }
  }
}

extension TOMLValue {
  /// Reads the tables of an array; at most a thousand.
  fileprivate func rows<Row>(
    _ context: SettingsContext, example: String, _ read: (SettingRow) throws(ValueProblem) -> Row
  ) throws(ValueProblem) -> [Row] {
    guard case .array(let elements) = content else {
      throw .wrongType(of: self, expected: "an array of tables, as in \(example),")
    }
    guard elements.count <= 1000 else { throw ValueProblem(message: "has more than 1000 entries") }
    var rows: [Row] = []
    for element in elements {
      guard case .table(let members) = element.content else {
        throw ValueProblem(
          message: "has \(element.typeName) in it; tables are expected, as in \(example)", position: element.position)
      }
      rows.append(try read(SettingRow(members: members, position: element.position, context: context)))
    }
    return rows
  }
}
