// SPDX-License-Identifier: Apache-2.0
import Expectations
import FleetEngine
import HTTPMessages
import JSON
import Positioning
import Testing
import Timekeeping

struct PositionUpdateTests {
  private static let stamp = Timestamp(milliseconds: 1_795_249_800_250)

  private func location(
    _ latitude: Double, _ longitude: Double, at stamp: Timestamp = stamp,
    _ change: (inout VehicleLocation) -> Void = { _ in }
  ) throws -> VehicleLocation {
    let coordinate = try #require(Coordinate(latitude: latitude, longitude: longitude))
    var location = VehicleLocation(coordinate: coordinate, time: stamp)
    change(&location)
    return location
  }

  private func body(
    _ update: PositionUpdate, _ field: PositionField = .supplemental, _ form: UpdateForm = .plain
  ) -> String {
    let endpoint = FleetEngineEndpoint(
      origin: "https://fleetengine.googleapis.com", vehicle: .truck, positionField: field)
    let request = endpoint.request(update, form, token: Secret("t"))
    return String(decoding: request.body, as: UTF8.self)
  }

  @Test("a position without optional values is encoded byte for byte as expected")
  func bare() throws {
    let text = try body(PositionUpdate(live: location(48.13743, 11.57549)))
    expectEqual(
      text,
      #"{"lastLocation":{"supplementalLocation":{"latitude":48.13743,"longitude":11.57549},"#
        + #""supplementalLocationSensor":"CUSTOMER_SUPPLIED_LOCATION","supplementalLocationTime":"2026-11-21T08:30:00.250Z"}}"#
    )
  }

