// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Testing

/// Middleboxes between a vehicle and Fleet Engine, such as a ferry's or hotel's captive portal or a broken name
/// server: journal and STATUS name them.
struct PortalTests {
  /// A portal that answers for every host in plain HTTP, or with TLS and its own certificate.
  private static func portal(_ answer: String, status: String = "200 OK", certificate: TLSFront.Certificate?) throws
    -> (
      bench: TestBench, web: CannedServer, front: TLSFront?
    )
  {
    let bench = try TestBench()
    let web = try CannedServer(answer: answer, status: status)
    let front = try certificate.map { try TLSFront($0, before: web.port) }
    bench.otherReadables.append(web)
    bench.settings["fleet_engine.endpoint"] =
      front.map { "\"https://localhost:\($0.port)\"" } ?? "\"http://127.0.0.1:\(web.port)\""
    if let front { bench.settings["fleet_engine.ca_file"] = "\"\(front.authority)\"" }
    return (bench, web, front)
  }

  @Test(
    "a captive portal is reported in the journal and STATUS, whatever its response",
    arguments: [
      ("302 Found\r\nLocation: https://login.portal.example/?u=1", "", "a redirect to login.portal.example"),
      ("307 Temporary Redirect", "", "a redirect"),
      ("200 OK", "<html><title>Welcome aboard</title>", "a web page"),
      ("511 Network Authentication Required", "<html>", "511"),
      ("200 OK", "", "an empty body"),
    ])
  func page(status: String, body: String, says: String) throws {
    let (bench, _, _) = try PortalTests.portal(body, status: status, certificate: nil)
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      // STATUS leaves out the redirect's target: it is the portal's text, and every local user can read STATUS.
      let own = says.hasPrefix("a redirect") ? "a redirect" : says
      return daemon.statuses.contains {
        $0.contains("(untrusted): ") && $0.contains(own) && $0.contains("captive portal")
      }
    }
    expect(!daemon.statuses.contains { $0.contains("portal.example") })
    try bench.wait("the journal says so") {
      daemon.log.contains { $0.contains("Offline (untrusted): ") && $0.contains(says) && $0.contains("captive portal") }
    }
  }

  @Test(
    "a captive portal with TLS is detected by its certificate, and never gets the token",
    arguments: [TLSFront.Certificate.unknownAuthority, .wrongHost])
  func certificate(certificate: TLSFront.Certificate) throws {
    let (bench, web, front) = try PortalTests.portal(
      "", certificate: certificate)
    let receiver = try bench.receiver()
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    let port = try #require(front).port
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.contains("(untrusted): localhost:\(port)") && $0.contains("captive portal") }
    }
    expect(web.requests.isEmpty)
  }

  @Test("a captive portal in front of the token provider is reported in STATUS")
  func provider() throws {
    let (bench, _, front) = try PortalTests.portal("", certificate: .unknownAuthority)
    let receiver = try bench.receiver()
    bench.settings["token.url"] = "\"https://localhost:\(try #require(front).port)/token/{vehicle_id}\""
    bench.settings["token.ca_file"] = bench.settings["fleet_engine.ca_file"]
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.hasPrefix("No token: ") && $0.contains("captive portal") }
    }
  }

  @Test("an unknown host name is reported")
  func unknownName() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    bench.settings["fleet_engine.endpoint"] = "\"https://fleetengine.invalid\""
    bench.settings["reporting.interval"] = "\"5s\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so", within: .seconds(30)) {
      daemon.statuses.contains { $0.contains("(network): fleetengine.invalid:443: ") }
    }
  }
}
