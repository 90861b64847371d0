// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import FleetEngine
import HTTPMessages
import Positioning
import Testing
import Timekeeping

@testable import Configuration
@testable import Diagnosis

struct FleetEngineFindingsTests {
  @Test("the advice on a refused connection suggests a DNS lookup only for a host name, not for an address")
  func refused() {
    expect(FleetEngineCheck.refusedAdvice("tokens.example.com").contains("getent hosts tokens.example.com"))
    for address in ["127.0.0.1", "::1"] { expect(!FleetEngineCheck.refusedAdvice(address).contains("getent")) }
  }

  private static let settings = Settings.FleetEngine()
  private static let refusal = #"{"error":{"code":401,"message":"…","status":"UNAUTHENTICATED"}}"#

  private static func findings(
    _ status: Int, _ body: String, date: String? = TokenFixture.date, settings: Settings.FleetEngine = settings
  ) -> [Finding] {
    let headers = date.map { [(name: "date", value: $0)] } ?? []
    let response = HTTPResponse(status: status, headers: headers, body: [UInt8](body.utf8))
    return FleetEngineFindings.findings(.response(response), settings: settings, at: TokenFixture.now)
  }

  @Test("the check passes if Fleet Engine rejects a request without a token as unauthenticated")
  func good() {
    expectEqual(
      Self.findings(401, Self.refusal),
      [
        .pass("the TLS connection has a certificate of an authority that this system trusts"),
        .pass("it answers as Fleet Engine does to a request without a token: 401 UNAUTHENTICATED"),
        .pass("this machine's clock and Fleet Engine's Date are less than 5 s apart"),
      ])
  }

  @Test("the finding about TLS names the proxy and the file of a private authority; plain HTTP causes a warning")
  func proxyAndIssuer() {
    var settings = Self.settings
    settings.client.proxy = "http://proxy.example.com:3128"
    settings.client.caFile = "/etc/ca.pem"
    expectEqual(
      Self.findings(401, Self.refusal, settings: settings).first,
      .pass(
        "the TLS connection through the proxy has a certificate of an authority in /etc/ca.pem"))
    settings.endpoint = "http://127.0.0.1:8700"
    expectEqual(Self.findings(401, Self.refusal, settings: settings).first?.severity, .warn)
  }

  @Test("if a proxy accepts connections but does not answer, the advice suggests that it uses another protocol")
  func otherProxy() {
    func finding(_ kind: TransportFailure.Kind, _ proxy: String?) -> Finding? {
      var settings = Self.settings
      settings.client.proxy = proxy
      let failure = TransportFailure(kind, "h:443: timed out")
      return FleetEngineFindings.findings(.failure(failure), settings: settings, at: TokenFixture.now).first
    }
    let socks = finding(.timedOut, "socks5h://10.0.0.1:3128")
    expectEqual(socks?.sentence, "h:443: timed out, through the proxy, which accepts connections")
    expectEqual(
      socks?.advice?.hasPrefix("It may be a proxy of another kind than socks5h:// in fleet_engine.proxy"), true)
    expectEqual(finding(.timedOut, nil)?.sentence, "h:443: timed out")
    expectEqual(finding(.certificateUntrusted, "http://10.0.0.1")?.advice?.contains("another kind"), false)
  }

