// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct LiveMapStateTests {
  /// The state of a map, and the time.
  private struct Bench {
    var map = LiveMapState()
    var now = ServerTime(wall: 1_795_251_600_000, steady: 5_000_000)

    mutating func handle(_ kind: FleetEvent.Kind, _ vehicle: String = "truck-17", _ text: String = "")
      -> [LiveMapState.Message]
    {
      map.handle(FleetEvent(at: now, vehicle: vehicle, kind: kind, statistics: .init(), text: text))
    }

    /// The vehicle's position, now or some seconds ago.
    func position(_ secondsAgo: Int64 = 0, latitude: String = "48.5") throws -> ReportedPosition {
      let time = RFC3339.text(milliseconds: now.wall - secondsAgo * 1000)
      let json =
        #"{"supplementalLocation":{"latitude":\#(latitude),"longitude":11},"supplementalLocationTime":"\#(time)","#
        + #""supplementalLocationAccuracy":4.5,"speed":12.5,"heading":87}"#
      return try #require(ReportedPosition(try JSONParser.parse(Array(json.utf8)), at: now.wall))
    }

    var state: JSON { map.openingMessage(at: now).data }

    /// The recent events that a new page receives: age in seconds, vehicle, name of the message and its text.
    func story() throws -> [String] {
      try #require(state["story"]?.array).map { entry in
        let age = (now.wall - (entry["at"]?.integer ?? 0)) / 1000
        let words = ["reason", "text", "state"].compactMap { entry[$0]?.string }
        let filled = entry["filled"]?.integer.map { ["filled \($0)"] } ?? []
        return ([String(age), entry["vehicle"]?.string ?? "?", entry["name"]?.string ?? "?"] + words + filled)
          .joined(separator: " ")
      }
    }

    /// The age in seconds of each position on the track, and whether it is a past location.
    func track(_ vehicle: String = "truck-17") throws -> [String] {
      try #require(state["vehicles"]?[vehicle]?["track"]?.array).map { mark in
        let age = (now.wall - (mark["t"]?.integer ?? 0)) / 1000
        return "\(age)\(mark["past"]?.bool == true ? " past" : "")"
      }
    }
  }

  @Test("an update moves the vehicle, and every page receives its position, speed and delay")
  func update() throws {
    var bench = Bench()
    let position = try bench.position(2)
    let messages = bench.handle(.accepted(position, past: []), "truck-17", "truck-17  48.5,11")
    expectEqual(messages.map(\.name), ["update", "log"])
    let update = try #require(messages.first).data
    expectEqual(
      update["position"]?.text,
      #"{"t":1795251598000,"lat":48.5,"lon":11.0,"speed":12.5,"heading":87.0,"accuracy":4.5,"past":false,"#
        + #""received":1795251600000}"#)
    expect(update["stats"]?["delay"]?.integer == 2000 && update["stats"]?["updatesPerMinute"]?.integer == 1)
    expectEqual(
      messages.last?.data.text,
      #"{"at":1795251600000,"vehicle":"truck-17","kind":"accepted","text":"truck-17  48.5,11"}"#)
    let vehicle = bench.state["vehicles"]?["truck-17"]
    expect(vehicle?["position"] == update["position"] && vehicle?["track"]?.array?.count == 1)
    expectEqual(bench.state["now"]?.integer, bench.now.wall)
  }

  @Test("past locations are put on the track in order of time, marked as past, and each only once")
  func past() throws {
    var bench = Bench()
    _ = bench.handle(.accepted(try bench.position(60), past: []))
    let tunnel = [try bench.position(40), try bench.position(50)]
    let shown = bench.handle(.accepted(try bench.position(), past: tunnel)).first?.data
    expectEqual(shown?["past"]?.array?.count, 2)
    try expectEqual(bench.track(), ["60", "50 past", "40 past", "0"])
    // The response was lost, so the vehicle sends the past locations again.
    let again = bench.handle(.accepted(try bench.position(), past: tunnel + [try bench.position(45)])).first?.data
    expectEqual(again?["past"]?.array?.count, 1)
    try expectEqual(bench.track(), ["60", "50 past", "45 past", "40 past", "0"])
    // A live position that is sent again as a past location is still shown as live.
    _ = bench.handle(.accepted(nil, past: [try bench.position(60)]))
    try expectEqual(bench.track().first, "60")
    expectEqual(bench.state["vehicles"]?["truck-17"]?["position"]?["past"]?.bool, false)
  }

  @Test("tracks and vehicles are limited to the newest 5,000; with many vehicles, a new page gets shorter tracks")
  func bounds() throws {
    var bench = Bench()
    for _ in 0..<5010 {
      _ = bench.handle(.accepted(try bench.position(), past: []))
      bench.now = bench.now.advanced(by: 1000)
    }
    let track = try bench.track()
    expect(track.count == 5000 && track.first == "5000" && track.last == "1")
    for number in 0..<19 { _ = bench.handle(.accepted(try bench.position(), past: []), "v\(number)") }
    try expectEqual(bench.track().count, 1000)
    for number in 19..<5010 { _ = bench.handle(.accepted(try bench.position(), past: []), "v\(number)") }
    let vehicles = try #require(bench.state["vehicles"]).members.map(\.name)
    expect(
      vehicles.count == 5000 && vehicles.contains("v5009") && !vehicles.contains("truck-17"), "the newest are seen")
  }

  @Test("rejections are counted by reason, including those without a response")
  func refused() throws {
    var bench = Bench()
    let error = APIError(.unauthenticated, "The token expired.", reason: "ACCESS_TOKEN_EXPIRED")
    _ = bench.handle(.refused(.init(error)))
    _ = bench.handle(.refused(.init(error)))
    var reply = Reply(status: 200)
    reply.silence = .reset
    let fault = try Fault(["target": "update", "reset": true], at: bench.now)
    let shown = try #require(bench.handle(.refused(.init(fault, reply))).first)
    expect(shown.name == "refused" && shown.data["status"]?.integer == 0 && shown.data["reason"]?.string == "reset")
    expectEqual(shown.data["stats"]?["refusals"]?.text, #"{"ACCESS_TOKEN_EXPIRED":2,"reset":1}"#)
    expectEqual(shown.data["stats"]?["lastRefusal"]?["message"]?.string, "The connection is reset.")
  }

  @Test("the number of different rejection reasons of a vehicle is limited, because a fault can set any reason")
  func reasons() throws {
    var bench = Bench()
    for number in 0..<200 { _ = bench.handle(.refused(.init(.invalid("no", reason: "R\(number)")))) }
    expectEqual(bench.state["vehicles"]?["truck-17"]?["stats"]?["refusals"]?.members.count, 50)
  }

  @Test("the expiry of a token is sent, and a failed token request leaves it unchanged")
  func token() throws {
    var bench = Bench()
    let given = try #require(bench.handle(.token(issued: 1000, expires: 3_601_000)).first)
    expect(given.name == "token" && given.data["expires"]?.integer == 3_601_000)
    let error = APIError(.unavailable, "down", reason: "UNAVAILABLE")
    let missed = try #require(bench.handle(.tokenRefused(.init(error))).first)
    expect(missed.name == "token" && missed.data["expires"] == nil && missed.data["reason"]?.string == "UNAVAILABLE")
    expectEqual(missed.data["stats"]?["tokenExpires"]?.integer, 3_601_000)
  }

  @Test("updates per minute are counted over the last sixty seconds; the delays are those of the last sixty updates")
  func figures() throws {
    var bench = Bench()
    for number in 0..<100 {
      bench.now = bench.now.advanced(by: 1500)
      _ = bench.handle(.accepted(try bench.position(Int64(number)), past: []))
    }
    let stats = bench.state["vehicles"]?["truck-17"]?["stats"]
    expectEqual(stats?["updatesPerMinute"]?.integer, 40)
    expect(stats?["delays"]?.array?.count == 60 && stats?["delays"]?.array?.first?.integer == 40_000)
    expectEqual(stats?["delay"]?.integer, 99_000)
    bench.now = bench.now.advanced(by: 60_000)
    expectEqual(bench.state["vehicles"]?["truck-17"]?["stats"]?["updatesPerMinute"]?.integer, 0)
  }

  @Test("a trips vehicle is sent with its state, and is distinct from the deliveries vehicle with the same ID")
  func trips() throws {
    let bench = try FleetBench()
    var map = LiveMapState()
    var messages: [LiveMapState.Message] = []
    let service = try bench.observed { messages += map.handle($0) }
    func send(_ method: String, _ target: String, _ kind: String, _ key: String, _ body: String) throws {
      let answer = service.handle(Request("GET", "/token/\(kind)/taxi-1"), at: bench.now)
      let token = try #require(try bench.json(answer)[key]?.string)
      let headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
      let request = Request(method, "/v1/providers/p/\(target)", headers: headers, body: Array(body.utf8))
      expectEqual(service.handle(request, at: bench.now).status, 200)
    }
    let position = #""lastLocation":{"location":{"latitude":1,"longitude":2}}"#
    try send(
      "PUT", "vehicles/taxi-1?updateMask=vehicleState,lastLocation", "driver", "jwt",
      "{\"vehicleState\":\"ONLINE\",\(position)}")
    try send(
      "PATCH", "deliveryVehicles/taxi-1?updateMask=lastLocation", "delivery_driver", "token", "{\(position)}")
    try send("PUT", "vehicles/taxi-1?updateMask=vehicleState", "driver", "jwt", #"{"vehicleState":"OFFLINE"}"#)
    let updates = messages.filter { $0.name == "update" }.map(\.data)
    expectEqual(updates.map { $0["vehicle"]?.string }, ["trips/taxi-1", "taxi-1", "trips/taxi-1"])
    expectEqual(updates.map { $0["stats"]?["state"]?.string }, ["ONLINE", nil, "OFFLINE"])
    expectEqual(updates.map { $0["position"] == nil }, [false, false, true])
    let vehicles = map.openingMessage(at: bench.now).data["vehicles"]
    expectEqual(vehicles?.members.map(\.name), ["taxi-1", "trips/taxi-1"])
    expectEqual(vehicles?["trips/taxi-1"]?["position"]?["lat"]?.double, 1, "its last position stays")
    let story = map.openingMessage(at: bench.now).data["story"]?.array?.filter { $0["name"]?.string == "update" } ?? []
    expectEqual(story.map { $0["vehicle"]?.string }, ["trips/taxi-1", "trips/taxi-1"])
    expectEqual(story.map { $0["state"]?.string }, ["ONLINE", "OFFLINE"], "on and off duty are part of the story")
  }

  @Test("faults are sent with the wall time at which they end")
  func faults() throws {
    var bench = Bench()
    let act = try MapCommand(["act": "tunnel", "vehicle": "truck-17"])
    var plan = FaultPlan()
    plan.add(try #require(act.fault(at: bench.now)))
    let shown = bench.handle(.faults(plan.faults), "", "tunnel for 30 s")
    expect(shown.map(\.name) == ["faults", "log"] && shown.last?.data["kind"]?.string == "fault")
    let fault =
      #"[{"id":1,"name":"tunnel","target":"any","vehicle":"truck-17","effect":"reset","ends":1795251630000,"#
      + #""times":null}]"#
    expectEqual(shown.first?.data["faults"]?.text, fault)
    bench.now = bench.now.advanced(by: 20_000)
    expectEqual(bench.state["faults"]?.text, fault, "as long as the wall clock is not set")
  }

  @Test(
    "a page that is opened later receives the recent events: rejections, recoveries, past positions, tokens and faults")
  func story() throws {
    var bench = Bench()
    _ = bench.handle(.token(issued: 1000, expires: 3_601_000), "truck-17", "truck-17  token issued")
    _ = bench.handle(.accepted(try bench.position(), past: []), "truck-17", "truck-17  48.5,11")
    bench.now = bench.now.advanced(by: 5000)
    _ = bench.handle(.faults([]), "", "tunnel for 30 s")
    for _ in 0..<2 {
      bench.now = bench.now.advanced(by: 10_000)
      let message = try #require(bench.handle(.refused(.init(.invalid("no", reason: "R"))), "truck-17", "x").first)
      expectEqual(message.data["at"]?.integer, bench.now.wall)
    }
    bench.now = bench.now.advanced(by: 5000)
    _ = bench.handle(.accepted(try bench.position(), past: [try bench.position(10), try bench.position(20)]))
    _ = bench.handle(.accepted(try bench.position(), past: []))
    _ = bench.handle(.info, "truck-17", "truck-17  slow")
    let error = APIError(.unavailable, "down", reason: "UNAVAILABLE")
    _ = bench.handle(.tokenRefused(.init(error)))
    // Past positions that are sent again are not new.
    _ = bench.handle(.accepted(try bench.position(), past: [try bench.position(10)]))
    _ = bench.handle(.refused(.init(.invalid("no", reason: "R"))))
    _ = bench.handle(.accepted(nil, past: []))
    try expectEqual(
      bench.story(),
      [
        "30 truck-17 token", "25  log tunnel for 30 s", "15 truck-17 refused R", "5 truck-17 refused R",
        "0 truck-17 update filled 2", "0 truck-17 log truck-17  slow", "0 truck-17 token UNAVAILABLE",
        "0 truck-17 refused R", "0 truck-17 update filled 0",
      ])
    expectEqual(
      bench.state["story"]?.array?.allSatisfy { $0["stats"] == nil }, true, "figures are those of the vehicle")
    expectEqual(bench.state["log"]?.array?.count, 6)
  }

  @Test("a new page receives the last five hundred events of all vehicles")
  func recentEventsLimit() throws {
    var bench = Bench()
    for number in 0..<600 { _ = bench.handle(.refused(.init(.invalid("no", reason: "R\(number)"))), "v\(number % 7)") }
    let story = try bench.story()
    expect(story.count == 500 && story.first == "0 v2 refused R100" && story.last == "0 v4 refused R599")
  }

  @Test("the log has the last fifty lines, and no empty ones")
  func log() throws {
    var bench = Bench()
    expect(bench.handle(.info).isEmpty)
    for number in 1...60 { expectEqual(bench.handle(.info, "", "line \(number)").map(\.name), ["log"]) }
    let lines = try #require(bench.state["log"]?.array).map { $0["text"]?.string }
    expect(lines.count == 50 && lines.first == "line 11" && lines.last == "line 60")
    expectEqual(bench.state["vehicles"]?.members.isEmpty, true, "a line alone makes no vehicle")
  }

  @Test(
    "an impossible position, or one of a vehicle with an invalid ID, is not drawn",
    arguments: [("91", "truck-17"), ("-90.5", "truck-17"), ("48", "a/b"), ("48", "")])
  func invalidPosition(_ latitude: String, _ vehicle: String) throws {
    var bench = Bench()
    let json = try JSONParser.parse(Array(#"{"location":{"latitude":\#(latitude),"longitude":11}}"#.utf8))
    _ = bench.handle(.accepted(ReportedPosition(json, at: 0), past: []), vehicle)
    expect(bench.state["vehicles"]?[vehicle]?["track"]?.array ?? [] == [])
  }
}
