// SPDX-License-Identifier: Apache-2.0
import Delivery
import FleetEngine
import PositionBacklog
import Positioning
import Timekeeping
import Vehicle

/// The state that decides how a world continues, as a number: worlds with the same number are treated as equivalent.
///
/// It contains all stored properties of the daemon. Instants and times are relative to now, and all that are older than
/// the longest limit are equal; places are relative to the vehicle. Properties that are only counted or reported are
/// left out.
struct Projection {
  private typealias Adder = @Sendable (Any, inout Projection) -> Void

  /// Names of stored properties that decide only what is reported, or are the same in all worlds; the number of a
  /// request; the bytes of an address, which always differ; and the length of a degree of longitude (`latitudeCosine`),
  /// because the vehicle drives due north.
  private static let ignored: Set<String> = [
    "configuration", "settings", "eventLimiter", "publication", "id", "lastID", "bytes", "latitudeCosine",
  ]
  /// Nanoseconds relative to now: no limit depends on anything older, except for limits that the exploration does not
  /// reach.
  private static let longest = -300_000_000_000 as Int64

  private var hasher = Hasher()
  private let now: Moment
  private let latitude: Double
  /// All values with their names, on request: to show how two worlds differ.
  private var lines: [String]?
  private var path: [String] = []

  /// - Parameters:
  ///   - latitude: of the vehicle, which drives to the north.
  ///   - isListed: whether to record `lines`.
  init(at now: Moment, latitude: Double, isListed: Bool = false) {
    self.now = now
    self.latitude = latitude
    lines = isListed ? [] : nil
  }

  /// The projection as a number.
  var number: Int { hasher.finalize() }

  /// The first lines that differ.
  func difference(from other: Projection) -> String {
    guard let lines, let others = other.lines else { return "" }
    let differences = zip(lines, others).filter { $0 != $1 }.prefix(8).map { "\($0), there \($1)" }
    return differences.joined(separator: "; ")
  }

  /// How values of these types are added; for all others, the values that they contain are added.
  private static let leaves: [ObjectIdentifier: Adder] = Dictionary(uniqueKeysWithValues: [
    adder(Statistics.self) { _, _ in },
    adder(RecentOutcomes.self) { _, _ in },
    adder(RecentTrack.self) { _, _ in },
    adder(BootInstant.self) { $1.add($0) },
    adder([BootInstant].self) { instants, projection in
      projection.hasher.combine(instants.count)
      for instant in instants { projection.add(instant) }
    },
    adder(Timestamp.self) { $1.leaf($1.relative($0)) },
    adder(Coordinate.self) { $1.add($0) },
    adder(VehicleLocation.self) { $1.add($0) },
    adder([Backlog.Record].self) { records, projection in
      projection.hasher.combine(records.count)
      for record in records {
        projection.add(record.location)
        projection.leaf(projection.rounded(record.interpolationError))
      }
    },
    adder(Double.self) { $1.leaf($1.rounded($0)) },
    adder(Int.self) { $1.leaf($0) },
    adder(Int64.self) { $1.leaf($0) },
    adder(UInt64.self) { $1.leaf($0) },
    adder(Duration.self) { $1.leaf($0) },
    adder(Bool.self) { $1.leaf($0) },
    adder(String.self) { $1.leaf($0) },
  ])

  private static func adder<Value>(
    _ type: Value.Type, _ add: @escaping @Sendable (Value, inout Projection) -> Void
  ) -> (ObjectIdentifier, Adder) {
    (ObjectIdentifier(type), { value, projection in if let value = value as? Value { add(value, &projection) } })
  }

  /// Adds a value and all that it contains.
  mutating func add(_ value: Any, _ name: String = "") {
    if lines != nil { path.append(name) }
    if let adder = Projection.leaves[ObjectIdentifier(type(of: value))] {
      adder(value, &self)
    } else {
      add(Mirror(reflecting: value), of: value)
    }
    if lines != nil { path.removeLast() }
  }

  private mutating func add(_ mirror: Mirror, of value: Any) {
    hasher.combine(mirror.children.count)
    switch mirror.displayStyle {
    case .set, .dictionary:
      // Sets and dictionaries have no order.
      var sum = 0
      for child in mirror.children {
        var element = Projection(at: now, latitude: latitude)
        element.add(child.value)
        sum &+= element.number
      }
      leaf(sum)
    case .enum where mirror.children.isEmpty, nil: leaf("\(value)")
    case .enum:
      for child in mirror.children {
        hasher.combine(child.label)
        add(child.value, child.label ?? "")
      }
    default:
      for child in mirror.children {
        guard let label = child.label else {
          add(child.value)
          continue
        }
        if !Projection.ignored.contains(label) { add(child.value, label) }
      }
    }
  }

  private mutating func leaf(_ value: some Hashable) {
    hasher.combine(value)
    lines?.append("\(path.joined(separator: ".")): \(value)")
  }

  private mutating func add(_ instant: BootInstant) {
    leaf(max(instant.nanoseconds &- now.boot.nanoseconds, Projection.longest))
  }

  /// Like the default, but in a tenth of the time: a world has dozens of locations.
  private mutating func add(_ location: VehicleLocation) {
    add(location.coordinate)
    leaf(relative(location.time))
    for value in [
      location.altitude, location.speed, location.heading, location.horizontalAccuracy, location.verticalAccuracy,
      location.speedAccuracy, location.headingAccuracy,
    ] { leaf(value.map(rounded)) }
  }

  private mutating func add(_ coordinate: Coordinate) {
    leaf(rounded(coordinate.latitude - latitude))
    leaf(rounded(coordinate.longitude))
  }

  private func relative(_ time: Timestamp) -> Int64 {
    let milliseconds = time.milliseconds.subtractingReportingOverflow(now.wall.milliseconds).partialValue
    return max(milliseconds, Projection.longest / 1_000_000)
  }

  private func rounded(_ value: Double) -> Double { (value * 1e6).rounded() }
}
