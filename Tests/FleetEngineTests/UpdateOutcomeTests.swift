// SPDX-License-Identifier: Apache-2.0
import Authorization
import Expectations
import ExternalInput
import FleetEngine
import FoundationEssentials
import HTTPMessages
import Testing
import Timekeeping

struct UpdateOutcomeTests {
  private func failure(
    _ http: Int, _ body: String, headers: [(name: String, value: String)] = [], showing names: [String] = []
  ) -> UpdateFailure? {
    let outcome = UpdateOutcome(
      .response(HTTPResponse(status: http, headers: headers, body: [UInt8](body.utf8))), from: .deliveries,
      showing: names)
    if case .failed(let failure) = outcome { return failure }
    return nil
  }

  private func error(_ status: String, _ message: String = "words", details: String = "") -> String {
    #"{"error":{"code":0,"message":"\#(message)","status":"\#(status)","details":[\#(details)]}}"#
  }

  @Test("200 with a JSON object is an acknowledgement")
  func accepted() {
    expectNil(failure(200, #"{"name":"providers/p/deliveryVehicles/v"}"#))
    expectNil(failure(200, "{}"))
  }

  @Test("no other 2xx is an acknowledgement, whatever its body", arguments: [201, 202, 203, 204, 205, 206, 299])
  func otherSuccess(http: Int) {
    expectEqual(failure(http, #"{"name":"providers/p/deliveryVehicles/v"}"#)?.category, .notFleetEngine)
    expectEqual(failure(http, "{}")?.category, .notFleetEngine)
  }

  @Test("200 with an error in its body counts as that error, and not as an acknowledgement")
  func errorWithin() {
    expectEqual(failure(200, error("PERMISSION_DENIED"))?.category, .permissionDenied)
    expectEqual(failure(200, error("UNAVAILABLE"))?.category, .unavailable)
    for body in [#"{"error":null}"#, #"{"error":{}}"#, #"{"error":"no"}"#, #"{"name":"x","\u0065rror":1}"#] {
      expectEqual(failure(200, body)?.category, .notFleetEngine, "\(body)")
    }
    // Only an `error` at the top level is an error.
    expectNil(failure(200, #"{"vehicle":{"error":1}}"#))
  }

  @Test(
    "a 200 without a JSON object is not from Fleet Engine",
    arguments: ["", "<html>", "[]", "\"ok\"", "{\"cut", "\u{0}"])
  func notFleetEngine(body: String) {
    expectEqual(failure(200, body)?.category, .notFleetEngine)
  }

  @Test(
    "the google.rpc status determines the category, whatever the HTTP status",
    arguments: [
      ("CANCELLED", .unavailable), ("UNKNOWN", .unavailable), ("INVALID_ARGUMENT", .rejected),
      ("DEADLINE_EXCEEDED", .unavailable), ("NOT_FOUND", .notFound), ("ALREADY_EXISTS", .rejected),
      ("PERMISSION_DENIED", .permissionDenied), ("UNAUTHENTICATED", .unauthenticated),
      ("RESOURCE_EXHAUSTED", .throttled),
      ("FAILED_PRECONDITION", .rejected), ("ABORTED", .unavailable), ("OUT_OF_RANGE", .rejected),
      ("UNIMPLEMENTED", .rejected), ("INTERNAL", .unavailable), ("UNAVAILABLE", .unavailable),
      ("DATA_LOSS", .unavailable),
    ] as [(String, UpdateFailure.Category)])
  func byStatus(status: String, category: UpdateFailure.Category) {
    for http in [400, 401, 403, 404, 409, 429, 499, 500, 501, 503, 504] {
      let failure = failure(http, error(status))
      expectEqual(failure?.category, category)
      expectEqual(failure?.status, status)
      expectEqual(failure?.httpStatus, http)
      expectEqual(failure?.message, "\(status): words")
    }
  }

  @Test(
    "without a google.rpc status, the HTTP status and whether the body is JSON determine the category",
    arguments: [
      (302, .notFleetEngine, .notFleetEngine), (400, .rejected, .notFleetEngine),
      (401, .unauthenticated, .notFleetEngine),
      (403, .permissionDenied, .notFleetEngine), (404, .notFound, .notFleetEngine), (405, .rejected, .notFleetEngine),
      (407, .rejected, .notFleetEngine), (408, .unavailable, .unavailable), (413, .rejected, .rejected),
      (429, .throttled, .throttled), (499, .unavailable, .unavailable), (500, .unavailable, .unavailable),
      (502, .unavailable, .unavailable), (503, .unavailable, .unavailable), (504, .unavailable, .unavailable),
      (511, .notFleetEngine, .notFleetEngine), (599, .unavailable, .unavailable),
    ] as [(Int, UpdateFailure.Category, UpdateFailure.Category)])
  func byNumber(http: Int, json: UpdateFailure.Category, page: UpdateFailure.Category) {
    expectEqual(failure(http, "{}")?.category, json)
    expectEqual(failure(http, #"{"error":"old style"}"#)?.category, json)
    expectEqual(failure(http, error("SOMETHING_NEW"))?.category, json)
    expectEqual(failure(http, "<html>Error")?.category, page)
    expectEqual(failure(http, "")?.category, page)
  }

  @Test("every kind of failure without a response has its category", arguments: TransportFailure.Kind.allCases)
  func transport(kind: TransportFailure.Kind) {
    let expected: UpdateFailure.Category =
      switch kind {
      case .unresolved, .unreachable, .refused, .timedOut, .broken, .unprocessed, .unanswered, .local: .network
      case .throttled: .throttled
      case .certificateNotYetValid: .clockSkew
      case .certificateUntrusted, .certificateExpired, .handshakeFailed, .tooLarge, .malformed, .answeredEarly:
        .notFleetEngine
      }
    let outcome = UpdateOutcome(.failure(TransportFailure(kind, "why")), from: .deliveries)
    var failure = UpdateFailure(expected, "why", from: .deliveries)
    failure.transport = kind
    expectEqual(failure.isWorthResending, [.unprocessed, .unanswered].contains(kind))
    let isUnsent =
      switch kind {
      case .unresolved, .unreachable, .refused, .certificateNotYetValid, .certificateExpired, .certificateUntrusted:
        true
      case .timedOut, .broken, .unprocessed, .unanswered, .local, .throttled, .handshakeFailed, .tooLarge, .malformed,
        .answeredEarly:
        false
      }
    expectEqual(failure.isUnsent, isUnsent)
    expectEqual(failure.mayArrive, (!isUnsent && kind != .unprocessed))
    expectEqual(outcome, .failed(failure))
    expectEqual(
      (failure.advice?.contains("clock") == true), [.certificateNotYetValid, .certificateExpired].contains(kind))
  }

  @Test("the longer of Retry-After and RetryInfo is used, up to 15 minutes; an unreadable RetryInfo is ignored")
  func retryAfter() {
    func info(_ delay: String) -> String {
      #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"\#(delay)"}"#
    }
    let exhausted = "RESOURCE_EXHAUSTED"
    expectNil(failure(429, error(exhausted))?.retryAfter)
    expectEqual(failure(429, error(exhausted, details: info("3.5s")))?.retryAfter, .milliseconds(3500))
    expectEqual(failure(429, error(exhausted), headers: [("Retry-After", "7")])?.retryAfter, .seconds(7))
    for (header, longer) in [("7", 20), ("30", 30)] {
      let both = failure(429, error(exhausted, details: info("20s")), headers: [("retry-after", header)])
      expectEqual(both?.retryAfter, .seconds(longer))
    }
    expectEqual(failure(503, "<html>", headers: [("Retry-After", "30")])?.retryAfter, .seconds(30))
    expectEqual(failure(429, error(exhausted, details: info("99999999999s")))?.retryAfter, .seconds(900))
    for unreadable in ["-3s", "3", "nans", "infs", "0x1p3s", "1s2s", "s", "", "1e9s"] {
      expectNil(failure(429, error(exhausted, details: info(unreadable)))?.retryAfter, "\(unreadable)")
    }
    let header: [(name: String, value: String)] = [
      ("Date", "Sat, 21 Nov 2026 08:30:00 GMT"), ("Retry-After", "Sat, 21 Nov 2026 08:31:00 GMT"),
    ]
    expectEqual(failure(429, error(exhausted), headers: header)?.retryAfter, .seconds(60))
  }

  @Test("a server's message is truncated to one line of limited length")
  func messageLength() throws {
    let long = try #require(failure(400, error("INVALID_ARGUMENT", String(repeating: "x", count: 5000))))
    expect(long.message.count < 250)
    let lines = try #require(failure(400, error("INVALID_ARGUMENT", #"one\ntwo\u0007"#)))
    expectEqual(lines.message, "INVALID_ARGUMENT: one two ")
    expectEqual(failure(400, error("INVALID_ARGUMENT", "Bad mask."))?.message, "INVALID_ARGUMENT: Bad mask")
    expectEqual(failure(403, "<html>")?.message, "HTTP 403, a web page")
    expectEqual(failure(403, "<html>")?.advice?.contains("captive portal"), true)
  }

  @Test("the vehicle's own ID is shown unmasked in the message, even if it is a VIN or a UUID")
  func ownName() throws {
    for id in ["WDB9066351S123456", "7f3a2c1e-90ab-4d5e-8f12-3456789abcde"] {
      let text = "Vehicle providers/acme-fleet-3f9a2b/deliveryVehicles/\(id) not found"
      let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "acme-fleet-3f9a2b", vehicleID: id)
      let found = try #require(failure(404, error("NOT_FOUND", text + "."), showing: vehicle.names))
      expectEqual(found.message, "NOT_FOUND: \(text)")
      expectEqual(found.sentence.ownText, found.message)
    }
  }

  @Test(
    "Google's messages about a token, a role or a name are in public text; those that may quote the request are not",
    arguments: [
      (401, "UNAUTHENTICATED", true), (403, "PERMISSION_DENIED", true), (404, "NOT_FOUND", true),
      (400, "INVALID_ARGUMENT", false), (429, "RESOURCE_EXHAUSTED", false), (503, "UNAVAILABLE", false),
      (403, "NO_SUCH_CODE", false),
    ])
  func publicText(http: Int, status: String, isShown: Bool) throws {
    let rejected = try #require(failure(http, error(status, "billing is disabled for this project")))
    expectEqual(rejected.sentence.ownText.contains("billing"), isShown)
    expect(rejected.message.contains("billing"))
    // A page from a proxy or a portal is not Google's message.
    let page = try #require(failure(http, #"{"error": {"message": "log in to my-hotspot"}}"#))
    expect(!page.sentence.ownText.contains("log in"))
  }

  @Test("if Fleet Engine rejects a token with a defect, the defect is reported after the response's reason")
  func tokenProblem() throws {
    let token = { (claims: String) in
      let payload = Data(claims.utf8).base64EncodedString().compactMap {
        $0 == "=" ? nil : $0 == "+" ? "-" : $0 == "/" ? "_" : $0
      }
      return Secret("eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.\(String(payload)).s")
    }
    let claims =
      #""iss":"a@b","sub":"a@b","iat":1796083200,"exp":1796086800,"authorization":{"deliveryvehicleid":"v"}"#
    let context = AuthorizationContext(providerID: "p", scope: .deliveryVehicle("v"))
    let inspect = { TokenInspection(of: token($0), for: context, at: Timestamp(seconds: 1_796_083_260)) }
    let rejected = try #require(
      failure(401, error("UNAUTHENTICATED", "Jwt verification fails", details: "")))
    expectEqual(rejected.cause, .signature)
    let wrong = rejected.explained(by: inspect("{\"aud\":\"https://example.com\",\(claims)}"))
    expect(wrong.message.contains("Jwt verification fails; the token itself is wrong: the audience (`aud`) is"))
    expect(wrong.advice == "set \"aud\": \"https://fleetengine.googleapis.com/\"" && wrong.tokenAdvice == wrong.advice)
    // A valid token leaves the message unchanged.
    let good = inspect("{\"aud\":\"https://fleetengine.googleapis.com/\",\(claims)}")
    expect(good.problems == [] && rejected.explained(by: good) == rejected)
  }

  @Test("a redirect is reported with the host of its target, and without anything that may be secret")
  func redirect() {
    var response = HTTPResponse(status: 302)
    func message() -> String? {
      guard case .failed(let failure) = UpdateOutcome(.response(response), from: .deliveries) else { return nil }
      return failure.category == .notFleetEngine ? failure.message : nil
    }
    expectEqual(message(), "HTTP 302, a redirect")
    response.redirect = WebAddress(
      scheme: "https", host: "login.portal.example", path: "/?token=1", hasCredentials: true)
    expectEqual(message(), "HTTP 302, a redirect to login.portal.example")
  }
}
