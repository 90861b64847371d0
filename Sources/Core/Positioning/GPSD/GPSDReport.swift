// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import FoundationEssentials

/// One object of gpsd's JSON protocol (gpsd_json(5)), as far as it matters here. A member that is missing, or is not of the
/// type that it should be, is nil.
struct GPSDReport {
  /// What the `class` member says. Classes that say nothing about position are `other`.
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

  /// One receiver of gpsd's.
  struct Device: Equatable {
    /// As gpsd names it.
    var path: String
    /// The protocol that gpsd found it to speak, as in `NMEA0183`, `u-blox`.
    var driver: String?
  }

  let kind: Kind
  let release: String?
  let majorProtocol: Int?
  let minorProtocol: Int?
  let message: String?
  /// The receiver that the report is about, or is.
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
  /// Satellites used: the number where gpsd tells it (since 3.22), else counted.
  let satellites: Int?
  /// Satellites in view, used or not, told as above.
  let satellitesInView: Int?

  /// The line is nested deeper, or has more values, than any report.
  struct TooComplex: Error {}

  /// - Throws: `DecodingError` when it is not a JSON object with a `class`, or `TooComplex`.
  init(parsing line: [UInt8]) throws {
    guard JSONBounds.message.admits(line) else { throw TooComplex() }
    self = try JSONDecoder().decode(GPSDReport.self, from: Data(line))
  }
}

extension GPSDReport: Decodable {
  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
  }

  private struct Satellite: Decodable {
    let used: Bool?

    init(from decoder: any Decoder) throws {
      used = try? decoder.container(keyedBy: Key.self).decode(Bool.self, forKey: Key("used"))
    }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    // One bad member must not take the rest with it, so each is read for itself.
    func text(_ name: String) -> String? { try? members.decode(String.self, forKey: Key(name)) }
    func number(_ name: String) -> Double? { try? members.decode(Double.self, forKey: Key(name)) }
    func integer(_ name: String) -> Int? { number(name).flatMap { Int(exactly: $0) } }

    kind = Kind(rawValue: try members.decode(String.self, forKey: Key("class"))) ?? .other
    release = text("release")
    majorProtocol = integer("proto_major")
    minorProtocol = integer("proto_minor")
    message = text("message")
    // A DEVICE calls its receiver `path`; other reports call it `device`.
    let path = kind == .device ? text("path") : text("device")
    device = path.map { Device(path: $0, driver: text("driver")) }
    devices = ((try? members.decode([Device].self, forKey: Key("devices"))) ?? []).filter { !$0.path.isEmpty }
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
    let listed = try? members.decode([Satellite].self, forKey: Key("satellites"))
    satellitesInView = integer("nSat") ?? listed?.count
    satellites = integer("uSat") ?? listed.map { $0.count { $0.used == true } }
  }
}

extension GPSDReport.Device: Decodable {
  private enum CodingKeys: CodingKey { case path, driver }

  /// An element of DEVICES that has no path has an empty one.
  init(from decoder: any Decoder) throws {
    let members = try? decoder.container(keyedBy: CodingKeys.self)
    path = (try? members?.decode(String.self, forKey: .path)) ?? ""
    driver = try? members?.decode(String.self, forKey: .driver)
  }
}
