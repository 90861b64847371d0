// SPDX-License-Identifier: Apache-2.0
import Positioning
import Timekeeping

/// Upper bounds of the bytes that past positions add to a body, depending on which optional values they have. They are
/// measured once, with the longest possible numbers, because encoding a backlog only to measure it would double the
/// work of a request.
package struct PastPositionSizes: Equatable, Sendable {
  /// An optional value of a position.
  private struct Field: Sendable {
    /// Sets the value to its longest number.
    let fill: @Sendable (inout VehicleLocation) -> Void
    let isSet: @Sendable (VehicleLocation) -> Bool
  }

  private static let fields: [Field] = [
    Field(fill: { $0.altitude = -99_999.9 }, isSet: { $0.altitude != nil }),
    Field(fill: { $0.speed = 9999.99 }, isSet: { $0.speed != nil }),
    Field(fill: { $0.heading = 359 }, isSet: { $0.heading != nil }),
    Field(fill: { $0.horizontalAccuracy = 999_999.9 }, isSet: { $0.horizontalAccuracy != nil }),
    Field(fill: { $0.verticalAccuracy = 999_999.9 }, isSet: { $0.verticalAccuracy != nil }),
    Field(fill: { $0.speedAccuracy = 9999.99 }, isSet: { $0.speedAccuracy != nil }),
    Field(fill: { $0.headingAccuracy = 999.9 }, isSet: { $0.headingAccuracy != nil }),
  ]

  /// The size of a position without optional values.
  private var bareSize = 0
  /// The size of each of ``fields``.
  private var fieldSizes: [Int] = []

  /// - Parameter measure: returns the size of an update's body in bytes.
  init(_ measure: (PositionUpdate) -> Int) {
    // Both numbers are valid.
    guard let coordinate = Coordinate(latitude: -89.123_456_7, longitude: -179.123_456_7) else { return }
    let location = VehicleLocation(coordinate: coordinate, time: Timestamp(milliseconds: 1_795_249_800_250))
    func size(_ past: VehicleLocation) -> Int {
      measure(PositionUpdate(live: location, past: [past, past]))
        - measure(PositionUpdate(live: location, past: [past]))
    }
    bareSize = size(location)
    fieldSizes = PastPositionSizes.fields.map { field in
      var past = location
      field.fill(&past)
      return size(past) - bareSize
    }
  }

  /// Upper bound of the bytes that a past position adds.
  package func size(of location: VehicleLocation) -> Int {
    zip(PastPositionSizes.fields, fieldSizes).reduce(bareSize) { sum, entry in
      sum + (entry.0.isSet(location) ? entry.1 : 0)
    }
  }
}
