// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Bytes that past positions add to a body at most, by the optional values that they have: measured once with the longest
/// numbers that occur, because encoding a backlog only to count it would double the work of a request.
struct PastPositionSizes: Equatable, Sendable {
  private typealias Value = WritableKeyPath<VehicleLocation, Double?> & Sendable

  /// Each optional value, with the longest number that it can be.
  private static let longest: [(value: any Value, number: Double)] = [
    (\.altitude, -9999.9), (\.speed, 999.99), (\.heading, 359), (\.horizontalAccuracy, 9999.9),
    (\.verticalAccuracy, 9999.9), (\.speedAccuracy, 99.99), (\.headingAccuracy, 999.9),
  ]

  /// Of a position with none of them.
  private var bare = 0
  /// What each of `longest` adds.
  private var added: [Int] = []

  /// - Parameter measure: bytes of the body that carries an update.
  init(_ measure: (PositionUpdate) -> Int) {
    // Both numbers are in their ranges.
    guard let coordinate = Coordinate(latitude: -89.123_456_7, longitude: -179.123_456_7) else { return }
    let location = VehicleLocation(coordinate: coordinate, time: Timestamp(milliseconds: 1_795_249_800_250))
    func size(_ past: VehicleLocation) -> Int {
      measure(PositionUpdate(live: location, past: [past, past]))
        - measure(PositionUpdate(live: location, past: [past]))
    }
    bare = size(location)
    added = PastPositionSizes.longest.map { value, number in
      var past = location
      past[keyPath: value] = number
      return size(past) - bare
    }
  }

  /// Bytes that a past position adds at most.
  func size(of location: VehicleLocation) -> Int {
    zip(PastPositionSizes.longest, added).reduce(bare) { sum, entry in
      sum + (location[keyPath: entry.0.value] == nil ? 0 : entry.1)
    }
  }
}
