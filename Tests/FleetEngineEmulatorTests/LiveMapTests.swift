// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

@testable import FleetEngineEmulator

/// The page of the live map, its files and its buttons, without a socket.
struct LiveMapTests {
  private final class Bench {
    // One key for all tests, because generating one takes time.
    nonisolated(unsafe) private static let key = try? SigningKey()

    let emulator: Emulator
    var now = ServerTime(wall: 1_795_251_600_900, steady: 5_000_000)
    private let output: Output

    private final class Output {
      var lines: [String] = []
    }

    var lines: [String] { output.lines.map { String($0.dropFirst("09:00:00.900 ".count)) } }

    init(_ files: PageFiles = PageFiles(), tiles: TileSource? = nil, route: [LiveMap.RoutePoint] = []) throws {
      var options = LiveMap.Options()
      options.version = "1.2.3"
      options.tiles = tiles
      options.route = route
      let output = Output()
      self.output = output
      emulator = Emulator(
        .init(), map: LiveMap(options: options, files: files), key: try #require(Self.key),
        log: { output.lines.append($0) })
    }

    func send(
      _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: String = ""
    ) -> Reply {
      emulator.handle(Request(method, target, headers: headers, body: Array(body.utf8)), at: now)
    }

    func act(_ body: String) -> Reply {
      send("POST", "/map/act", headers: [("Content-Type", "application/json")], body: body)
    }

    func json(_ reply: Reply) throws -> JSON { try JSONParser.parse(Array(reply.text.utf8)) }

    func token(_ vehicle: String = "truck-17") throws -> String {
      try #require(try json(send("GET", "/token/delivery_driver/\(vehicle)"))["token"]?.string)
    }

    func update(_ token: String, _ vehicle: String = "truck-17") -> Reply {
      send(
        "PATCH", "/v1/providers/p/deliveryVehicles/\(vehicle)?updateMask=lastLocation",
        headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
        body: #"{"lastLocation":{"location":{"latitude":1,"longitude":2}}}"#)
    }

    /// The events since the last call, as they are sent.
    func events() -> [String] {
      emulator.performPendingWork(at: now, isWatched: true).events.map { String(decoding: $0, as: UTF8.self) }
    }
  }

  @Test(
    "the page and its files have a content type, and security headers that block other content",
    arguments: [
      ("/", "text/html; charset=utf-8"), ("/map/map.css", "text/css; charset=utf-8"),
      ("/map/map.js", "text/javascript; charset=utf-8"), ("/map/config", "application/json; charset=UTF-8"),
      ("/map/events", "text/event-stream; charset=utf-8"), ("/map/none.js", "application/json; charset=UTF-8"),
    ])
  func headers(_ target: String, _ type: String) throws {
    let reply = try Bench().send("GET", target)
    expect(reply.status == (target == "/map/none.js" ? 404 : 200) && reply.header("content-type") == type)
    expectEqual(
      reply.header("content-security-policy"),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    expect(reply.header("x-content-type-options") == "nosniff" && reply.header("cache-control") == "no-cache")
    expect(reply.header("referrer-policy") == "no-referrer" && !reply.text.isEmpty)
  }

  @Test("every file of the page is embedded without a change")
  func embedded() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/FleetEngineEmulator/LiveMap")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path())
    expectEqual(names.sorted(), PageFiles.embedded.keys.sorted())
    for name in names {
      try expectEqual(Data(contentsOf: folder.appending(path: name)), Data(PageFiles.embedded[name] ?? []), "\(name)")
    }
  }

