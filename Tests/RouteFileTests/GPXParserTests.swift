// SPDX-License-Identifier: Apache-2.0
import Expectations
import Positioning
import Glibc
import SimulatedDrives
import Testing
import Timekeeping

@testable import RouteFile

struct GPXParserTests {
  /// Parses a text in chunks of at most this number of bytes.
  private func parse(_ text: String, chunkSize: Int = 1 << 20) throws -> Route {
    let parser = try GPXParser(file: "r.gpx")
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      try parser.parse(rest.prefix(chunkSize))
      rest = rest.dropFirst(chunkSize)
    }
    return try parser.finish()
  }

  private func problem(_ text: String) -> RouteFileError? {
    do {
      _ = try parse(text)
      return nil
    } catch {
      return error as? RouteFileError
    }
  }

  private let track = """
    <?xml version="1.0"?>
    <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">
      <wpt lat="1" lon="1"/><wpt lat="2" lon="2"/>
      <rte><rtept lat="3" lon="3"/><rtept lat="4" lon="4"/></rte>
      <trk><name>A &amp; B</name>
        <trkseg>
          <trkpt lat="50.5" lon="-7.25"><ele> 12.5 </ele><time>2026-11-21T08:00:00Z</time><extensions><ele>9</ele></extensions></trkpt>
          <trkpt lat="+50.6" lon="1e1"><ele>nan</ele><time>yesterday</time></trkpt>
        </trkseg>
        <trkseg><trkpt lon="180" lat="-90"></trkpt></trkseg>
      </trk>
    </gpx>
    """

  @Test(
    "a file's tracks take precedence over its routes and waypoints, and are read with elevation and time",
    arguments: [1, 7, 1000])
  func tracks(_ pieces: Int) throws {
    let route = try parse(track, chunkSize: pieces)
    expectEqual(route.points.map(\.coordinate.latitude), [50.5, 50.6, -90])
    expectEqual(route.points.map(\.coordinate.longitude), [-7.25, 10, 180])
    expectEqual(route.points.map(\.elevation), [12.5, nil, nil])
    expectEqual(route.points.map(\.time), [Timestamp(rfc3339: "2026-11-21T08:00:00Z"), nil, nil])
  }

  @Test("without a track the route is read, and without a route the waypoints")
  func fallbacks() throws {
    let waypoints = "<wpt lat=\"1\" lon=\"1\"/><wpt lat=\"2\" lon=\"2\"/>"
    let course = "<rte><rtept lat=\"3\" lon=\"3\"/><rtept lat=\"4\" lon=\"4\"/></rte>"
    try expectEqual(parse("<gpx>\(waypoints)</gpx>").points.map(\.coordinate.latitude), [1, 2])
    try expectEqual(parse("<gpx>\(waypoints)\(course)</gpx>").points.map(\.coordinate.latitude), [3, 4])
  }

  @Test("marks along the route are read: stops, names, tunnels and canyons")
  func marks() throws {
    let route = try parse(
      """
      <gpx>
        <wpt lat="1" lon="1"><name> Depot&#10;1 </name><type>stop</type></wpt>
        <wpt lat="2" lon="2"><extensions><x:stop xmlns:x="x"><x:dwell>90.5</x:dwell></x:stop></extensions></wpt>
        <wpt lat="3" lon="3"><dwell>90</dwell><type>canyon</type></wpt>
        <wpt lat="4" lon="4"><name>Gate</name><extensions><dwell>never</dwell></extensions></wpt>
        <trk><type>tunnel</type><trkseg>
          <trkpt lat="5" lon="5"/><trkpt lat="6" lon="6"><link href="x"><type>canyon</type></link><type>open</type></trkpt>
        </trkseg></trk>
        <trk><trkseg>
          <trkpt lat="7" lon="7"><type>Urban Canyon</type></trkpt><trkpt lat="8" lon="8"><type>walk</type></trkpt>
        </trkseg></trk>
      </gpx>
      """)
    expectEqual(route.points.map(\.surroundings), [.tunnel, .open, .canyon, .open])
    expectEqual(route.waypoints.map(\.name), ["Depot1", "", "Gate"])
    expectEqual(route.waypoints.map(\.dwell), [.seconds(60), .milliseconds(90_500), nil])
  }

  @Test("prefixed element names and UTF-16 are read")
  func dialects() throws {
    let text = "<g:gpx xmlns:g=\"x\"><g:wpt lat=\"1\" lon=\"1\"/><g:wpt lat=\"2\" lon=\"2\"/></g:gpx>"
    try expectEqual(parse(text).points.count, 2)
    let parser = try GPXParser(file: "r.gpx")
    var bytes: [UInt8] = [0xFF, 0xFE]
    for unit in text.utf16 { bytes += [UInt8(unit & 0xFF), UInt8(unit >> 8)] }
    try parser.parse(bytes[...])
    try expectEqual(parser.finish().points.count, 2)
  }

  @Test(
    "an invalid point is reported with its line and the expected values",
    arguments: [
      ("lat=\"91\" lon=\"0\"", "r.gpx:2:1: the point has lat=\"91\"; degrees from -90 to 90 are expected"),
      ("lat=\"0\" lon=\"-180.1\"", "r.gpx:2:1: the point has lon=\"-180.1\"; degrees from -180 to 180 are expected"),
      ("lat=\"nan\" lon=\"0\"", "the point has lat=\"nan\""), ("lat=\"0x1p3\" lon=\"0\"", "lat=\"0x1p3\""),
      ("lat=\"\" lon=\"0\"", "lat=\"\""), ("lat=\" \" lon=\"0\"", "lat=\" \""), ("lon=\"0\"", "the point has no lat"),
      ("lat=\"1,5\" lon=\"0\"", "lat=\"1,5\""), ("lat=\"1&#10;\u{FC}\" lon=\"0\"", "lat=\"1"),
      ("lat=\"1e999\" lon=\"0\"", "lat=\"1e999\""),
    ])
  func badPoints(_ attributes: String, _ part: String) {
    let error = problem("<gpx>\n<wpt \(attributes)/></gpx>")
    expectEqual(error?.code, .invalid)
    expectEqual(error?.message.contains(part), true, "\(error?.message ?? "")")
    expectEqual(error?.message.contains("\n"), false)
  }

  @Test(
    "a file that is not well-formed, not GPX, nested too deep or without two points is rejected with the reason",
    arguments: [
      ("", RouteFileError.Code.malformed, "no element found"), ("<gpx>", .malformed, "no element found"),
      ("<gpx></rte>", .malformed, "r.gpx:1:8: is not valid XML: mismatched tag"),
      ("lat,lon", .malformed, "not valid XML"),
      ("<kml/>", .invalid, "is XML, but not GPX: the first element is <kml>"), ("<gpx/>", .invalid, "has no track"),
      ("<gpx><wpt lat=\"1\" lon=\"1\"/></gpx>", .invalid, "two points or more"),
      ("<gpx>\u{0}</gpx>", .malformed, "not valid"),
      ("<gpx>&nbsp;</gpx>", .malformed, "undefined entity"),
      ("<gpx>" + String(repeating: "<a>", count: 100_000), .tooLarge, "nests elements too deep"),
    ])
  func refused(_ text: String, _ code: RouteFileError.Code, _ part: String) {
    let error = problem(text)
    expectEqual(error?.code, code)
    expectEqual(error?.message.contains(part), true, "\(error?.message ?? "")")
  }

  @Test("more track points, or waypoints, than fit into the service's memory limit are rejected")
  func tooMany() {
    func track(_ count: Int) -> String {
      "<gpx><trk><trkseg>" + String(repeating: "<trkpt lat=\"1\" lon=\"1\"/>", count: count) + "</trkseg></trk></gpx>"
    }
    expectNil(problem(track(RouteFile.maximumPoints)))
    expectEqual(problem(track(RouteFile.maximumPoints + 1))?.code, .tooLarge)
    let mark = "<wpt lat=\"1\" lon=\"1\"><name>a</name></wpt>"
    expectEqual(problem("<gpx>" + String(repeating: mark, count: RouteFile.maximumWaypoints + 1))?.code, .tooLarge)
  }

  @Test(
    "an unterminated tag, attribute, comment or processing instruction is rejected early",
    arguments: ["<gpx a=\"", "<", "<gpx><!--", "<gpx><?x "])
  func endless(start: String) throws {
    let parser = try GPXParser(file: "r.gpx")
    let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
    try parser.parse(Array(start.utf8)[...])
    var pieces = 0
    let error = #expect(throws: RouteFileError.self) {
      while pieces < 1000 {
        pieces += 1
        try parser.parse(piece[...])
      }
    }
    expect(error?.code == .tooLarge && pieces <= 6, "\(pieces) pieces")
  }

  @Test("a document type declaration is rejected before an entity can expand")
  func billionLaughs() {
    let text = """
      <?xml version="1.0"?>
      <!DOCTYPE gpx [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">]>
      <gpx>&c;</gpx>
      """
    let error = problem(text)
    expectEqual(error?.code, .malformed)
    expectEqual(error?.message.hasPrefix("r.gpx:2:"), true)
    expectEqual(error?.message.contains("DOCTYPE"), true)
  }

  @Test("after an error the parser repeats the error")
  func staysBroken() throws {
    let parser = try GPXParser(file: "r.gpx")
    let first = #expect(throws: RouteFileError.self) { try parser.parse(Array("<kml>".utf8)[...]) }
    let second = #expect(throws: RouteFileError.self) { try parser.parse(Array("<gpx></gpx>".utf8)[...]) }
    let last = #expect(throws: RouteFileError.self) { try parser.finish() }
    expect(first != nil && first?.message == second?.message && first?.message == last?.message)
  }
}