  @Test(
    "a position with all values is encoded byte for byte as expected, with rounded numbers and no deprecated field"
  )
  func full() throws {
    let live = try location(-33.856_784_449_9, 151.215_296_550_1) {
      $0.altitude = 21.94
      $0.speed = 13.888_8
      $0.heading = 271.4
      $0.horizontalAccuracy = 3.26
      $0.verticalAccuracy = 5.04
      $0.speedAccuracy = 0.256
      $0.headingAccuracy = 1.25
    }
    let text = body(PositionUpdate(live: live, timeSinceUpdate: 50))
    expectEqual(
      text,
      #"{"lastLocation":{"heading":271,"headingAccuracy":1.3,"speed":13.89,"speedAccuracy":0.26,"#
        + #""supplementalLocation":{"latitude":-33.856784,"longitude":151.215297},"#
        + #""supplementalLocationSensor":"CUSTOMER_SUPPLIED_LOCATION","#
        + #""supplementalLocationTime":"2026-11-21T08:30:00.250Z","supplementalLocationAccuracy":3.3,"#
        + #""altitude":21.9,"altitudeAccuracy":5,"timeSinceUpdate":50}}"#)
  }

  @Test("a latitude or speed that is rounded to zero is written as 0, without a minus sign")
  func zero() throws {
    let text = try body(PositionUpdate(live: location(-0.000_000_01, 9.5) { $0.speed = -0.001 }))
    expect(text.contains(#""supplementalLocation":{"latitude":0,"longitude":9.5}"#))
    expect(text.contains(#""speed":0,"#))
  }

  @Test(
    "a heading is a whole number from 0 to 359",
    arguments: [(359.7, 0), (359.4, 359), (0.0, 0), (-0.4, 0), (-90, 270), (360, 0), (89.5, 90), (720.2, 0)])
  func heading(degrees: Double, sent: Int) throws {
    let text = try body(PositionUpdate(live: location(1, 1) { $0.heading = degrees }))
    expect(text.contains("\"heading\":\(sent),"))
  }

  @Test(
    "a heading that is not finite is omitted, and a huge one does not trap", arguments: [Double.nan, .infinity, 1e300])
  func noHeading(degrees: Double) throws {
    let text = try body(PositionUpdate(live: location(1, 1) { $0.heading = degrees }))
    expect(degrees == 1e300 || !text.contains("heading"))
  }

  @Test("random updates are valid JSON with every value of their positions")
  func random() throws {
    var random = SplitMix64(seed: 9)
    func close(_ value: JSONValue?, _ wanted: Double?, _ error: Double) -> Bool {
      let read: Double? =
        switch value {
        case .integer(let number): Double(number)
        case .number(let number): number
        default: nil
        }
      guard let read, let wanted else { return value == nil && wanted == nil }
      return abs(read - wanted) <= error * 1.000_001
    }
    func isRight(_ value: JSONValue?, _ location: VehicleLocation) -> Bool {
      let place = value?.value(at: "supplementalLocation")
      return close(place?.value(at: "latitude"), location.coordinate.latitude, 5e-7)
        && close(place?.value(at: "longitude"), location.coordinate.longitude, 5e-7)
        && close(value?.value(at: "altitude"), location.altitude, 0.05)
        && close(value?.value(at: "speed"), location.speed, 0.005)
        && close(value?.value(at: "heading"), location.heading, 0.5)
        && close(value?.value(at: "supplementalLocationAccuracy"), location.horizontalAccuracy, 0.05)
        && close(value?.value(at: "altitudeAccuracy"), location.verticalAccuracy, 0.05)
        && close(value?.value(at: "speedAccuracy"), location.speedAccuracy, 0.005)
        && close(value?.value(at: "headingAccuracy"), location.headingAccuracy, 0.05)
        && value?.value(at: "supplementalLocationTime")?.string.flatMap { Timestamp(rfc3339: $0) } == location.time
    }
    for _ in 0..<500 {
      func draw(_ range: ClosedRange<Double>) -> Double? {
        Bool.random(using: &random) ? Double.random(in: range, using: &random) : nil
      }
      let positions = try (0...Int.random(in: 0...3, using: &random)).map { _ in
        try location(
          Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random),
          at: Timestamp(milliseconds: Int64.random(in: 1_796_000_000_000...1_800_000_000_000, using: &random))
        ) {
          $0.altitude = draw(-400...9000)
          $0.speed = draw(0...150)
          $0.heading = draw(0...359.4)
          $0.horizontalAccuracy = draw(0...9999)
          $0.verticalAccuracy = draw(0...9999)
          $0.speedAccuracy = draw(0...99)
          $0.headingAccuracy = draw(0...180)
        }
      }
      let (live, past) = (positions[0], Array(positions.dropFirst()))
      let value = try JSONValue(parsing: [UInt8](body(PositionUpdate(live: live, timeSinceUpdate: 7, past: past)).utf8))
      expect(isRight(value.value(at: "lastLocation"), live))
      expectEqual(value.value(at: "lastLocation.timeSinceUpdate")?.integer, 7)
      let sent = value.value(at: "pastLocations")?.array ?? []
      expect(sent.count == past.count && zip(sent, past).allSatisfy(isRight))
    }
  }

  @Test("with position_field = location, the position is in the fields location and locationSensor, byte for byte")
  func locationField() throws {
    let live = try location(48.13743, 11.57549, at: Timestamp(seconds: 1_795_249_800)) { $0.horizontalAccuracy = 4 }
    let text = body(PositionUpdate(live: live), .location)
    expectEqual(
      text,
      #"{"lastLocation":{"location":{"latitude":48.13743,"longitude":11.57549},"locationSensor":"GPS","#
        + #""updateTime":"2026-11-21T08:30:00Z","latlngAccuracy":4}}"#)
  }

  @Test("past positions are sent in their order, and the update mask names `pastLocations`")
  func past() throws {
    let update = try PositionUpdate(
      live: location(3, 3),
      past: [location(1, 1, at: Timestamp(seconds: 100)), location(2, 2, at: Timestamp(seconds: 200))])
    let endpoint = FleetEngineEndpoint(
      origin: "https://e.test/",
      vehicle: FleetEngineVehicle(service: .deliveries, providerID: "my project", vehicleID: "LKW/1"))
    let request = endpoint.request(update, .plain, token: Secret("t"))
    expectEqual(
      request.url,
      "https://e.test/v1/providers/my%20project/deliveryVehicles/LKW%2F1?updateMask=lastLocation%2CpastLocations")
    let text = String(decoding: request.body, as: UTF8.self)
    expect(text.hasPrefix(#"{"lastLocation":{"supplementalLocation":{"latitude":3,"longitude":3}"#))
    expect(text.contains(#""pastLocations":[{"supplementalLocation":{"latitude":1,"longitude":1}"#))
    expect(
      text.contains(#""supplementalLocationTime":"1970-01-01T00:01:40Z"},{"supplementalLocation":{"latitude":2,"#))
  }

  @Test("the request is a PATCH with the token as a secret, a response mask and a deadline")
  func request() throws {
    let endpoint = FleetEngineEndpoint(
      origin: "https://e.test", vehicle: .truck, deadline: .seconds(7))
    let request = endpoint.request(PositionUpdate(live: try location(1, 1)), .plain, token: Secret("t"))
    expectEqual(request.method, .patch)
    expectEqual(request.url, "https://e.test/v1/providers/p/deliveryVehicles/v?updateMask=lastLocation")
    expectEqual(
      request.headers,
      [
        .init("Authorization", .secret(prefix: "Bearer ", Secret("t"))),
        .init("Content-Type", .plain("application/json")), .init("X-Goog-FieldMask", .plain("name")),
      ])
    expectEqual(request.deadline, .seconds(7))
    expectEqual(request.contentCoding, .identity)
  }

  @Test("a compact request omits fields with default values, is compressed, and requests an empty response")
  func compact() throws {
    let update = try PositionUpdate(
      live: location(3, 3) { $0.speed = 0 }, timeSinceUpdate: 7, past: [location(1, 1, at: Timestamp(seconds: 100))])
    let endpoint = FleetEngineEndpoint(origin: "https://e.test", vehicle: .truck)
    let (plain, compact) = (
      endpoint.request(update, .plain, token: Secret("t")), endpoint.request(update, .compact, token: Secret("t"))
    )
    expectEqual(compact.url, plain.url + "&prettyPrint=false")
    expectEqual(compact.contentCoding, .gzip)
    expectEqual(compact.headers.last, .init("X-Goog-FieldMask", .plain("navigationStatus")))
    expectEqual(compact.headers.dropLast(), plain.headers.dropLast())
    let sensor = #""supplementalLocationSensor":"CUSTOMER_SUPPLIED_LOCATION","#
    var expected = String(decoding: plain.body, as: UTF8.self)
    for _ in 0..<2 { expected.replaceSubrange(try #require(expected.firstRange(of: sensor)), with: "") }
    expectEqual(String(decoding: compact.body, as: UTF8.self), expected)
    // The default of `locationSensor` is a different value, so the field is not omitted.
    expectEqual(body(update, .location, .compact), body(update, .location, .plain))
  }

  @Test("a rejection that may be due to the compact form is distinguished from other failures")
  func refusals() {
    func failure(_ status: Int, _ body: String, _ headers: [(name: String, value: String)] = []) -> UpdateFailure? {
      let outcome = UpdateOutcome(
        .response(HTTPResponse(status: status, headers: headers, body: Array(body.utf8))), from: .deliveries)
      return if case .failed(let failure) = outcome { failure } else { nil }
    }
    let (error, page) = (#"{"error":{"message":"no"}}"#, "<html>no</html>")
    for status in [400, 403, 406, 413, 415, 500, 501, 502] {
      expectEqual(failure(status, error)?.mayBeDueToForm, true, "\(status)")
      // A captive portal or a firewall answers 403 with a page.
      expectEqual(failure(status, page)?.mayBeDueToForm, (status != 403), "\(status)")
      expectEqual(failure(status, page)?.isAboutRequest, true, "\(status)")
      // A rejection with `Retry-After` has a cause other than the form.
      let wait = failure(status, error, [("Retry-After", "30")])
      expect(wait?.mayBeDueToForm == false && wait?.isAboutRequest == true, "\(status)")
    }
    for status in [200, 302, 401, 404, 408, 409, 429, 503, 504, 511] {
      expectEqual(failure(status, error)?.mayBeDueToForm, false, "\(status)")
      expectEqual(failure(status, page)?.mayBeDueToForm, false, "\(status)")
    }
    for status in [401, 429, 503] { expectEqual(failure(status, error)?.isAboutRequest, false, "\(status)") }
  }

  @Test(
    "the estimated size of a past position is never too low, and on average less than a tenth too high",
    arguments: [PositionField.supplemental, .location])
  func size(field: PositionField) throws {
    let endpoint = FleetEngineEndpoint(origin: "https://e.test", vehicle: .truck, positionField: field)
    var random = SplitMix64(seed: 5)
    var (estimated, actual) = (0, 0)
    let sizes = endpoint.pastPositionSizes()
    for _ in 0..<300 {
      func draw(_ range: ClosedRange<Double>) -> Double? {
        Bool.random(using: &random) ? Double.random(in: range, using: &random) : nil
      }
      let stamp = Timestamp(milliseconds: Int64.random(in: 1_796_000_000_000...1_800_000_000_000, using: &random))
      let past = try location(
        Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random), at: stamp
      ) {
        $0.altitude = draw(-400...9000)
        $0.speed = draw(0...150)
        $0.heading = draw(0...359.4)
        $0.horizontalAccuracy = draw(0...9999)
        $0.verticalAccuracy = draw(0...9999)
        $0.speedAccuracy = draw(0...99)
        $0.headingAccuracy = draw(0...180)
      }
      let live = try location(48, 11)
      let one = body(PositionUpdate(live: live, past: [past]), field).utf8.count
      let two = body(PositionUpdate(live: live, past: [past, past]), field).utf8.count
      expect(two - one <= sizes.size(of: past))
      estimated += sizes.size(of: past)
      actual += two - one
    }
    print("a past position: \(actual / 300) bytes, estimated \(estimated / 300)")
    expect(Double(estimated) < Double(actual) * 1.1)
  }
}

extension FleetEngineVehicle {
  fileprivate static let truck = FleetEngineVehicle(service: .deliveries, providerID: "p", vehicleID: "v")
}
