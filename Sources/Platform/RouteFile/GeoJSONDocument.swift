// SPDX-License-Identifier: Apache-2.0
import JSON
import Positioning
import SimulatedDrives
import Timekeeping

/// The lines and points of a GeoJSON text (RFC 7946), in the order of its objects.
struct GeoJSONDocument {
  /// A problem of a value, and its path.
  struct Problem: Error {
    var code = RouteFileError.Code.invalid
    /// The path, as in `features[2].geometry.coordinates[5]`; empty for the document itself.
    var path = ""
    let message: String

    /// The same problem, with its path extended by the object's member or the array's element that contains it.
    func within(_ part: String) -> Problem {
      Problem(code: code, path: path.isEmpty || path.hasPrefix("[") ? part + path : "\(part).\(path)", message: message)
    }
  }

  private static let usableTypes = "a LineString, a MultiLineString, or a Feature or FeatureCollection with one"

  private(set) var points: [Route.Point] = []
  private(set) var waypoints: [Route.Waypoint] = []

  /// - Parameter properties: the properties of the Feature that has this geometry.
  init(_ value: JSONValue, properties: GeoJSONProperties? = nil) throws(Problem) {
    guard let object = value.object, let type = object["type"]?.string else {
      throw Problem(message: "a GeoJSON object with a \"type\" is expected: \(Self.usableTypes)")
    }
    switch type {
    case "FeatureCollection": try addAll(object, "features", properties)
    case "GeometryCollection": try addAll(object, "geometries", properties)
    case "Feature":
      // The geometry of a Feature may be null.
      guard let geometry = value.value(at: "geometry") else { return }
      let properties = object["properties"]?.object.map(GeoJSONProperties.init)
      self = try Self.within("geometry") { () throws(Problem) in
        try GeoJSONDocument(geometry, properties: properties)
      }
    case "LineString":
      let positions = try Self.positions(object)
      addLine(try Self.within("coordinates") { () throws(Problem) in try Self.line(positions) }, properties)
    case "MultiLineString":
      for (index, line) in try Self.positions(object).enumerated() {
        let line = try Self.within("coordinates[\(index)]") { () throws(Problem) in
          guard let positions = line.array else { throw Problem(message: "an array of positions is expected") }
          return try Self.line(positions)
        }
        addLine(line, properties)
      }
    case "Point":
      let position = try Self.positions(object)
      addWaypoint(try Self.within("coordinates") { () throws(Problem) in try Self.point(position) }, properties)
    case "MultiPoint", "Polygon", "MultiPolygon":
      // These cannot be driven, but may accompany a line.
      return
    default:
      throw Problem(message: "has the type \"\(GPXDocument.truncated(type))\"; \(Self.usableTypes) is expected")
    }
    try checkCount()
  }

  private static func within<Value>(
    _ part: String, _ read: () throws(Problem) -> Value
  ) throws(Problem) -> Value {
    do throws(Problem) { return try read() } catch { throw error.within(part) }
  }

  private mutating func addAll(
    _ object: [String: JSONValue], _ key: String, _ properties: GeoJSONProperties?
  ) throws(Problem) {
    guard let members = object[key]?.array else { throw Problem(message: "an array \"\(key)\" is expected") }
    for (index, member) in members.enumerated() {
      let document = try Self.within("\(key)[\(index)]") { () throws(Problem) in
        try GeoJSONDocument(member, properties: properties)
      }
      points += document.points
      waypoints += document.waypoints
      try checkCount()
    }
  }

  private func checkCount() throws(Problem) {
    guard points.count + waypoints.count <= RouteFile.maximumPoints else { throw Self.tooManyPoints }
    guard waypoints.count <= RouteFile.maximumWaypoints else {
      throw Problem(
        code: .tooLarge, message: "has more than \(RouteFile.maximumWaypoints) points with a name or a dwell")
    }
  }

  private static var tooManyPoints: Problem {
    Problem(code: .tooLarge, message: "has more than \(RouteFile.maximumPoints) points")
  }

  private mutating func addLine(_ line: [Route.Point], _ properties: GeoJSONProperties?) {
    var line = line
    if let times = properties?.times, times.count == line.count {
      for (index, time) in times.enumerated() { line[index].time = Timestamp(rfc3339: time) }
    }
    if let surroundings = properties?.surroundings {
      // The gap between this line and the next is in the open.
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

  private static func positions(_ object: [String: JSONValue]) throws(Problem) -> [JSONValue] {
    guard let positions = object["coordinates"]?.array else {
      throw Problem(message: "an array \"coordinates\" is expected")
    }
    return positions
  }

  private static func line(_ positions: [JSONValue]) throws(Problem) -> [Route.Point] {
    guard positions.count <= RouteFile.maximumPoints else { throw tooManyPoints }
    var line: [Route.Point] = []
    line.reserveCapacity(positions.count)
    for (index, position) in positions.enumerated() {
      guard let numbers = position.array else {
        throw Problem(message: "position \(index): an array [longitude, latitude] is expected")
      }
      do throws(Problem) { line.append(try point(numbers)) } catch { throw error.within("[\(index)]") }
    }
    return line
  }

  /// A position has longitude, latitude and optionally altitude. Further elements are ignored.
  private static func point(_ position: [JSONValue]) throws(Problem) -> Route.Point {
    guard position.count >= 2, let longitude = position[0].double, let latitude = position[1].double,
      let coordinate = Coordinate(latitude: latitude, longitude: longitude)
    else {
      throw Problem(
        message: "a longitude from -180 to 180 and then a latitude from -90 to 90 are expected, in degrees")
    }
    return Route.Point(coordinate: coordinate, elevation: position.dropFirst(2).first?.double)
  }
}

/// The properties of a Feature that affect a drive. Invalid properties are ignored.
struct GeoJSONProperties {
  let name: String?
  let dwell: Duration?
  let surroundings: Route.Surroundings?
  /// One time for each position of the line, as written by converters from GPX.
  let times: [String]?

  init(_ members: [String: JSONValue]) {
    name = members["name"]?.string.map(RouteAttributes.name)
    let type = members["type"]?.string ?? ""
    surroundings = RouteAttributes.surroundings(type)
    let seconds = members["dwell"]?.double.flatMap(RouteAttributes.dwell(seconds:))
    dwell = seconds ?? (RouteAttributes.isStop(type) ? RouteAttributes.defaultDwell : nil)
    times =
      Self.texts(members["coordTimes"]) ?? Self.texts(members["coordinateProperties"]?["times"])
  }

  /// The elements of an array of strings; nil for any other value.
  private static func texts(_ value: JSONValue?) -> [String]? {
    guard let elements = value?.array else { return nil }
    let texts = elements.compactMap(\.string)
    return texts.count == elements.count ? texts : nil
  }
}
