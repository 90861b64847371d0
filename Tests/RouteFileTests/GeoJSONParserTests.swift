// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import SimulatedDrives
import Testing
import Timekeeping

@testable import RouteFile

struct GeoJSONParserTests {
  private func parse(_ text: String) throws(RouteFileError) -> Route {
    try GeoJSONParser.parse(Array(text.utf8), file: "r.geojson")
  }

  private func problem(_ text: String) -> RouteFileError? {
    do {
      _ = try parse(text)
      return nil
    } catch {
      return error
    }
  }

  private static let line = #"{"type":"LineString","coordinates":[[9.5,54,12.5],[-10,55.5],[180,-90,null,7]]}"#

  @Test(
    "a line is read alone, in a feature and in a collection",
    arguments: [
      line, "\u{FEFF}" + line, #"{"type":"Feature","properties":null,"geometry":\#(line)}"#,
      #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null},{"type":"Feature","properties":{"name":7,"x":[1]},"geometry":\#(line),"bbox":[1]}]}"#,
      #"{"type":"GeometryCollection","geometries":[{"type":"Polygon","coordinates":[[[1,2]]]},\#(line)]}"#,
      #"{"type":"MultiLineString","coordinates":[[[9.5,54,12.5],[-10,55.5]],[],[[180,-90]]]}"#,
    ])
  func shapes(_ text: String) throws {
    let route = try parse(text)
    expectEqual(route.points.map(\.coordinate.longitude), [9.5, -10, 180])
    expectEqual(route.points.map(\.coordinate.latitude), [54, 55.5, -90])
    expectEqual(route.points.map(\.elevation), [12.5, nil, nil])
  }

  @Test("names, stops, surroundings and times are read from properties")
  func properties() throws {
    let route = try parse(
      """
      {"type":"FeatureCollection","features":[
        {"type":"Feature","properties":{"type":"tunnel","coordTimes":["2026-11-21T08:00:00Z","2026-11-21T08:00:09Z"]},
         "geometry":{"type":"LineString","coordinates":[[1,1],[2,2]]}},
        {"type":"Feature","properties":{"coordinateProperties":{"times":["2026-11-21T08:01:00Z","later"]}},
         "geometry":{"type":"LineString","coordinates":[[3,3],[4,4]]}},
        {"type":"Feature","properties":{"name":"Depot\\n","dwell":90},"geometry":{"type":"Point","coordinates":[1,1]}},
        {"type":"Feature","properties":{"type":"stop"},"geometry":{"type":"Point","coordinates":[2,2]}},
        {"type":"Feature","properties":{"dwell":-1},"geometry":{"type":"Point","coordinates":[3,3]}}
      ]}
      """)
    expectEqual(route.points.map(\.surroundings), [.tunnel, .open, .open, .open])
    expectEqual(
      route.points.map(\.time),
      [
        Timestamp(rfc3339: "2026-11-21T08:00:00Z"), Timestamp(rfc3339: "2026-11-21T08:00:09Z"),
        Timestamp(rfc3339: "2026-11-21T08:01:00Z"), nil,
      ])
    expectEqual(route.waypoints.map(\.name), ["Depot", ""])
    expectEqual(route.waypoints.map(\.dwell), [.seconds(90), .seconds(60)])
  }

  @Test(
    "a mistake is reported with its location and what is expected",
    arguments: [
      ("[1]", "a GeoJSON object with a \"type\" is expected"), ("{\"type\":1}", "a GeoJSON object with a \"type\""),
      (#"{"type":"Topology"}"#, "has the type \"Topology\""),
      (#"{"type":"LineString"}"#, "an array \"coordinates\" is expected"),
      (#"{"type":"LineString","coordinates":[[1,2]]}"#, "no line of two points"),
      (
        #"{"type":"LineString","coordinates":[[1,2],[1,91]]}"#,
        "coordinates[1]: a longitude from -180 to 180 and then a latitude"
      ),
      (#"{"type":"LineString","coordinates":[[1,2],["a",1]]}"#, "coordinates[1]: a longitude"),
      (#"{"type":"LineString","coordinates":[[1,2],[1]]}"#, "coordinates[1]: a longitude"),
      (#"{"type":"LineString","coordinates":[[1,2],3]}"#, "position 1: an array [longitude, latitude] is expected"),
      (
        #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"LineString","coordinates":[[200,2]]}}]}"#,
        "features[0].geometry.coordinates[0]: a longitude"
      ),
      (#"{"type":"FeatureCollection","features":[[]]}"#, "features[0]: a GeoJSON object"),
      (#"{"type":"FeatureCollection"}"#, "an array \"features\" is expected"),
    ])
  func mistakes(_ text: String, _ message: String) {
    let problem = problem(text)
    expectEqual(problem?.message.hasPrefix("r.geojson: "), true)
    expectEqual(problem?.message.contains(message), true, "\(String(describing: problem))")
  }

  @Test(
    "invalid JSON is reported with line and column",
    arguments: [
      ("", "1:1"), ("{", "1:2"), ("{\n  \"type\": Point\n}", "2:11"),
      (#"{"type":"Point","coordinates":[1e999,2]}"#, "1:32"), ("{}\n\n x", "3:2"),
    ])
  func notJSON(_ text: String, _ position: String) {
    expectEqual(
      problem(text)?.message,
      "r.geojson:\(position): is not valid JSON; GeoJSON in UTF-8, with finite numbers, is expected")
    expectEqual(problem(text)?.code, .malformed)
  }

  @Test("deep nesting is rejected")
  func nesting() {
    let deep = String(repeating: #"{"type":"GeometryCollection","geometries":["#, count: 20_000)
    expectEqual(problem(deep)?.code, .tooLarge)
    let closed =
      String(repeating: #"{"type":"GeometryCollection","geometries":["#, count: 400)
      + String(repeating: "]}", count: 400)
    expectEqual(problem(closed)?.code, .tooLarge)
  }

  @Test(
    "the format is detected from the content, otherwise from the file name",
    arguments: [
      (" \n{", "r.gpx", true), ("<gpx>", "r.json", false), ("\u{FEFF}{", "r", true), ("", "r.geojson", true),
      ("x", "r.gpx", false),
    ])
  func format(_ start: String, _ name: String, _ isJSON: Bool) {
    expectEqual(RouteFile.isJSON(Array(start.utf8)[...], path: name), isJSON)
  }

  @Test("more points than fit into the service's memory limit are rejected, and so are deeply nested arrays")
  func tooMany() {
    let positions = Array(repeating: "[1,1]", count: RouteFile.maximumPoints + 1).joined(separator: ",")
    expectEqual(problem(#"{"type":"LineString","coordinates":[\#(positions)]}"#)?.code, .tooLarge)
    expectEqual(problem(String(repeating: "[", count: 33) + String(repeating: "]", count: 33))?.code, .tooLarge)
  }
}
