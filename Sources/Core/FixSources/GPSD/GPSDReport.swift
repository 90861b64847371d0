// SPDX-License-Identifier: Apache-2.0
import JSON

/// The members of an object of gpsd's JSON protocol (gpsd_json(5)) that are used here. A missing member, or one of the
/// wrong type, is nil.
struct GPSDReport {
  /// The `class` member. All classes that are not listed here are `other`.
  enum Kind: String {
    case version = "VERSION"
    case devices = "DEVICES"
    case device = "DEVICE"
    case watch = "WATCH"
    case sky = "SKY"
    case position = "TPV"
    case error = "ERROR"
    case other
  }

  /// One of gpsd's receivers.
  struct Device: Equatable {
    /// gpsd's name for it.
    var path: String
    /// The protocol that gpsd detected, as in `NMEA0183`, `u-blox`.
    var driver: String?
  }

  let kind: Kind
  let release: String?
  let majorProtocol: Int?
  let minorProtocol: Int?
  let message: String?
  /// The receiver that sent the report, or that the report is about.
  let device: Device?
  let devices: [Device]

  let mode: Int?
  let status: Int?
  let time: String?
  let latitude: Double?
  let longitude: Double?
  let altitude: Double?
  let altitudeMSL: Double?
  let altitudeHAE: Double?
  let geoidSeparation: Double?
  let track: Double?
  let speed: Double?
  let horizontalError: Double?
  let longitudeError: Double?
  let latitudeError: Double?
  let verticalError: Double?
  let speedError: Double?
  let trackError: Double?
  let hdop: Double?
  /// Satellites used: the number that gpsd reports (since 3.22), otherwise the number counted in its list.
  let satellitesUsed: Int?
  /// Satellites in view, used or not, as above.
  let satellitesInView: Int?

  /// The members that are used. A report on 50 satellites has several members for each of them.
  private static let names: Set = [
    "class", "release", "proto_major", "proto_minor", "message", "path", "device", "driver", "devices", "mode",
    "status", "time", "lat", "lon", "alt", "altMSL", "altHAE", "geoidSep", "track", "speed", "eph", "epx", "epy", "epv",
    "eps", "epd", "hdop", "satellites", "nSat", "uSat", "used",
  ]

  /// - Throws: if it is not a JSON object with a `class`.
  init(parsing line: [UInt8]) throws(Malformed) {
    guard let members = try? JSONValue(parsing: line, members: Self.names), let name = members["class"]?.string else {
      throw Malformed()
    }
    // Each member is read on its own, so that an invalid one does not affect the others.
    func text(_ name: String) -> String? { members[name]?.string }
    func number(_ name: String) -> Double? { members[name]?.double }
    func integer(_ name: String) -> Int? { number(name).flatMap { Int(exactly: $0) } }

    kind = Kind(rawValue: name) ?? .other
    release = text("release")
    majorProtocol = integer("proto_major")
    minorProtocol = integer("proto_minor")
    message = text("message")
    // In DEVICE the receiver is `path`; in other reports `device`.
    let path = kind == .device ? text("path") : text("device")
    device = path.map { Device(path: $0, driver: text("driver")) }
    devices = (members["devices"]?.array ?? []).compactMap { device in
      guard let path = device["path"]?.string, !path.isEmpty else { return nil }
      return Device(path: path, driver: device["driver"]?.string)
    }
    mode = integer("mode")
    status = integer("status")
    time = text("time")
    latitude = number("lat")
    longitude = number("lon")
    altitude = number("alt")
    altitudeMSL = number("altMSL")
    altitudeHAE = number("altHAE")
    geoidSeparation = number("geoidSep")
    track = number("track")
    speed = number("speed")
    horizontalError = number("eph")
    longitudeError = number("epx")
    latitudeError = number("epy")
    verticalError = number("epv")
    speedError = number("eps")
    trackError = number("epd")
    hdop = number("hdop")
    let listed = members["satellites"]?.array
    satellitesInView = integer("nSat") ?? listed?.count
    satellitesUsed = integer("uSat") ?? listed.map { $0.count { $0["used"]?.bool == true } }
  }

  /// The line is not a report.
  struct Malformed: Error {}
}