  @Test("a response that cannot be Fleet Engine's fails; an inconclusive response is a warning")
  func others() {
    let page = Self.findings(200, "<html>log in</html>")[1]
    expect(page.severity == .fail && page.sentence == "something answered 200 that is not Fleet Engine: a web page")
    for status in [429, 500, 503] {
      let busy = Self.findings(status, "<html>try later</html>")[1]
      expect(busy.severity == .warn && busy.sentence == "it cannot be checked now: HTTP \(status), a web page")
    }
    for (status, code) in [(429, "RESOURCE_EXHAUSTED"), (500, "INTERNAL"), (503, "UNAVAILABLE")] {
      let busy = Self.findings(status, #"{"error":{"code":\#(status),"message":"Busy.","status":"\#(code)"}}"#)[1]
      expect(busy.code == .fleetEngineUnavailable && busy.sentence == "it cannot be checked now: \(code): Busy")
    }
    expectEqual(Self.findings(511, "<html>log in</html>")[1].severity, .fail)
    expectEqual(
      Self.findings(404, "")[1].sentence, "the server that answers is not Fleet Engine: HTTP 404, an empty body")
    expectEqual(Self.findings(200, #"{"name":"x"}"#)[1].severity, .fail)
    let other = Self.findings(404, #"{"error":{"status":"NOT_FOUND"}}"#)[1]
    expect(other.severity == .warn && other.code == .otherServer)
  }

  @Test("a clock error is reported with its size and its direction")
  func clock() throws {
    let behind = Self.findings(401, Self.refusal, date: "Tue, 01 Dec 2026 03:00:00 GMT")[2]
    expectEqual(behind.severity, .warn)
    expectEqual(behind.sentence, "this machine's clock is 3 h behind Fleet Engine's Date")
    let ahead = Self.findings(401, Self.refusal, date: "Mon, 30 Nov 2026 23:59:00 GMT")[2]
    expectEqual(ahead.sentence, "this machine's clock is 60 s ahead of Fleet Engine's Date")
    expectEqual(Self.findings(401, Self.refusal, date: nil)[2].severity, .warn)
    // The check of the receiver's time gives the same advice for a clock that is ahead.
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    let fix = Fix(coordinate: place, time: .utc(Self.build + .seconds(1)))
    let received = ReceiverProbe.ReceivedFix(fix: fix, at: Moment(boot: .boot, wall: Self.build + .seconds(91)))
    let ofReceiver = try #require(ClockFindings.findings(received, buildDate: Self.build).last)
    expectEqual(ofReceiver.severity, .warn)
    expectEqual(ofReceiver.advice, ahead.advice)
    expectEqual(ahead.advice?.contains("tokens do not need"), true)
  }

  private static let build = Timestamp(seconds: 1_795_219_200)

  @Test("the check fails with advice on each transport error", arguments: TransportFailure.Kind.allCases)
  func failures(_ kind: TransportFailure.Kind) {
    let findings = FleetEngineFindings.findings(
      .failure(TransportFailure(kind, "host:443: words")), settings: Self.settings, at: TokenFixture.now)
    expectEqual(findings.map(\.severity), [.fail])
    expectEqual(findings.first?.advice?.isEmpty, false)
  }

  private static func dryRun(
    _ status: Int, _ code: String, _ message: String, of service: FleetEngineService = .deliveries
  ) -> Finding {
    let body = #"{"error":{"code":\#(status),"message":"\#(message)","status":"\#(code)"}}"#
    let response = HTTPResponse(status: status, headers: [], body: [UInt8](body.utf8))
    return FleetEngineFindings.finding(UpdateOutcome(.response(response), from: service))
  }

  @Test("a test update that is rejected for its empty update mask shows that the token is accepted")
  func dryRunAccepted() {
    expectEqual(
      Self.dryRun(400, "INVALID_ARGUMENT", "update_mask cannot be empty"),
      .pass("it accepts the token: a test update was rejected only because of its empty mask, as intended"))
    expectEqual(Self.dryRun(400, "INVALID_ARGUMENT", "Invalid vehicle id").severity, .warn)
  }

  @Test("a test update that is rejected for its token or its vehicle fails with advice; 503 causes a warning")
  func dryRunRefused() {
    let role = Self.dryRun(
      403, "PERMISSION_DENIED", "Permission 'fleetengine.deliveryvehicles.updateLocation' denied on resource")
    expect(role.severity == .fail && role.advice?.contains("roles/fleetengine.deliveryUntrustedDriver") == true)
    let trips = Self.dryRun(
      403, "PERMISSION_DENIED", "Permission 'fleetengine.vehicles.update' denied on resource", of: .trips)
    expect(trips.severity == .fail && trips.advice?.contains("roles/fleetengine.driverSdkUser") == true)
    let expired = Self.dryRun(401, "UNAUTHENTICATED", "JWT is expired")
    expect(expired.severity == .fail && expired.advice?.contains("clock") == true)
    let unknown = Self.dryRun(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
    expect(unknown.severity == .fail && unknown.advice?.contains("fleet-locationctl token") == true)
    expectEqual(Self.dryRun(404, "NOT_FOUND", "Vehicle not found").severity, .fail)
    expectEqual(Self.dryRun(503, "UNAVAILABLE", "The service is currently unavailable").severity, .warn)
  }

  @Test("the first hop is the proxy, or without a proxy the endpoint; without a port, the scheme's (proxy: 1080)")
  func firstHop() {
    var settings = Self.settings
    expectEqual(settings.firstHop, .init(host: "fleetengine.googleapis.com", port: 443))
    settings.endpoint = "http://[::1]:8700"
    expectEqual(settings.firstHop, .init(host: "::1", port: 8700))
    settings.client.proxy = "http://proxy.example.com"
    expectEqual(settings.firstHop, .init(host: "proxy.example.com", port: 1080))
  }
}
