// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct TripsServiceTests {
  @Test("a position with a state is stored, returned in v1 format and logged in one line with its state")
  func accepted() throws {
    let bench = try FleetBench()
    let reply = try bench.trip("ONLINE")
    expectEqual(reply.status, 200)
    let vehicle = try bench.json(reply)
    expectEqual(vehicle["name"]?.string, "providers/p/vehicles/taxi-1")
    expectEqual(vehicle["vehicleState"]?.string, "ONLINE")
    expectEqual(vehicle["lastLocation"]?["serverTime"]?.string, "2026-11-21T09:00:00.000Z")
    expectEqual(bench.lines.last, "09:00:00.000 taxi-1  48.0000000,11.0000000  fix 0.0 s old  ONLINE")
    let stored = bench.send(
      "GET", "/v1/providers/p/vehicles/taxi-1", headers: [("Authorization", "Bearer \(try bench.driverToken())")])
    try expectEqual(bench.json(stored), vehicle)
  }

  @Test("an update with only OFFLINE changes the state and keeps the position")
  func offline() throws {
    let bench = try FleetBench()
    _ = try bench.trip("ONLINE")
    bench.now = bench.now.advanced(by: 400)
    let reply = try bench.trip("OFFLINE", position: nil)
    expectEqual(reply.status, 200)
    let vehicle = try bench.json(reply)
    expectEqual(vehicle["vehicleState"]?.string, "OFFLINE")
    expectEqual(vehicle["lastLocation"]?["location"]?.text, #"{"latitude":48,"longitude":11}"#)
    expectEqual(bench.lines.last, "09:00:00.400 taxi-1  OFFLINE")
    _ = try bench.trip("OFFLINE", position: nil)
    expectEqual(bench.service.warningCount, 0, "a state is not too soon")
    // Hours later the vehicle is on duty again.
    bench.now = bench.now.advanced(by: 7_200_000)
    try expectEqual(bench.trip("ONLINE").status, 200)
    expectEqual(bench.service.warningCount, 0, "a vehicle off duty is not too late")
    let figures = try bench.figures("trips/taxi-1")
    expect(figures?["state"]?.string == "ONLINE" && figures?["accepted"]?.integer == 4)
    // From one position to the next, whatever the state was in between.
    expect(figures?["minimum_gap_ms"]?.integer == 7_200_400 && figures?["maximum_gap_ms"]?.integer == 400)
  }

  @Test("positions must be 5 s apart, whatever changes of the state are between them")
  func interval() throws {
    let bench = try FleetBench()
    _ = try bench.trip("ONLINE")
    bench.now = bench.now.advanced(by: 3500)
    _ = try bench.trip("OFFLINE", position: nil)
    bench.now = bench.now.advanced(by: 1500)
    _ = try bench.trip("ONLINE")
    expectEqual(bench.service.warningCount, 0)
    bench.now = bench.now.advanced(by: 200)
    _ = try bench.trip("OFFLINE")
    expectEqual(bench.lines.last?.hasSuffix("! 0.2 s after the last position; the minimum is 5 s"), true)
    try expectEqual(bench.figures("trips/taxi-1")?["minimum_gap_ms"]?.integer, 200)
  }

  @Test("a position of an OFFLINE vehicle is accepted, because OFFLINE only prevents new trips")
  func positionOffDuty() throws {
    let bench = try FleetBench()
    _ = try bench.trip("OFFLINE", position: nil)
    bench.now = bench.now.advanced(by: 5000)
    try expectEqual(bench.trip(nil).status, 200)
    try expectEqual(bench.figures("trips/taxi-1")?["state"]?.string, "OFFLINE")
    expectEqual(bench.lines.last?.hasSuffix("fix 0.0 s old"), true, "the mask has no state")
  }

  @Test("an update with vehicleState in its mask but not in its body makes the state unknown, and causes a warning")
  func noState() throws {
    let bench = try FleetBench()
    _ = try bench.trip("ONLINE")
    bench.now = bench.now.advanced(by: 6000)
    let reply = try bench.trip(nil, mask: "vehicleState,lastLocation")
    expectEqual(reply.status, 200)
    let vehicle = try bench.json(reply)
    expectNil(vehicle["vehicleState"])
    expectEqual(bench.lines.last?.contains("! vehicleState is in the mask and not in the body"), true)
    try expectEqual(bench.figures("trips/taxi-1")?["warnings"]?["noState"]?.integer, 1)
  }

  @Test("past locations are counted and never returned")
  func past() throws {
    let bench = try FleetBench()
    let reply = try bench.trip("ONLINE", past: 2)
    let vehicle = try bench.json(reply)
    expect(reply.status == 200 && vehicle["pastLocations"] == nil)
    try expectEqual(bench.figures("trips/taxi-1")?["past_locations"]?.integer, 2)
    expectEqual(bench.lines.last?.contains("+2 past"), true)
  }

  @Test(
    "fields that the server manages cannot be updated",
    arguments: ["availableCapacity", "currentRouteSegmentVersion", "currentTrips", "name", "waypointsVersion"])
  func managed(_ field: String) throws {
    let bench = try FleetBench()
    let mask = try bench.trip("ONLINE", mask: "vehicleState,lastLocation,\(field)")
    try expectEqual(bench.status(mask), "INVALID_ARGUMENT")
    let value = field.hasSuffix("Version") ? #""2026-11-21T09:00:00Z""# : field == "currentTrips" ? #"["t"]"# : #""x""#
    let body = try bench.putTrip(mask: "vehicleState", body: #"{"vehicleState":"ONLINE","\#(field)":\#(value)}"#)
    try expectEqual(bench.status(body), "INVALID_ARGUMENT")
    expectEqual(bench.service.acceptedCount, 0)
  }

  @Test(
    "a body that is not a valid vehicle of v1 is rejected",
    arguments: [
      #"{"vehicleState":"PAUSED"}"#, #"{"vehicleState":3}"#, #"{"vehicle_state":"ONLINE"}"#, #"{"vehicleState":true}"#,
      #"{"type":"AUTO"}"#, #"{"vehicleState":"ONLINE","maximumCapacity":0}"#,
      #"{"vehicleState":"ONLINE","name":"providers/p/vehicles/other"}"#,
      #"{"vehicleState":"ONLINE","remainingDuration":"3s"}"#,
    ])
  func invalid(_ body: String) throws {
    let bench = try FleetBench()
    try expectEqual(bench.status(try bench.putTrip(mask: "vehicleState", body: body)), "INVALID_ARGUMENT")
  }

  @Test("further fields of v1 are accepted, and a state may be given as a number")
  func furtherFields() throws {
    let bench = try FleetBench()
    let body =
      #"{"vehicleState":2,"supportedTripTypes":["EXCLUSIVE",1],"vehicleType":{"category":"TAXI"},"#
      + #""waypoints":[{"location":{"point":{"latitude":1,"longitude":2}},"waypointType":"PICKUP_WAYPOINT_TYPE"}],"#
      + #""licensePlate":{"countryCode":"DE","lastCharacter":"4"},"deviceSettings":{"isInteractive":true},"#
      + #""currentRouteSegment":"text","navigationStatus":"OFF_ROUTE"}"#
    let fields =
      "vehicleState,supportedTripTypes,vehicleType,waypoints,licensePlate,deviceSettings,currentRouteSegment"
      + ",navigationStatus,lastLocation.supplementalLocation"
    let reply = try bench.putTrip(mask: fields, body: body)
    expectEqual(reply.status, 200, "\(reply.text)")
    let vehicle = try bench.json(reply)
    expect(vehicle["vehicleState"]?.string == "ONLINE" && vehicle["deviceSettings"] == nil)
  }

  @Test("each service accepts only tokens with its own claim, whatever vehicle they name")
  func claims() throws {
    let bench = try FleetBench()
    let delivery = try bench.token("taxi-1")
    let refused = try bench.putTrip(mask: "vehicleState", body: #"{"vehicleState":"ONLINE"}"#, token: delivery)
    expectEqual(refused.status, 403)
    let error = try bench.json(refused)["error"]
    expectEqual(error?["status"]?.string, "PERMISSION_DENIED")
    expectEqual(error?["message"]?.string, "The token does not allow access to this vehicle.")
    expectEqual(bench.update("taxi-1?updateMask=lastLocation", token: try bench.driverToken()).status, 403)
    try bench.fault(#"{"target":"token","token":"wrong-service"}"#)
    expectEqual(bench.update("taxi-1?updateMask=lastLocation", token: try bench.driverToken()).status, 200)
  }

  @Test("an ID that exists in both services stands for two vehicles, with separate statistics")
  func sameIDInBothServices() throws {
    let bench = try FleetBench()
    _ = try bench.trip("ONLINE")
    expectEqual(bench.update("taxi-1?updateMask=lastLocation", token: try bench.token("taxi-1")).status, 200)
    expectEqual(bench.service.warningCount, 0, "the interval between updates of two vehicles does not matter")
    for key in ["taxi-1", "trips/taxi-1"] {
      let figures = try bench.figures(key)
      expect(figures?["accepted"]?.integer == 1 && figures?["tokens"]?.integer == 1)
    }
    expectNil(try bench.figures("taxi-1")?["state"])
  }

  @Test("a fault or a map command for a vehicle ID also applies to the vehicle with this ID in the trips service")
  func faults() throws {
    let bench = try FleetBench()
    let token = try bench.driverToken()
    try bench.fault(#"{"target":"update","vehicle":"taxi-1","status":503}"#)
    try expectEqual(bench.trip("ONLINE", token: token).status, 503)
    try bench.service.perform(try MapCommand(["act": "revoke", "vehicle": "taxi-1"]), at: bench.now)
    try expectEqual(bench.trip("ONLINE", token: token).status, 401)
    #expect(throws: APIError.self) {
      try bench.service.perform(try MapCommand(["act": "tunnel", "vehicle": "taxi-2"]), at: bench.now)
    }
  }

  @Test("a vehicle is created only with the four fields that Google requires, and ignored fields are dropped")
  func creation() throws {
    let bench = try FleetBench { $0.createsVehicles = false }
    try expectEqual(bench.trip("ONLINE").status, 404)
    func create(_ body: String) throws -> Reply {
      bench.send(
        "POST", "/v1/providers/p/vehicles?vehicleId=taxi-1",
        headers: [("Authorization", "Bearer \(try bench.driverToken())"), ("Content-Type", "application/json")],
        body: body)
    }
    let required =
      #""vehicleState":"OFFLINE","supportedTripTypes":["EXCLUSIVE"],"maximumCapacity":4,"vehicleType":{"category":"AUTO"}"#
    try expectEqual(create("{}").status, 400)
    try expectEqual(create(#"{"vehicleState":"OFFLINE","maximumCapacity":4}"#).status, 400)
    let created = try create("{\(required),\"name\":\"x\",\"availableCapacity\":3,\"currentTrips\":[\"t\"]}")
    expectEqual(created.status, 200, "\(created.text)")
    try expectEqual(
      bench.json(created).members.map(\.name).sorted(),
      [
        "maximumCapacity", "name", "supportedTripTypes", "vehicleState", "vehicleType",
      ])
    try expectEqual(create("{\(required)}").status, 409)
    try expectEqual(bench.trip("ONLINE").status, 200)
  }
}

extension FleetBench {
  func driverToken() throws -> String {
    try #require(try json(send("GET", "/token/driver/taxi-1"))["jwt"]?.string)
  }

  /// The statistics of one vehicle in `/debug/stats`.
  func figures(_ key: String) throws -> JSON? { try json(send("GET", "/debug/stats"))["vehicles"]?[key] }

  func putTrip(mask: String, body: String, token: String? = nil) throws -> Reply {
    let token = try token ?? driverToken()
    return send(
      "PUT", "/v1/providers/p/vehicles/taxi-1?updateMask=\(mask)",
      headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")], body: body)
  }

  /// An update of a taxi.
  /// - Parameters:
  ///   - past: number of older positions.
  ///   - mask: update mask; nil for the fields in the body.
  func trip(
    _ state: String?, position: String? = #"{"latitude":48,"longitude":11}"#, past: Int = 0, mask: String? = nil,
    token: String? = nil
  ) throws -> Reply {
    func location(_ secondsAgo: Int64, _ position: String) -> String {
      let time = RFC3339.text(milliseconds: now.wall - secondsAgo * 1000)
      return #"{"location":\#(position),"updateTime":"\#(time)","locationSensor":"GPS"}"#
    }
    var fields: [(String, String)] = []
    if let state { fields.append(("vehicleState", "\"\(state)\"")) }
    if let position {
      fields.append(("lastLocation", location(0, position)))
      let older = (0..<past).map { location(Int64(past - $0) * 10, position) }
      if past > 0 { fields.append(("pastLocations", "[\(older.joined(separator: ","))]")) }
    }
    return try putTrip(
      mask: mask ?? fields.map(\.0).joined(separator: ","),
      body: "{\(fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}", token: token)
  }
}