  @Test("if a directory is given, the files of the page are served from it, and no others")
  func folder() throws {
    let folder = try TemporaryDirectory()
    try FileManager.default.createDirectory(atPath: folder("images"), withIntermediateDirectories: false)
    for (name, text) in [
      ("map.css", "body{}"), ("secret.txt", "secret"), ("leaflet.js", "big"), ("leaflet.min.js", "small"),
      ("images/layers.png", "PNG"),
    ] { try folder.write(text, to: name) }
    let bench = try Bench(PageFiles(folder: folder.path, leaflet: folder.path))
    expectEqual(bench.send("GET", "/map/map.css").text, "body{}")
    expectEqual(bench.send("GET", "/map/leaflet.js").text, "small")
    let image = bench.send("GET", "/map/images/layers.png")
    expect(image.text == "PNG" && image.header("content-type") == "image/png")
    for name in ["secret.txt", "../secret.txt", "%2e%2e/secret.txt", "map.js", "leaflet.min.js", ""] {
      expectEqual(bench.send("GET", "/map/\(name)").status, 404, "\(name)")
    }
    let config = try bench.json(bench.send("GET", "/map/config")).text
    expectEqual(config, #"{"tiles":null,"leaflet":true,"version":"1.2.3","route":[]}"#)
    let bare = try Bench(PageFiles(leaflet: folder("none")))
    try expectEqual(bare.json(bare.send("GET", "/map/config"))["leaflet"]?.bool, false)
    expect(bare.send("GET", "/map/leaflet.js").status == 404 && bare.send("GET", "/").status == 200)
  }

  @Test("the page receives the route, with its tunnels")
  func route() throws {
    let bench = try Bench(route: [
      .init(latitude: 54.25, longitude: 6.5, isTunnel: true), .init(latitude: 54.5, longitude: -6.75, isTunnel: false),
    ])
    let config = try bench.json(bench.send("GET", "/map/config"))
    expectEqual(config["route"]?.text, "[[54.25,6.5,true],[54.5,-6.75]]")
  }

  @Test("the page receives the URL of the tiles, and the Content-Security-Policy allows their origin")
  func tiles() throws {
    let tiles = try TileSource(url: "https://a.example.org:8443/t/{z}/{x}/{y}.png?k=1", attribution: "© A & B")
    let bench = try Bench(tiles: tiles)
    let config = try bench.json(bench.send("GET", "/map/config"))["tiles"]
    expectEqual(config?["url"]?.string, "https://a.example.org:8443/t/{z}/{x}/{y}.png?k=1")
    expectEqual(config?["attribution"]?.string, "© A & B")
    expectEqual(
      bench.send("GET", "/").header("content-security-policy")?.contains(
        "img-src 'self' data: https://a.example.org:8443; "), true)
  }

  @Test(
    "a tile URL that is invalid, or could alter the Content-Security-Policy, is rejected",
    arguments: [
      "", "tiles", "ftp://a/{z}/{x}/{y}", "https:///{z}/{x}/{y}", "https://a;script-src *//{z}/{x}/{y}",
      "https://a b/{z}/{x}/{y}", "https://*/{z}/{x}/{y}", "https://a/{z}/{x}", "https://a/{z}/{x}/{y}/{y}",
      "https://{s}.a/{z}/{x}/{y}", "https://a/{z}/{x}/{y}{r}", "https://a/{z}/{x}/{y}\n", "https://a/'{z}/{x}/{y}",
      "javascript:alert(1)//{z}/{x}/{y}", "https://u:p@a/{z}/{x}/{y}",
    ])
  func badTiles(_ url: String) {
    #expect(throws: EmulatorError.self) { try TileSource(url: url, attribution: "A") }
  }

  @Test("tiles without an attribution are rejected", arguments: ["", "a\nb"])
  func attribution(_ text: String) {
    #expect(throws: EmulatorError.self) { try TileSource(url: "https://a/{z}/{x}/{y}", attribution: text) }
  }

  @Test("a tunnel interrupts updates and token requests of its vehicle, and the pages are notified when it ends")
  func tunnel() throws {
    let bench = try Bench()
    let (token, other) = (try bench.token(), try bench.token("truck-18"))
    let reply = bench.act(#"{"act":"tunnel","seconds":10,"vehicle":"truck-17"}"#)
    expectEqual(reply.status, 200)
    try expectEqual(bench.json(reply)["faults"]?.array?.first?["ends"]?.integer, bench.now.wall + 10_000)
    expectEqual(bench.update(token).silence, .reset)
    expectEqual(bench.send("GET", "/token/delivery_driver/truck-17").silence, .reset)
    expectEqual(bench.update(other, "truck-18").status, 200)
    expectEqual(bench.emulator.performPendingWork(at: bench.now, isWatched: true).deadline, bench.now.steady + 10_000)
    bench.now = bench.now.advanced(by: 10_000)
    let events = bench.events()
    expect(events.contains { $0.contains("event: faults\ndata: {\"faults\":[]}\n\n") })
    expectEqual(bench.lines.last, "truck-17  tunnel, over")
    expectNil(bench.emulator.performPendingWork(at: bench.now, isWatched: true).deadline)
    expectEqual(bench.update(token).status, 200)
  }

  @Test("while the network of a vehicle is cut, no other fault answers it; behind a proxy it gets no response")
  func tunnelFirst() throws {
    let bench = try Bench()
    let token = try bench.token()
    expectEqual(bench.act(#"{"act":"tunnel"}"#).status, 200)
    for other in ["slow", "unavailable"] { expectEqual(bench.act("{\"act\":\"\(other)\"}").status, 200) }
    expectEqual(bench.update(token).silence, .reset)
    expectEqual(bench.send("GET", "/token/driver/t").silence, .reset)
    // A proxy would answer a reset with 502.
    expectEqual(bench.send("GET", "/token/driver/t", headers: [("Via", "1.1 nghttpx")]).silence, .drop)
  }

  @Test("buttons slow down or reject requests: the newest has priority, and \"clear\" ends all of them")
  func buttons() throws {
    let bench = try Bench()
    let token = try bench.token()
    func press(_ name: String) { expectEqual(bench.act("{\"act\":\"\(name)\"}").status, 200) }
    press("slow")
    expect(bench.update(token).delay == 3000 && bench.send("GET", "/token/driver/t").delay == 3000)
    press("unavailable")
    expectEqual(bench.update(token).status, 503, "the newest goes first")
    press("throttled")
    let throttled = bench.update(token)
    expect(throttled.status == 429 && throttled.header("retry-after") == "10")
    press("tokens-down")
    expectEqual(bench.send("GET", "/token/driver/t").status, 503)
    press("unavailable")
    expectEqual(bench.update(token).status, 503)
    try expectEqual(
      bench.json(bench.send("GET", "/debug/faults"))["faults"]?.array?.count, 4, "pressed again, it adds no fault")
    press("clear")
    expect(bench.update(token).status == 200 && bench.send("GET", "/token/driver/t").delay == 0)
    expectEqual(
      bench.lines.filter { !$0.hasPrefix("truck-17") && !$0.hasPrefix("t ") },
      [
        "slow for 30 s: delay 3000 ms", "unavailable for 30 s: status 503", "throttled for 20 s: status 429",
        "tokens-down for 60 s: status 503", "unavailable for 30 s: status 503", "faults cleared",
      ])
  }

  @Test(
    "revoked or expired tokens are rejected; a new one is accepted, even if it is issued in the same second",
    arguments: [("revoke", "ACCESS_TOKEN_REVOKED"), ("expire", "ACCESS_TOKEN_EXPIRED")])
  func revoked(_ name: String, _ reason: String) throws {
    let bench = try Bench()
    let (token, other) = (try bench.token(), try bench.token("truck-18"))
    expectEqual(bench.act(#"{"act":"\#(name)","vehicle":"truck-17"}"#).status, 200)
    let refused = bench.update(token)
    expect(refused.status == 401 && refused.text.contains(reason))
    expectEqual(bench.update(other, "truck-18").status, 200)
    let fresh = try bench.token()
    expectEqual(bench.update(fresh).status, 200)
    expectEqual(bench.act("{\"act\":\"\(name)\"}").status, 200)
    expect(bench.update(fresh).status == 401 && bench.update(other, "truck-18").status == 401)
    expectEqual(bench.update(try bench.token()).status, 200)
    expect(bench.events().contains { $0.contains("\"reason\":\"\(reason)\"") })
  }

  @Test("an action and a fault can be limited to a vehicle whose ID is not ASCII")
  func letters() throws {
    let bench = try Bench()
    let id = "Lkw-K%C3%B6ln-7"
    let (token, other) = (try bench.token(id), try bench.token())
    expectEqual(bench.act(#"{"act":"unavailable","vehicle":"Lkw-Köln-7"}"#).status, 200)
    expect(bench.update(token, id).status == 503 && bench.update(other).status == 200)
    expectEqual(bench.act(#"{"act":"clear"}"#).status, 200)
    let fault = #"{"target":"update","vehicle":"Lkw-Köln-7","status":500}"#
    expectEqual(bench.send("POST", "/debug/faults", body: fault).status, 200)
    expect(bench.update(other).status == 200 && bench.update(token, id).status == 500)
  }

  @Test(
    "an invalid action is rejected, and has no effect",
    arguments: [
      ("{}", 400), ("[]", 400), ("{", 400), (#"{"act":"dance"}"#, 400), (#"{"act":"tunnel","seconds":0}"#, 400),
      (#"{"act":"tunnel","seconds":3601}"#, 400), (#"{"act":"tunnel","seconds":"9"}"#, 400),
      (#"{"act":"revoke","seconds":9}"#, 400), (#"{"act":"clear","vehicle":"truck-17"}"#, 400),
      (#"{"act":"tunnel","colour":"red"}"#, 400), (#"{"act":"tunnel","vehicle":"nobody"}"#, 404),
      (#"{"act":"tunnel","vehicle":7}"#, 404), (#"{"act":"tunnel","vehicle":"a/b"}"#, 400),
      (String(repeating: " ", count: 10_001), 413),
    ])
  func invalidAction(_ body: String, _ status: Int) throws {
    let bench = try Bench()
    let token = try bench.token()
    expectEqual(bench.act(body).status, status)
    expect(bench.update(token).status == 200 && bench.events().allSatisfy { !$0.contains("event: faults") })
  }

  @Test(
    "an action is accepted only as JSON by POST",
    arguments: [
      ("POST", "text/plain", 415), ("POST", "application/x-www-form-urlencoded", 415), ("POST", nil, 415),
      ("GET", "application/json", 405), ("PUT", "application/json", 405),
      ("POST", "Application/JSON; charset=utf-8", 200),
    ] as [(String, String?, Int)])
  func type(_ method: String, _ type: String?, _ status: Int) throws {
    let bench = try Bench()
    let headers = type.map { [(name: "Content-Type", value: $0)] } ?? []
    expectEqual(bench.send(method, "/map/act", headers: headers, body: #"{"act":"clear"}"#).status, status)
  }

  @Test(
    "the page of another site cannot access the map or the debug interface, under any host name",
    arguments: [
      ("127.0.0.1:80", nil, true), ("127.0.0.1", "http://127.0.0.1", true), ("127.4.5.6:1", nil, true),
      ("localhost:8000", "http://localhost:8000", true), ("LocalHost", "http://localhost", true),
      ("[::1]:8000", "http://[::1]:8000", true), ("[::1]", nil, true),
      ("evil.example:80", nil, false), ("127.0.0.1.evil.example", nil, false),
      ("localhost.evil.example:80", nil, false),
      ("127.0.0.1@evil.example", nil, false), ("127.0.1", nil, false), ("127.0.0.256", nil, false),
      ("192.0.2.1", nil, false), ("127.0.0.1:x", nil, false), ("127.0.0.1:", nil, false), ("[::2]", nil, false),
      ("[::1]x", nil, false), ("", nil, false), ("127.+1.0.1", nil, false),
      ("127.0.0.1:80", "http://evil.example", false), ("127.0.0.1:80", "http://127.0.0.1:81", false),
      ("127.0.0.1:80", "https://127.0.0.1:80", false), ("127.0.0.1:80", "null", false),
    ] as [(String, String?, Bool)])
  func otherSite(_ host: String, _ origin: String?, _ isServed: Bool) throws {
    let bench = try Bench()
    let headers = [("Host", host)] + (origin.map { [("Origin", $0)] } ?? [])
    for target in ["/", "/map/events", "/debug/stats", "/%64ebug/stats"] {
      expectEqual(bench.send("GET", target, headers: headers).status, (isServed ? 200 : 403), "\(target)")
    }
    let json = headers + [("Content-Type", "application/json")]
    expectEqual(
      bench.send("POST", "/map/act", headers: json, body: #"{"act":"clear"}"#).status, (isServed ? 200 : 403))
    expectEqual(bench.send("GET", "/token/driver/t", headers: headers).status, 200, "token requests are not restricted")
  }

  @Test(
    "the page of another site can request no token",
    arguments: [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
  func foreignTokenRequest(_ site: String, _ status: Int) throws {
    let bench = try Bench()
    let headers = [("Sec-Fetch-Site", site)]
    expectEqual(bench.send("GET", "/token/driver/ghost", headers: headers).status, status)
    try expectEqual(bench.json(bench.send("GET", "/debug/stats"))["tokens"]?.integer, (status == 200 ? 1 : 0))
    // A link may lead to the map.
    expectEqual(bench.send("GET", "/", headers: headers).status, 200)
  }

  @Test("the number of tokens includes those of consumers")
  func consumerTokens() throws {
    let bench = try Bench()
    for kind in ["driver", "consumer"] { expectEqual(bench.send("GET", "/token/\(kind)/t").status, 200) }
    try expectEqual(bench.json(bench.send("GET", "/debug/stats"))["tokens"]?.integer, 2)
    expectEqual(bench.emulator.service.issuedTokenCount, 2)
  }
}