struct RouteFileTests {
  @Test("the demo route is a loop of a few kilometres, without a long gap")
  func demo() throws {
    let parts = #filePath.split(separator: "/").dropLast(3)
    let route = try RouteFile.load(path: "/" + parts.joined(separator: "/") + "/config/examples/demo.gpx")
    expect((30...60).contains(route.points.count))
    let places = route.points.map(\.coordinate)
    let steps = zip(places, places.dropFirst() + places.prefix(1)).map { $0.distance(to: $1) }
    expect(steps.allSatisfy { (1...250).contains($0) })
    expect((2000...5000).contains(steps.reduce(0, +)))
    expectEqual(route.waypoints.map(\.name), ["Bakery", "Post office"])
    expectEqual(Set(route.points.map(\.surroundings)), [.open, .tunnel, .canyon])
    var settings = SimulationSettings()
    settings.loops = true
    _ = try RouteSimulator(route: route, settings: settings)
  }

  @Test(
    "a file that cannot be read is reported with the reason",
    arguments: [
      ("/nonexistent/r.gpx", "does not exist"), ("/etc", "is a directory"), ("/dev/null", "is not a regular file"),
    ])
  func unreadable(_ path: String, _ part: String) throws {
    let error = try #require(throws: RouteFileError.self) { try RouteFile.load(path: path) }
    expectEqual(error.code, .unreadable)
    expect(error.message.hasPrefix("\(path): \(part)"))
  }
}
