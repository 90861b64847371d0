// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Positioning
import Timekeeping

/// The lines and points of a GeoJSON text (RFC 7946), in the order of its objects.
struct GeoJSONDocument: Decodable {
  /// A problem of an object, and its path.
  struct Problem: Error {
    let code: RouteFileError.Code
    let path: String
    let message: String
  }

  private static let usable = "a LineString, a MultiLineString, or a Feature or FeatureCollection with one"

  private(set) var points: [Route.Point] = []
  private(set) var waypoints: [Route.Waypoint] = []

  private enum Key: String, CodingKey {
    case type, coordinates, geometry, geometries, features, properties
  }

  init(from decoder: any Decoder) throws {
    try self.init(from: decoder, properties: nil)
  }

  /// - Parameter properties: those of the Feature with this geometry.
  private init(from decoder: any Decoder, properties: GeoJSONProperties?) throws {
    guard let object = try? decoder.container(keyedBy: Key.self),
      let type = try? object.decode(String.self, forKey: .type)
    else {
      throw Self.problem(decoder.codingPath, "a GeoJSON object with a \"type\" is expected: \(Self.usable)")
    }
    switch type {
    case "FeatureCollection": try addAll(object, .features, properties)
    case "GeometryCollection": try addAll(object, .geometries, properties)
    case "Feature":
      // A feature without a geometry is null.
      guard object.contains(.geometry), try !object.decodeNil(forKey: .geometry) else { return }
      let properties = try? object.decodeIfPresent(GeoJSONProperties.self, forKey: .properties)
      self = try GeoJSONDocument(from: object.superDecoder(forKey: .geometry), properties: properties)
    case "LineString":
      addLine(try Self.line(Self.positions(object)), properties)
    case "MultiLineString":
      var lines = try Self.positions(object)
      while !lines.isAtEnd { addLine(try Self.line(lines.nestedUnkeyedContainer()), properties) }
    case "Point":
      var position = try Self.positions(object)
      addWaypoint(try Self.point(&position), properties)
    case "MultiPoint", "Polygon", "MultiPolygon":
      // Not drivable, but may accompany a line.
      return
    default:
      throw Self.problem(decoder.codingPath, "has the type \"\(GPXDocument.short(type))\"; \(Self.usable) is expected")
    }
    try checkCount(decoder.codingPath)
  }

  private mutating func addAll(
    _ object: KeyedDecodingContainer<Key>, _ key: Key, _ properties: GeoJSONProperties?
  ) throws {
    guard var members = try? object.nestedUnkeyedContainer(forKey: key) else {
      throw Self.problem(object.codingPath, "an array \"\(key.rawValue)\" is expected")
    }
    while !members.isAtEnd {
      let member = try GeoJSONDocument(from: members.superDecoder(), properties: properties)
      points += member.points
      waypoints += member.waypoints
      try checkCount(object.codingPath)
    }
  }

  private func checkCount(_ path: [any CodingKey]) throws {
    guard points.count + waypoints.count <= RouteFile.maximumPoints else {
      throw Problem(code: .tooLarge, path: Self.text(path), message: "has more than \(RouteFile.maximumPoints) points")
    }
    guard waypoints.count <= RouteFile.maximumWaypoints else {
      throw Problem(
        code: .tooLarge, path: Self.text(path),
        message: "has more than \(RouteFile.maximumWaypoints) points with a name or a dwell")
    }
  }

  private mutating func addLine(_ line: [Route.Point], _ properties: GeoJSONProperties?) {
    var line = line
    if let times = properties?.times, times.count == line.count {
      for (index, time) in times.enumerated() { line[index].time = Timestamp(rfc3339: time) }
    }
    if let surroundings = properties?.surroundings {
      // The gap between this line and the next has no surroundings.
      for index in line.indices.dropLast() { line[index].surroundings = surroundings }
    }
    points += line
  }

  private mutating func addWaypoint(_ point: Route.Point, _ properties: GeoJSONProperties?) {
    guard properties?.name != nil || properties?.dwell != nil else { return }
    waypoints.append(
      Route.Waypoint(name: properties?.name ?? "", coordinate: point.coordinate, dwell: properties?.dwell))
  }

  // MARK: - Coordinates

  private static func positions(_ object: KeyedDecodingContainer<Key>) throws -> any UnkeyedDecodingContainer {
    guard let positions = try? object.nestedUnkeyedContainer(forKey: .coordinates) else {
      throw problem(object.codingPath, "an array \"coordinates\" is expected")
    }
    return positions
  }

  private static func line(_ positions: any UnkeyedDecodingContainer) throws -> [Route.Point] {
    var positions = positions
    var line: [Route.Point] = []
    while !positions.isAtEnd {
      guard line.count < RouteFile.maximumPoints else {
        throw Problem(
          code: .tooLarge, path: text(positions.codingPath), message: "has more than \(RouteFile.maximumPoints) points")
      }
      guard var position = try? positions.nestedUnkeyedContainer() else {
        throw problem(positions.codingPath, "position \(line.count): an array [longitude, latitude] is expected")
      }
      line.append(try point(&position))
    }
    return line
  }

  /// Longitude, latitude and optionally the altitude. Further elements are ignored.
  private static func point(_ position: inout any UnkeyedDecodingContainer) throws -> Route.Point {
    guard let longitude = try? position.decode(Double.self), let latitude = try? position.decode(Double.self),
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    else {
      throw problem(
        position.codingPath,
        "a longitude from -180 to 180 and then a latitude from -90 to 90 are expected, in degrees")
    }
    let altitude = position.isAtEnd ? nil : try? position.decode(Double.self)
    return Route.Point(coordinate: coordinate, elevation: altitude.flatMap { $0.isFinite ? $0 : nil })
  }

  private static func problem(_ path: [any CodingKey], _ message: String) -> Problem {
    Problem(code: .invalid, path: text(path), message: message)
  }

  /// `features[2].geometry.coordinates[5]`
  private static func text(_ path: [any CodingKey]) -> String {
    var text = ""
    for key in path.prefix(12) {
      if let index = key.intValue {
        text += "[\(index)]"
      } else {
        text += text.isEmpty ? GPXDocument.short(key.stringValue) : ".\(GPXDocument.short(key.stringValue))"
      }
    }
    return text
  }
}

/// The properties of a Feature that affect a drive. Invalid ones are ignored.
struct GeoJSONProperties: Decodable {
  let name: String?
  let dwell: Duration?
  let surroundings: Route.Surroundings?
  /// One per position of the line, as written by converters from GPX.
  let times: [String]?

  private enum Key: String, CodingKey {
    case name, type, dwell, coordTimes, coordinateProperties, times
  }

  init(from decoder: any Decoder) throws {
    let object = try decoder.container(keyedBy: Key.self)
    name = (try? object.decode(String.self, forKey: .name)).map(RouteMark.name)
    let type = (try? object.decode(String.self, forKey: .type)) ?? ""
    surroundings = RouteMark.surroundings(type)
    let seconds = (try? object.decode(Double.self, forKey: .dwell)).flatMap(RouteMark.dwell(seconds:))
    dwell = seconds ?? (RouteMark.isStop(type) ? RouteMark.usualDwell : nil)
    let properties = try? object.nestedContainer(keyedBy: Key.self, forKey: .coordinateProperties)
    times =
      (try? object.decode([String].self, forKey: .coordTimes))
      ?? (try? properties?.decode([String].self, forKey: .times))
  }
}
