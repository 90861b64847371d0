// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct FleetServiceTests {
  @Test("an update with a valid token is stored, returned and logged in one line")
  func accepted() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    bench.now = bench.now.advanced(by: 5120)
    let reply = bench.update(token: token, seconds: -1)
    expectEqual(reply.status, 200)
    let location = try bench.json(reply)["lastLocation"]
    expectEqual(location?["supplementalLocation"]?.text, #"{"latitude":48.1173,"longitude":11.5166700}"#)
    expectEqual(location?["serverTime"]?.string, "2026-11-21T09:00:05.120Z")
    expectEqual(bench.lines.last, "09:00:05.120 truck-17  48.1173000,11.5166700  12.3 m/s   87°  ±4 m  fix 1.0 s old")
    expectEqual(bench.service.acceptedCount, 1)
    let stored = bench.send(
      "GET", "/v1/providers/p/deliveryVehicles/truck-17", headers: [("Authorization", "Bearer \(token)")])
    try expectEqual(bench.json(stored), (try bench.json(reply)))
  }

  @Test("the response is limited to a field mask if the client requests one")
  func trimmed() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    let reply = bench.send(
      "PATCH", "/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation",
      headers: [
        ("authorization", "bearer \(token)"), ("content-type", "application/json; charset=utf-8"),
        ("X-Goog-FieldMask", "name"),
      ],
      body: #"{"lastLocation":{"speed":1}}"#)
    try expectEqual(bench.json(reply).text, #"{"name":"providers/p/deliveryVehicles/truck-17"}"#)
  }

  @Test("the token endpoints respond in the formats of Google's two samples")
  func tokens() throws {
    let bench = try FleetBench { $0.tokenLifetime = 600 }
    let delivery = bench.send("POST", "/token/delivery_driver/truck-17")
    expectEqual(delivery.header("cache-control"), "no-store")
    expectEqual(delivery.header("date"), "Sat, 21 Nov 2026 09:00:00 GMT")
    let json = try bench.json(delivery)
    expectEqual(json["creation_timestamp_ms"]?.integer, 1_795_251_600_000)
    expectEqual(json["expiration_timestamp_ms"]?.integer, 1_795_252_200_000)
    let parts = try #require(json["token"]?.string).split(separator: ".")
    expectEqual(parts.count, 3)
    let claims = try JSONParser.parse(try #require(Base64.decode(parts[1], alphabet: .url)))
    expectEqual(claims["aud"]?.string, "https://fleetengine.googleapis.com/")
    expectEqual(claims["iss"], claims["sub"])
    expectEqual(claims["authorization"]?.text, #"{"deliveryvehicleid":"truck-17"}"#)
    for (path, claim) in [("driver", "vehicleid"), ("consumer", "tripid")] {
      let rides = try bench.json(bench.send("GET", "/token/\(path)/17"))
      expectEqual(rides.members.map(\.name), ["jwt", "creationTimestamp", "expirationTimestamp"])
      let payload = try #require(rides["jwt"]?.string).split(separator: ".")[1]
      let claims = try JSONParser.parse(try #require(Base64.decode(payload, alphabet: .url)))
      expectEqual(claims["authorization"]?.text, "{\"\(claim)\":\"17\"}")
    }
  }

  @Test(
    "no token is issued for all vehicles or for an invalid ID",
    arguments: ["*", "%2A", "a%2Fb", "a:b", "", String(repeating: "x", count: 65), "%zz"])
  func noToken(_ vehicle: String) throws {
    try expectEqual(FleetBench().send("GET", "/token/delivery_driver/\(vehicle)").status, 400)
  }

  @Test("a token endpoint that requires authorization rejects requests without it")
  func tokenAuthorization() throws {
    let bench = try FleetBench { $0.tokenAuthorization = "Bearer secret" }
    expectEqual(bench.send("GET", "/token/delivery_driver/t").status, 401)
    expectEqual(
      bench.send("GET", "/token/delivery_driver/t", headers: [("Authorization", "Bearer secret")]).status, 200)
  }

  @Test(
    "a token with a defect is rejected as Fleet Engine rejects it",
    arguments: [
      (.expired, 401), (.garbage, 401), (.badSignature, 401), (.longLifetime, 401), (.notYetValid, 401),
      (.wrongVehicle, 403), (.wrongService, 403),
      (.noClaim, 403), (.algorithmNone, 403), (.wrongAudience, 403),
    ] as [(TokenIssuer.Flaw, Int)])
  func flawed(_ flaw: TokenIssuer.Flaw, _ status: Int) throws {
    let bench = try FleetBench()
    try bench.fault(#"{"target":"token","token":"\#(flaw.rawValue)"}"#)
    let reply = bench.update(token: try bench.token())
    expectEqual(reply.status, status)
    try expectEqual(bench.status(reply), (status == 401 ? "UNAUTHENTICATED" : "PERMISSION_DENIED"))
    expectEqual(bench.update(token: try bench.token()).status, 200, "the fault was for one token")
  }

  @Test("a token without a claim is rejected with Google's message")
  func missingClaim() throws {
    let bench = try FleetBench()
    try bench.fault(#"{"target":"token","token":"no-claim"}"#)
    let error = try bench.json(bench.update(token: try bench.token()))["error"]
    expectEqual(error?["message"]?.string, "JWT does not contain any scopes.")
  }

  @Test("a token is valid until its expiry, and not a second longer")
  func expiry() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    bench.now = bench.now.advanced(by: 3_599_000)
    expectEqual(bench.update(token: token).status, 200)
    bench.now = bench.now.advanced(by: 1000)
    expectEqual(bench.update(token: token).status, 401)
  }

  @Test(
    "a missing or invalid credential is rejected with 401, and an unsigned token without claims with 403",
    arguments: ["", "Bearer", "Basic dXNlcg==", "Bearer a b", "Bearer a.b.c", "Bearer ..", "Bearer e30.e30."])
  func credentials(_ value: String) throws {
    let bench = try FleetBench()
    let reply = bench.send(
      "PATCH", "/v1/providers/p/deliveryVehicles/t?updateMask=lastLocation", headers: [("Authorization", value)])
    expect(["UNAUTHENTICATED", "PERMISSION_DENIED"].contains(try bench.status(reply)))
    expectEqual(reply.status, (value == "Bearer e30.e30." ? 403 : 401))
  }

  @Test(
    "an invalid request is rejected with INVALID_ARGUMENT",
    arguments: [
      ("truck-17", #"{"lastLocation":{}}"#), ("truck-17?updateMask=", #"{"lastLocation":{}}"#),
      ("truck-17?updateMask=lastLocation&updateMask=lastLocation", "{}"),
      ("truck-17?updateMask=lastLocation&colour=red", "{}"),
      ("truck-17?updateMask=lastLocation", "{"),
      ("truck-17?updateMask=lastLocation", #"{"name":"providers/p/deliveryVehicles/other"}"#),
      ("truck-17?updateMask=lastLocation&header.sdkType=DRIVER", "{}"),
      ("truck-17?updateMask=lastLocation&alt=proto", "{}"),
    ])
  func invalid(_ target: String, _ body: String) throws {
    let bench = try FleetBench()
    let reply = bench.update(target, token: try bench.token(), body: body)
    try expectEqual(bench.status(reply), "INVALID_ARGUMENT")
    expect(bench.service.refusedCount == 1 && bench.service.acceptedCount == 0)
  }

  @Test("an update of another vehicle is denied, and one of an unknown vehicle is not found until it is created")
  func missing() throws {
    let bench = try FleetBench { $0.createsVehicles = false }
    let token = try bench.token()
    expectEqual(bench.update("other?updateMask=lastLocation", token: token).status, 403)
    expectEqual(bench.update(token: token).status, 404)
    let headers = [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")]
    let target = "/v1/providers/p/deliveryVehicles?deliveryVehicleId=truck-17"
    expectEqual(bench.send("POST", target, headers: headers, body: #"{"pastLocations":[]}"#).status, 400)
    expectEqual(bench.send("POST", target, headers: headers, body: #"{"type":"AUTO"}"#).status, 200)
    expectEqual(bench.send("POST", target, headers: headers, body: "{}").status, 409)
    expectEqual(bench.update(token: token).status, 200)
  }

  @Test("the vehicles of a provider are listed in pages, only with a token for all vehicles")
  func list() throws {
    let bench = try FleetBench()
    for vehicle in ["truck-3", "truck-1", "truck-2"] {
      expectEqual(bench.update("\(vehicle)?updateMask=lastLocation", token: try bench.token(vehicle)).status, 200)
    }
    let token = try bench.service.issuer.issue("deliveryvehicleid", "*", at: bench.now).text
    func page(_ query: String, provider: String = "p", token: String) throws -> JSON {
      try bench.json(
        bench.send(
          "GET", "/v1/providers/\(provider)/deliveryVehicles\(query)", headers: [("Authorization", "Bearer \(token)")]))
    }
    func names(_ page: JSON) -> [String] {
      page["deliveryVehicles"]?.array?.compactMap { $0["name"]?.string?.split(separator: "/").last.map(String.init) }
        ?? []
    }
    let first = try page("?pageSize=2", token: token)
    expectEqual(names(first), ["truck-1", "truck-2"])
    expectEqual(first["totalSize"]?.string, "3")
    expect(first["deliveryVehicles"]?.array?.first?["lastLocation"]?["supplementalLocation"] != nil)
    let next = try #require(first["nextPageToken"]?.string)
    let second = try page("?pageSize=2&pageToken=\(next)", token: token)
    expect(names(second) == ["truck-3"] && second["nextPageToken"] == nil)
    expectEqual(names(try page("", token: token)), ["truck-1", "truck-2", "truck-3"])
    expectEqual(names(try page("", provider: "q", token: token)), [])
    for (query, token, status) in [
      ("", try bench.token("truck-1"), "PERMISSION_DENIED"), ("?pageSize=-1", token, "INVALID_ARGUMENT"),
      ("?pageToken=%21", token, "INVALID_ARGUMENT"), ("?updateMask=name", token, "INVALID_ARGUMENT"),
    ] {
      try expectEqual(page(query, token: token)["error"]?["status"]?.string, status)
    }
  }

  @Test("a provider other than the configured one is rejected")
  func provider() throws {
    let bench = try FleetBench { $0.provider = "q" }
    expectEqual(bench.update(token: try bench.token()).status, 403)
  }

  @Test("violations that cause no error are counted and logged as warnings")
  func warnings() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    _ = bench.update(token: token)
    bench.now = bench.now.advanced(by: 2000)
    _ = bench.update(token: token, seconds: -30)
    expectEqual(
      bench.lines.last?.contains(
        "! 2.0 s after the last position; the minimum is 5 s  ! older than the position it replaces"), true)
    bench.now = bench.now.advanced(by: 61_000)
    let future = RFC3339.text(milliseconds: bench.now.wall + 5000)
    _ = bench.update(
      "truck-17?updateMask=lastLocation,pastLocations", token: token,
      body: #"{"type":"AUTO","lastLocation":{},"pastLocations":[{"rawLocation":{},"rawLocationTime":"\#(future)"}]}"#)
    let vehicle = try bench.json(bench.send("GET", "/debug/stats"))["vehicles"]?["truck-17"]
    expectEqual(
      vehicle?["warnings"]?.text,
      #"{"tooSoon":1,"tooLate":1,"backwards":1,"pastIsNewer":1,"noPosition":1,"ignoredField":1,"noState":0}"#)
    expect(vehicle?["minimum_gap_ms"]?.integer == 2000 && vehicle?["maximum_gap_ms"]?.integer == 61_000)
    expect(vehicle?["accepted"]?.integer == 3 && vehicle?["past_locations"]?.integer == 1)
  }

  @Test("without a minimum interval, frequent updates cause no warning")
  func anyInterval() throws {
    let bench = try FleetBench { $0.minimumInterval = 0 }
    let token = try bench.token()
    _ = bench.update(token: token)
    bench.now = bench.now.advanced(by: 1)
    expectEqual(bench.update(token: token, seconds: 1).status, 200)
    expect(bench.lines.last?.contains("truck-17") == true && bench.lines.last?.contains("!") == false)
  }

  @Test("updates 5 s apart cause no warning")
  func cadence() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    for _ in 0..<10 {
      expectEqual(bench.update(token: token).status, 200)
      bench.now = bench.now.advanced(by: 5000)
    }
    expectEqual(bench.service.warningCount, 0)
  }

  @Test("each request is recorded, without its token")
  func recording() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    _ = bench.update("truck%2017?updateMask=lastLocation", token: token, body: "{")
    let record = try #require(bench.records.last)
    expectEqual(record["path"]?.string, "/v1/providers/p/deliveryVehicles/truck%2017")
    expectEqual(record["query"]?.string, "updateMask=lastLocation")
    expectEqual(record["headers"]?["Authorization"]?.string, "Bearer <redacted>")
    expect(record["body"]?.string == "{" && record["accepted"]?.bool == false && record["status"]?.integer == 403)
    expect(!record.text.contains(token))
  }

  @Test("a fault replaces the response the requested number of times, and these updates count as refused")
  func faults() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    try bench.fault(
      #"{"target":"update","status":503,"times":2,"retry_after":"date+7","retry_info":"3.5s","reason":"BUSY"}"#)
    for _ in 0..<2 {
      let reply = bench.update(token: token)
      expectEqual(reply.status, 503)
      expectEqual(reply.header("retry-after"), "Sat, 21 Nov 2026 09:00:07 GMT")
      let error = try bench.json(reply)["error"]
      expectEqual(error?["status"]?.string, "UNAVAILABLE")
      expectEqual(error?["details"]?.text.contains(#""reason":"BUSY""#), true)
      expectEqual(error?["details"]?.text.contains(#""retryDelay":"3.5s""#), true)
    }
    expect(bench.service.acceptedCount == 0 && bench.service.refusedCount == 2)
    expectEqual(bench.update(token: token).status, 200)
  }

  @Test("a timed fault ends on time, and a deletion ends all faults")
  func faultEnd() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    try bench.fault(#"{"target":"update","status":500,"for_ms":1000}"#)
    expectEqual(bench.update(token: token).status, 500)
    bench.now = bench.now.advanced(by: 1000)
    expectEqual(bench.update(token: token).status, 200)
    try bench.fault(#"{"target":"token","status":500,"times":99}"#)
    expectEqual(bench.send("GET", "/token/driver/t").status, 500)
    expectEqual(bench.send("DELETE", "/debug/faults").text, "{\"faults\":[]}\n")
    expectEqual(bench.send("GET", "/token/driver/t").status, 200)
  }

  @Test("a fault may apply to one vehicle, and to updates and tokens alike")
  func faultOfOne() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    try bench.fault(#"{"target":"any","vehicle":"truck-17","status":503,"times":2}"#)
    expectEqual(bench.send("GET", "/token/driver/truck-18").status, 200)
    expectEqual(bench.update(token: token).status, 503)
    expectEqual(bench.send("GET", "/token/delivery_driver/truck-17").status, 503)
    expectEqual(bench.update(token: token).status, 200)
    let vehicle = try bench.json(bench.send("GET", "/debug/stats"))["vehicles"]?["truck-17"]
    expect(vehicle?["tokens"]?.integer == 1 && vehicle?["token_requests"]?.integer == 2)
  }

  @Test("a fault can apply an update whose response is lost, or delay the response")
  func lostAnswer() throws {
    let bench = try FleetBench()
    let token = try bench.token()
    try bench.fault(#"{"target":"update","reset":true,"apply":true}"#)
    expectEqual(bench.update(token: token).silence, .reset)
    expectEqual(bench.service.acceptedCount, 1)
    try bench.fault(#"{"target":"update","delay_ms":40}"#)
    let late = bench.update(token: token)
    expect(late.delay == 40 && late.status == 200 && bench.service.acceptedCount == 2)
  }

  @Test(
    "a fault can return a body that Fleet Engine would not send",
    arguments: ["html", "empty", "truncated", "huge", "not-json"])
  func bodies(_ body: String) throws {
    let bench = try FleetBench()
    try bench.fault(#"{"target":"update","body":"\#(body)"}"#)
    let reply = bench.update(token: try bench.token())
    expectEqual(reply.status, 200)
    switch (body, reply.content) {
    case ("html", .bytes), ("empty", .bytes), ("not-json", .bytes), ("truncated", .truncated), ("huge", .endless): break
    default: Issue.record("\(reply.content)")
    }
  }

  @Test(
    "an invalid fault is rejected with status 400",
    arguments: [
      "{}", "[]", #"{"target":"update"}"#, #"{"target":"map","status":503}"#, #"{"target":"update","status":99}"#,
      #"{"target":"update","status":"503"}"#, #"{"target":"update","status":503,"color":1}"#,
      #"{"target":"update","token":"expired"}"#,
      #"{"target":"update","reset":true,"drop":true}"#, #"{"target":"update","status":503,"retry_info":"3"}"#,
      #"{"target":"update","status":503,"times":0}"#, #"{"target":"update","status":503,"retry_after":"a\r\nb"}"#,
    ])
  func badFault(_ body: String) throws {
    let reply = try FleetBench().send("POST", "/debug/faults", body: body)
    expectEqual(reply.status, 400)
  }

  @Test(
    "unknown and unsupported paths and methods, and a list without a token, are rejected",
    arguments: [
      ("GET", "/", 404), ("GET", "/v2/x", 404), ("PUT", "/v1/providers/p/deliveryVehicles/t", 405),
      ("DELETE", "/v1/providers/p/deliveryVehicles/t", 501), ("GET", "/v1/providers/p/deliveryVehicles", 401),
      ("GET", "/v1/providers/p/tasks", 501), ("PATCH", "/v1/providers/p/vehicles/t", 405),
      ("POST", "/v1/providers/p/vehicles:search", 501), ("GET", "/v1/providers/p/deliveryVehicles/a/b", 404),
      ("PUT", "/debug/stats", 405), ("POST", "/debug/key", 405),
      ("DELETE", "/token/driver/t", 405), ("GET", "/token/parcel/t", 404), ("GET", "", 404), ("GET", "//", 404),
    ])
  func paths(_ method: String, _ path: String, _ status: Int) throws {
    try expectEqual(FleetBench().send(method, path).status, status)
  }

  @Test("the public key of the tokens is available, and the private key is not")
  func key() throws {
    let text = try FleetBench().send("GET", "/debug/key").text
    expect(text.hasPrefix("-----BEGIN PUBLIC KEY-----\n") && text.hasSuffix("-----END PUBLIC KEY-----\n"))
    expect(!text.contains("PRIVATE"))
  }

  @Test("control characters in a client's text are escaped, so they cannot move the cursor")
  func plain() {
    expectEqual(UpdateLine.plain("a\u{1B}[2J\nb"), #"a\u{1b}[2J\u{a}b"#)
  }
}
