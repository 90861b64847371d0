// SPDX-License-Identifier: Apache-2.0
package import Positioning
package import Timekeeping

/// An optional number in eight bytes instead of sixteen, which halves a position: a backlog holds 100,000 of them. Nil
/// is stored as not-a-number, so not-a-number is read as nil.
@propertyWrapper package struct CompactOptional: Hashable, Sendable {
  private var number: Double

  /// Nil.
  package init() { number = .nan }

  /// The number.
  package var wrappedValue: Double? {
    get { number.isNaN ? nil : number }
    set { number = newValue ?? .nan }
  }

  package static func == (left: CompactOptional, right: CompactOptional) -> Bool {
    left.wrappedValue == right.wrappedValue
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(wrappedValue) }
}

/// A position as it is reported: accepted by the filter, with its final timestamp.
package struct VehicleLocation: Hashable, Sendable {
  /// Degrees, WGS84.
  package var coordinate: Coordinate
  /// The time of the position.
  package var time: Timestamp
  /// Metres above the WGS84 ellipsoid.
  @CompactOptional package var altitude: Double?
  /// Metres per second.
  @CompactOptional package var speed: Double?
  /// Degrees true, 0 up to but not including 360.
  @CompactOptional package var heading: Double?
  /// Metres, one sigma.
  @CompactOptional package var horizontalAccuracy: Double?
  /// Metres.
  @CompactOptional package var verticalAccuracy: Double?
  /// Metres per second.
  @CompactOptional package var speedAccuracy: Double?
  /// Degrees.
  @CompactOptional package var headingAccuracy: Double?

  package init(coordinate: Coordinate, time: Timestamp) {
    self.coordinate = coordinate
    self.time = time
  }

  /// The smallest accuracy that is reported, in metres. RTK receivers claim centimetres, which apply to their antenna
  /// in the best case: the median error of an RTK receiver on a vehicle was 0.5 m (docs/filter.md).
  package static let minimumAccuracy = 0.5

  /// Ranges of valid measurements; they exclude infinity and not-a-number.
  private enum Limits {
    static let altitude = -100_000.0...100_000
    static let speed = 0.0...10_000
    static let heading = 0.0..<360
    static let metres = 0.0...1_000_000
    static let degrees = 0.0...360
  }

  /// Omits values that are out of range; accuracies are at least `minimumAccuracy`.
  ///
  /// - Parameter time: the fix's own timestamp, or the corrected one.
  package init(_ fix: Fix, time: Timestamp) {
    self.init(coordinate: fix.coordinate, time: time)
    func value(_ value: Double?, _ limits: some RangeExpression<Double>) -> Double? {
      value.flatMap { limits.contains($0) ? $0 : nil }
    }
    altitude = value(fix.altitudeHAE, Limits.altitude)
    speed = value(fix.speed, Limits.speed)
    heading = value(fix.heading, Limits.heading)
    horizontalAccuracy = value(fix.horizontalAccuracy, Limits.metres).map { max($0, VehicleLocation.minimumAccuracy) }
    verticalAccuracy = value(fix.verticalAccuracy, Limits.metres).map { max($0, VehicleLocation.minimumAccuracy) }
    speedAccuracy = value(fix.speedAccuracy, Limits.speed)
    headingAccuracy = value(fix.headingAccuracy, Limits.degrees)
  }

  /// Whether every value is within the ranges of `init(_:time:)`. A value read from a file may not be.
  package var isPlausible: Bool {
    func holds(_ value: Double?, _ limits: some RangeExpression<Double>) -> Bool {
      value.map { limits.contains($0) } ?? true
    }
    return time.isInCalendar && holds(altitude, Limits.altitude) && holds(speed, Limits.speed)
      && holds(heading, Limits.heading) && holds(horizontalAccuracy, Limits.metres)
      && holds(verticalAccuracy, Limits.metres) && holds(speedAccuracy, Limits.speed)
      && holds(headingAccuracy, Limits.degrees)
  }
}
