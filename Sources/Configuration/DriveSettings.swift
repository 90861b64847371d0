// SPDX-License-Identifier: Apache-2.0

// What the source of type "simulated" can be told that no other setting looks like.

extension SettingKind where Value == [Settings.Source.Simulated.Stop] {
  /// Places where the vehicle stands for a while.
  static let stops = SettingKind(
    name: "array of tables",
    allowed: "`{ at = \"1.2 km\", dwell = \"90s\" }`, `{ waypoint = \"Depot\", dwell = \"90s\" }`"
  ) { value throws(ValueProblem) in
    try value.rows(example: "[{ at = \"1.2 km\", dwell = \"90s\" }]") { row throws(ValueProblem) in
      try row.allow(["at", "waypoint", "dwell"])
      let place: Settings.Source.Simulated.Stop.Place
      switch (try row.optional("at", DriveSettings.place), try row.optional("waypoint", SettingKind<String>.text)) {
      case (let metres?, nil): place = .distance(metres)
      case (nil, let name?): place = .waypoint(name)
      default: throw ValueProblem(message: "a stop needs either `at` or `waypoint`", position: row.position)
      }
      return Settings.Source.Simulated.Stop(place: place, dwell: try row.required("dwell", DriveSettings.dwell))
    }
  }
}

extension SettingKind where Value == [Settings.Source.Simulated.Stretch] {
  /// Stretches of the way.
  static let stretches = SettingKind(
    name: "array of tables", allowed: "`{ from = \"2 km\", length = \"400 m\" }`"
  ) { value throws(ValueProblem) in
    try value.rows(example: "[{ from = \"2 km\", length = \"400 m\" }]") { row throws(ValueProblem) in
      try row.allow(["from", "length"])
      return try DriveSettings.stretch(row)
    }
  }
}

extension SettingKind where Value == [Settings.Source.Simulated.Canyon] {
  /// Stretches of the way where echoes add to the noise.
  static let canyons = SettingKind(
    name: "array of tables", allowed: "`{ from = \"3 km\", length = \"500 m\", noise = \"15 m\" }`"
  ) { value throws(ValueProblem) in
    try value.rows(example: "[{ from = \"3 km\", length = \"500 m\" }]") { row throws(ValueProblem) in
      try row.allow(["from", "length", "noise"])
      let noise = try row.optional("noise", SettingKind<Double>.distance(0...1000)) ?? 15
      return Settings.Source.Simulated.Canyon(stretch: try DriveSettings.stretch(row), noise: noise)
    }
  }
}

extension SettingKind where Value == Duration {
  /// A duration that may have a minus before it.
  static func offset(upTo limit: Duration) -> SettingKind {
    let most = Quantity.text(limit)
    return SettingKind(name: "duration", allowed: "-\(most) to \(most)") { value throws(ValueProblem) in
      guard case .string(let text) = value.content, text.hasPrefix("-") else {
        return try SettingKind.duration(.zero...limit).read(value)
      }
      let rest = TOMLValue(content: .string(String(text.dropFirst())), position: value.position)
      return .zero - (try SettingKind.duration(.zero...limit).read(rest))
    }
  }
}

enum DriveSettings {
  static let place = SettingKind<Double>.distance(0...10_000_000)
  static let length = SettingKind<Double>.distance(1...10_000_000)
  static let dwell = SettingKind<Duration>.duration(.seconds(1)...(.seconds(7 * 86_400)))

  fileprivate static func stretch(_ row: SettingRow) throws(ValueProblem) -> Settings.Source.Simulated.Stretch {
    Settings.Source.Simulated.Stretch(
      from: try row.required("from", place), length: try row.required("length", length))
  }
}

/// One table of an array of them.
private struct SettingRow {
  let members: [String: TOMLValue.Member]
  let position: SourcePosition

  func allow(_ names: [String]) throws(ValueProblem) {
    for (name, member) in members.sorted(by: { $0.key < $1.key }) where !names.contains(name) {
      let hint = NearestName.find(name, among: names).map { "; did you mean `\($0)`?" } ?? ""
      throw ValueProblem(
        message: "has the unknown key `\(name.printable)`; allowed: \(names.joined(separator: ", "))\(hint)",
        position: member.keyPosition)
    }
  }

  func required<Value>(_ name: String, _ kind: SettingKind<Value>) throws(ValueProblem) -> Value {
    guard let value = try optional(name, kind) else {
      throw ValueProblem(message: "lacks `\(name)`, a \(kind.name)", position: position)
    }
    return value
  }

  func optional<Value>(_ name: String, _ kind: SettingKind<Value>) throws(ValueProblem) -> Value? {
    guard let member = members[name] else { return nil }
    do throws(ValueProblem) {
      return try kind.read(member.value)
    } catch {
      throw ValueProblem(message: "`\(name)` \(error.message)", position: error.position ?? member.value.position)
    }
  }
}

extension TOMLValue {
  /// What each table of an array says; at most a thousand.
  fileprivate func rows<Row>(
    example: String, _ read: (SettingRow) throws(ValueProblem) -> Row
  ) throws(ValueProblem) -> [Row] {
    guard case .array(let elements) = content else {
      throw .type(of: self, expected: "an array of tables, as in \(example),")
    }
    guard elements.count <= 1000 else { throw ValueProblem(message: "has more than 1000 entries") }
    var rows: [Row] = []
    for element in elements {
      guard case .table(let members) = element.content else {
        throw ValueProblem(
          message: "has \(element.typeName) in it; tables are expected, as in \(example)", position: element.position)
      }
      rows.append(try read(SettingRow(members: members, position: element.position)))
    }
    return rows
  }
}
