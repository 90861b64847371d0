// SPDX-License-Identifier: Apache-2.0
import Positioning
import SimulatedDrives
import Timekeeping

/// Collects the points of a GPX file during parsing.
struct GPXDocument {
  struct Problem: Equatable {
    let code: RouteFileError.Code
    let message: String
  }

  private static let maximumNesting = 64
  /// Maximum size of an elevation, a time or a name, in bytes.
  private static let maximumTextSize = 256

  /// The element paths of points, from the root, without prefixes.
  private static let trackPath = ["gpx", "trk", "trkseg", "trkpt"]
  private static let routePath = ["gpx", "rte", "rtept"]
  private static let waypointPath = ["gpx", "wpt"]

  private var path: [String] = []
  private var trackPoints: [Route.Point] = []
  private var routePoints: [Route.Point] = []
  private var waypoints: [Route.Point] = []
  /// Points of any kind that have a name or a dwell.
  private var marks: [Route.Waypoint] = []
  /// The point whose element is open, and its members.
  private var point: Route.Point?
  private var name = ""
  private var isStop = false
  private var dwell: Duration?
  /// The surroundings that apply to the whole open track or route.
  private var surroundings = Route.Surroundings.open
  private var textBytes: [UInt8] = []

  /// Tracks take precedence over routes, and routes over waypoints; nil if none of them has two points.
  var route: Route? {
    Route(points: trackPoints, waypoints: marks) ?? Route(points: routePoints, waypoints: marks)
      ?? Route(points: waypoints, waypoints: marks)
  }

  /// Whether the text of the open element is needed.
  var wantsText: Bool {
    guard let element = path.last else { return false }
    return element == "type" || (point != nil && ["ele", "time", "name", "dwell"].contains(element))
  }

  static func isPoint(_ name: String) -> Bool {
    ["trkpt", "rtept", "wpt"].contains(localName(name))
  }

  mutating func start(_ name: String, attributes: [(String, String)]) -> Problem? {
    path.append(String(Self.localName(name)))
    textBytes.removeAll(keepingCapacity: true)
    guard path.count <= Self.maximumNesting else {
      return Problem(code: .tooLarge, message: "nests elements too deep")
    }
    if path.count == 1, path.first != "gpx" {
      return Problem(
        code: .invalid, message: "is XML, but not GPX: the first element is <\(Self.truncated(name))>, not <gpx>")
    }
    if path == ["gpx", "trk"] || path == ["gpx", "rte"] { surroundings = .open }
    guard path == Self.trackPath || path == Self.routePath || path == Self.waypointPath else { return nil }
    guard trackPoints.count + routePoints.count + waypoints.count < RouteFile.maximumPoints else {
      return Problem(code: .tooLarge, message: "has more than \(RouteFile.maximumPoints) points")
    }
    let latitude: Double
    let longitude: Double
    switch (Self.degrees("lat", attributes, limit: 90), Self.degrees("lon", attributes, limit: 180)) {
    case (.failure(let problem), _), (_, .failure(let problem)): return problem
    case (.success(let first), .success(let second)): (latitude, longitude) = (first, second)
    }
    let surroundings = path == Self.waypointPath ? .open : surroundings
    point = Coordinate(latitude: latitude, longitude: longitude).map {
      Route.Point(coordinate: $0, surroundings: surroundings)
    }
    (self.name, isStop, dwell) = ("", false, nil)
    return nil
  }

  /// Text that would exceed the maximum size is dropped.
  mutating func text(_ bytes: [UInt8]) {
    guard textBytes.count + bytes.count <= Self.maximumTextSize else { return }
    textBytes += bytes
  }

  mutating func end() -> Problem? {
    defer {
      _ = path.popLast()
      textBytes.removeAll(keepingCapacity: true)
    }
    guard var openPoint = point else {
      if path == ["gpx", "trk", "type"] || path == ["gpx", "rte", "type"] {
        surroundings = RouteAttributes.surroundings(content) ?? .open
      }
      return nil
    }
    if path == Self.trackPath || path == Self.routePath || path == Self.waypointPath {
      if path == Self.trackPath { trackPoints.append(openPoint) }
      if path == Self.routePath { routePoints.append(openPoint) }
      if path == Self.waypointPath { waypoints.append(openPoint) }
      let stay = dwell ?? (isStop ? RouteAttributes.defaultDwell : nil)
      if stay != nil || !name.isEmpty {
        guard marks.count < RouteFile.maximumWaypoints else {
          return Problem(
            code: .tooLarge, message: "has more than \(RouteFile.maximumWaypoints) points with a name or a dwell")
        }
        marks.append(Route.Waypoint(name: name, coordinate: openPoint.coordinate, dwell: stay))
      }
      point = nil
      return nil
    }
    // The element may be at any depth inside extensions.
    if path.last == "dwell", path.contains("extensions") {
      dwell = Self.decimal(content).flatMap(RouteAttributes.dwell(seconds:)) ?? dwell
      return nil
    }
    let parent = path.dropLast()
    guard
      parent.elementsEqual(Self.trackPath) || parent.elementsEqual(Self.routePath)
        || parent.elementsEqual(Self.waypointPath)
    else { return nil }
    // All members are optional, and invalid values are ignored.
    switch path.last {
    case "ele": openPoint.elevation = Self.decimal(content)
    case "time": openPoint.time = Timestamp(rfc3339: content)
    case "name": name = RouteAttributes.name(content)
    case "type":
      openPoint.surroundings = RouteAttributes.surroundings(content) ?? openPoint.surroundings
      isStop = RouteAttributes.isStop(content)
    default: break
    }
    point = openPoint
    return nil
  }

  /// The text of the open element, trimmed.
  private var content: String { Self.trimmed(String(decoding: textBytes, as: UTF8.self)) }

  private enum DegreesResult {
    case success(Double)
    case failure(Problem)
  }

  private static func degrees(_ name: String, _ attributes: [(String, String)], limit: Double) -> DegreesResult {
    let allowed = "degrees from -\(Int(limit)) to \(Int(limit)) are expected"
    guard let text = attributes.first(where: { $0.0 == name })?.1 else {
      return .failure(Problem(code: .invalid, message: "the point has no \(name); \(allowed)"))
    }
    guard let number = decimal(text), (-limit...limit).contains(number) else {
      return .failure(Problem(code: .invalid, message: "the point has \(name)=\"\(truncated(text))\"; \(allowed)"))
    }
    return .success(number)
  }

  /// A decimal number that consists of digits, signs, a point and an exponent; nil for anything else.
  private static func decimal(_ text: String) -> Double? {
    let text = trimmed(text)
    guard text.utf8.count <= 64,
      text.utf8.allSatisfy({ (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }), let number = Double(text),
      number.isFinite
    else { return nil }
    return number
  }

  private static func trimmed(_ text: String) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    let bytes = Array(text.utf8).drop(while: isSpace)
    let kept = bytes.prefix((bytes.lastIndex { !isSpace($0) } ?? bytes.startIndex - 1) - bytes.startIndex + 1)
    return String(decoding: kept, as: UTF8.self)
  }

  /// The name without its prefix: some programs write `<gpx:trk>`.
  private static func localName(_ name: String) -> Substring {
    name.lastIndex(of: ":").map { name[name.index(after: $0)...] } ?? Substring(name)
  }

  /// The text, truncated for an error message.
  static func truncated(_ text: String) -> String {
    String(text.prefix(40).map { $0.isASCII && !$0.isNewline && ($0.asciiValue ?? 0) >= 0x20 ? $0 : "?" })
  }
}
