// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

struct TokenServerTests {
  private final class Bench {
    let server: TokenServer
    let account: ServiceAccount
    var lines: [String] { output.lines }
    private let output = Output()

    private final class Output { var lines: [String] = [] }

    init(_ configure: (inout TokenServer.Options) -> Void = { _ in }) throws {
      var options = TokenServer.Options()
      configure(&options)
      account = try ServiceAccount(KeyFixture.file(), file: "key.json")
      server = TokenServer(account: account, options: options, log: { [output] in output.lines.append($0) })
    }

    static let now = ServerTime(wall: 1_795_251_600_000, steady: 5_000_000)

    func ask(_ path: String, method: String = "GET", authorization: String? = nil) -> Reply {
      server.handle(
        Request(method, path, headers: authorization.map { [("Authorization", $0)] } ?? []), at: Bench.now)
    }

    /// The claims of the token at this key of the response. Expects a valid signature.
    func claims(_ reply: Reply, _ key: String) throws -> JSON {
      let text = try #require(try JSONParser.parse(Array(reply.text.utf8))[key]?.string)
      let parts = text.split(separator: ".").map(String.init)
      try #require(parts.count == 3)
      let signature = try #require(Base64.decode(parts[2], alphabet: .url))
      expect(account.key.isSignature(signature, of: Array("\(parts[0]).\(parts[1])".utf8)))
      let header = try JSONParser.parse(try #require(Base64.decode(parts[0], alphabet: .url)))
      expectEqual(header, ["alg": "RS256", "typ": "JWT", "kid": "0123abcd"])
      return try JSONParser.parse(try #require(Base64.decode(parts[1], alphabet: .url)))
    }
  }

  @Test(
    "an emulator with the same account accepts the server's tokens until they are revoked; other emulators reject them")
  func emulated() throws {
    let bench = try Bench()
    var now = Bench.now
    func token() throws -> String {
      try #require(
        try JSONParser.parse(Array(bench.ask("/token/delivery_driver/truck-17").text.utf8))["token"]?.string)
    }
    func send(_ token: String, to service: FleetService) throws -> JSON {
      let reply = service.handle(
        Request(
          "PATCH", "/v1/providers/p/deliveryVehicles/truck-17?updateMask=lastLocation",
          headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")],
          body: Array(#"{"lastLocation":{"location":{"latitude":1,"longitude":2}}}"#.utf8)), at: now)
      return try JSONParser.parse(Array(reply.text.utf8))
    }
    let key = try SigningKey()
    let other = FleetService(options: .init(), key: key, log: { _ in })
    expect(try send(token(), to: other).text.contains("SIGNATURE_INVALID"))
    let service = FleetService(options: .init(), key: key, account: bench.account, log: { _ in })
    let accepted = try send(token(), to: service)
    expect(accepted["lastLocation"] != nil)
    now = ServerTime(wall: now.wall + 1000, steady: now.steady + 1000)
    try service.perform(try MapCommand(try JSONParser.parse(Array(#"{"act":"revoke"}"#.utf8))), at: now)
    expect(try send(token(), to: service).text.contains("ACCESS_TOKEN_REVOKED"))
    let fresh = try TokenIssuer(key: bench.account.key, account: bench.account.email, lifetime: 3600)
      .issue(["deliveryvehicleid": "truck-17"], at: now)
    let again = try send(fresh.text, to: service)
    expect(again["lastLocation"] != nil)
  }

  @Test("a page of another site gets no token, unless the server is open to the network")
  func foreign() throws {
    let rebound = Request("GET", "/token/driver/truck-17", headers: [("Host", "evil.example")])
    let page = Request(
      "GET", "/token/driver/truck-17", headers: [("Host", "127.0.0.1:80"), ("Origin", "http://evil.example")])
    let local = try Bench()
    let image = Request(
      "GET", "/token/driver/truck-17", headers: [("Host", "localhost:80"), ("Sec-Fetch-Site", "cross-site")])
    for request in [rebound, page, image] { expectEqual(local.server.handle(request, at: Bench.now).status, 403) }
    expectEqual(local.server.issuedTokenCount, 0)
    let own = Request("GET", "/token/driver/truck-17", headers: [("Host", "localhost:80")])
    expectEqual(local.server.handle(own, at: Bench.now).status, 200)
    let open = try Bench { $0.isPublic = true }
    expectEqual(open.server.handle(rebound, at: Bench.now).status, 200)
  }

  @Test(
    "each path of Google's samples issues a token of this service account with its own claim, for an hour",
    arguments: [
      ("delivery_driver", "token", "deliveryvehicleid"), ("driver", "jwt", "vehicleid"),
      ("delivery_consumer", "token", "trackingid"), ("consumer", "jwt", "tripid"),
    ])
  func paths(kind: String, key: String, claim: String) throws {
    let bench = try Bench()
    let reply = bench.ask("/token/\(kind)/truck%2017")
    expectEqual(reply.status, 200)
    expectEqual(reply.header("Cache-Control"), "no-store")
    try expectEqual(
      bench.claims(reply, key),
      [
        "iss": .string(KeyFixture.email), "sub": .string(KeyFixture.email),
        "aud": "https://fleetengine.googleapis.com/", "iat": 1_795_251_600, "exp": 1_795_255_200,
        "authorization": .object([.init(claim, "truck 17")]),
      ])
    let answer = try JSONParser.parse(Array(reply.text.utf8))
    let end = answer[kind.hasPrefix("delivery") ? "expiration_timestamp_ms" : "expirationTimestamp"]
    expectEqual(end, 1_795_255_200_000)
    expectEqual(bench.server.issuedTokenCount, 1)
    expect(bench.lines.count == 1 && bench.lines[0].contains("truck 17  token issued (\(kind))"))
  }

  @Test("no log line contains a token")
  func secrecy() throws {
    let bench = try Bench()
    let token = try #require(
      try JSONParser.parse(Array(bench.ask("/token/driver/a").text.utf8))["jwt"]?.string)
    _ = bench.ask("/token/\(token)/x")
    _ = bench.ask("/\(token)")
    for part in token.split(separator: ".") { expect(!bench.lines.joined().contains(part)) }
  }

  @Test("vehicles out of scope get no token; a scope consists of vehicle IDs, and prefixes with a star")
  func scope() throws {
    let bench = try Bench { $0.vehicles = ["truck-*", "van-1"] }
    for (id, status) in [("truck-17", 200), ("van-1", 200), ("van-12", 403), ("truck", 403), ("*", 400)] {
      expectEqual(bench.ask("/token/delivery_driver/\(id)").status, status, "\(id)")
      expectEqual(bench.ask("/token/driver/\(id)").status, status, "\(id)")
    }
  }

  @Test("without the required Authorization header no client gets a token")
  func authorization() throws {
    let bench = try Bench { $0.authorization = "Bearer trial" }
    for wrong in [nil, "", "Bearer", "Bearer triaL", "Bearer trial "] {
      expectEqual(bench.ask("/token/driver/a", authorization: wrong).status, 401)
    }
    expectEqual(bench.ask("/token/driver/a", authorization: "Bearer trial").status, 200)
    expectEqual(bench.server.issuedTokenCount, 1)
  }

  @Test("a token for the whole fleet is issued only if the options allow it")
  func readers() throws {
    try expectEqual(Bench().ask("/token/fleet_reader/truck-17").status, 403)
    let bench = try Bench { $0.issuesReaderTokens = true }
    let claims = try bench.claims(bench.ask("/token/fleet_reader/truck-17"), "token")
    expectEqual(claims["authorization"], ["deliveryvehicleid": "*", "taskids": ["*"]])
  }

  @Test(
    "an invalid token request is rejected",
    arguments: [
      ("/", 404), ("/token", 404), ("/token/driver", 404), ("/token/driver/a/b", 404), ("/token/nobody/a", 404),
      ("/v1/providers/p/deliveryVehicles/a", 404), ("/token/driver/", 400), ("/token/driver/a%2Fb", 400),
      ("/token/driver/%zz", 400), ("/token/consumer/*", 400),
    ])
  func refused(path: String, status: Int) throws {
    let bench = try Bench()
    expectEqual(bench.ask(path).status, status)
    expectEqual(bench.server.issuedTokenCount, 0)
    expectEqual(bench.ask("/token/driver/a", method: "DELETE").status, 405)
  }
}
