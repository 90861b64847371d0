// SPDX-License-Identifier: Apache-2.0

/// Something that happened at the emulator, for the terminal and the live map.
package struct FleetEvent: Sendable {
  /// What happened.
  package enum Kind: Sendable {
    /// An update was stored: its live position, and its past positions.
    case accepted(ReportedPosition?, past: [ReportedPosition])
    /// An update was not stored.
    case refused(Refusal)
    /// A token was issued; milliseconds since 1970.
    case token(issued: Int64, expires: Int64)
    /// A token was requested and not issued.
    case tokenRefused(Refusal)
    /// The faults have changed: all that are active now.
    case faults([Fault])
    /// A fault without a duration.
    case fault
    case info
  }

  /// Why a request was rejected.
  package struct Refusal: Equatable, Sendable {
    /// HTTP status of the response; 0 if there was none.
    package var status: Int
    /// `ErrorInfo.reason`, or the fault of the response: `reset`, `drop`, `body html`.
    package var reason: String
    /// The message for people.
    package var message: String

    init(_ error: APIError) {
      (status, reason, message) = (error.httpStatus, error.reason, error.message)
    }

    init(_ fault: Fault, _ reply: Reply) {
      status = reply.silence == nil ? reply.status : 0
      if let silence = fault.silence {
        reason = silence.rawValue
        message = silence == .reset ? "The connection is reset." : "No response is sent."
      } else if let body = fault.body {
        (reason, message) = ("body \(body.rawValue)", "The body is not one of Fleet Engine.")
      } else {
        reason = fault.reason ?? APIError.Code(httpStatus: reply.status).rawValue
        message = fault.message ?? "A simulated fault."
      }
    }
  }

  /// When it happened.
  package var at: ServerTime
  /// `VehicleService.key` of the vehicle, or its ID for an event of both services; empty if the event concerns no
  /// vehicle or all of them.
  package var vehicle: String
  package var kind: Kind
  /// The vehicle's counters, including this event.
  package var statistics: VehicleStatistics
  /// Its line on the terminal, without the time; empty for none.
  package var text: String

  /// The line for a terminal.
  package var line: String { "\(RFC3339.timeOfDay(at.wall)) \(text)" }
}

/// A position that a vehicle reported.
package struct ReportedPosition: Equatable, Sendable {
  /// Milliseconds since 1970.
  package var time: Int64
  /// Degrees, WGS 84.
  package var latitude: Double
  /// Degrees, WGS 84.
  package var longitude: Double
  /// Metres per second.
  package var speed: Double?
  /// Degrees from north, clockwise.
  package var heading: Double?
  /// Radius, metres.
  package var accuracy: Double?

  /// Nil if the location has no valid coordinates.
  ///
  /// - Parameters:
  ///   - location: a `DeliveryVehicleLocation` or `VehicleLocation`.
  ///   - now: used if the location has no time; milliseconds since 1970.
  init?(_ location: JSON, at now: Int64) {
    let reported = ReportedLocation(location)
    guard let (latitude, longitude) = reported.coordinate, (-90...90).contains(latitude),
      (-180...180).contains(longitude)
    else { return nil }
    (self.latitude, self.longitude) = (latitude, longitude)
    time = reported.time ?? now
    accuracy = reported.accuracy
    speed = location["speed"]?.double
    heading = location["heading"]?.double
  }
}
