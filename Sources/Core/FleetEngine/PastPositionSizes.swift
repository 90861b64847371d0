// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Upper bounds of the bytes that past positions add to a body, by their optional values: measured once with the longest
/// possible numbers, because encoding a backlog only to measure it would double the work of a request.
struct PastPositionSizes: Equatable, Sendable {
  private typealias Value = WritableKeyPath<VehicleLocation, Double?> & Sendable

  /// The optional values, with the longest number of each.
  private static let longest: [(value: any Value, number: Double)] = [
    (\.altitude, -9999.9), (\.speed, 999.99), (\.heading, 359), (\.horizontalAccuracy, 9999.9),
    (\.verticalAccuracy, 9999.9), (\.speedAccuracy, 99.99), (\.headingAccuracy, 999.9),
  ]

  /// The size of a position without optional values.
  private var bare = 0
  /// The size of each value in `longest`.
  private var added: [Int] = []

  /// - Parameter measure: returns the size of an update's body in bytes.
  init(_ measure: (PositionUpdate) -> Int) {
    // Both numbers are valid.
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

  /// Upper bound of the bytes that a past position adds.
  func size(of location: VehicleLocation) -> Int {
    zip(PastPositionSizes.longest, added).reduce(bare) { sum, entry in
      sum + (location[keyPath: entry.0.value] == nil ? 0 : entry.1)
    }
  }
}
