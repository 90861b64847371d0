// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// Fleet Engine behind TLS.
struct TLSTests {
  @Test("a server whose certificate is signed by the authority in ca_file is trusted")
  func good() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let front = try TLSFront(.good, before: try #require(bench.emulator).port)
    bench.settings["fleet_engine.endpoint"] = "\"https://localhost:\(front.port)\""
    bench.settings["fleet_engine.ca_file"] = "\"\(front.authority)\""
    try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
  }

  @Test("a reload applies the new contents of ca_file, even if its path is the same")
  func replacedAuthority() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let front = try TLSFront(.good, before: try #require(bench.emulator).port)
    let authority = try bench.directory.write(
      String(contentsOfFile: front.authority, encoding: .utf8), to: "ca.pem", mode: 0o644)
    bench.settings["fleet_engine.endpoint"] = "\"https://localhost:\(front.port)\""
    bench.settings["fleet_engine.ca_file"] = "\"\(authority)\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("an update") { daemon.shows("Online") }
    let openssl = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj",
        "/CN=another", "-keyout", bench.directory("another.key"), "-out", authority,
      ])
    try expectEqual(openssl.finish(), 0)
    daemon.process.signal(SIGHUP)
    try bench.wait("a reload") { daemon.notifications.count(of: "READY") == 2 }
    receiver.send(drive.next())
    try bench.wait("it is not trusted") { daemon.shows("(untrusted): localhost:\(front.port)") }
  }

  @Test(
    "an invalid or untrusted certificate is reported, and no update is sent",
    arguments: [
      (TLSFront.Certificate.expired, "untrusted", "expired"),
      (.notYetValid, "clock", "not yet valid"),
      (.wrongHost, "untrusted", "localhost"),
      (.unknownAuthority, "untrusted", "issuer certificate"),
    ])
  func bad(certificate: TLSFront.Certificate, category: String, says: String) throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let front = try TLSFront(certificate, before: try #require(bench.emulator).port)
    bench.settings["fleet_engine.endpoint"] = "\"https://localhost:\(front.port)\""
    bench.settings["fleet_engine.ca_file"] = "\"\(front.authority)\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("it is offline") {
      daemon.statuses.contains { $0.contains("(\(category)): localhost:\(front.port)") && $0.contains(says) }
    }
    expect(daemon.log.contains { $0.contains("Offline (\(category))") && $0.contains(says) })
    expectEqual(bench.emulator?.updates.isEmpty, true)
  }

  @Test(
    "a token provider that requires a client certificate gets it; without one, the daemon gets no token",
    arguments: [true, false])
  func clientCertificate(isShown: Bool) throws {
    let bench = try TestBench()
    let (certificate, key) = (bench.directory("box.pem"), bench.directory("box.key"))
    let openssl = try ChildProcess(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "2", "-subj",
        "/CN=box", "-keyout", key, "-out", certificate,
      ])
    try expectEqual(openssl.finish(), 0)
    let receiver = try bench.receiver()
    let front = try TLSFront(
      .good, before: try #require(bench.emulator).port,
      options: "--verify-client --verify-client-cacert=\(certificate)")
    bench.settings["token.url"] = "\"https://localhost:\(front.port)/token/delivery_driver/{vehicle_id}\""
    bench.settings["token.ca_file"] = "\"\(front.authority)\""
    if isShown {
      bench.settings["token.client_certificate"] = "\"\(certificate)\""
      bench.settings["token.client_key"] = "\"\(key)\""
    }
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    if isShown {
      try bench.wait("an update") { bench.emulator?.accepted.count == 1 }
    } else {
      try bench.wait("the status says so") { daemon.statuses.contains { $0.hasPrefix("No token") } }
      expectEqual(bench.emulator?.updates.isEmpty, true)
    }
  }

  @Test("a token provider with an untrusted certificate is reported with its address")
  func provider() throws {
    let bench = try TestBench()
    let receiver = try bench.receiver()
    let front = try TLSFront(.unknownAuthority, before: try #require(bench.emulator).port)
    bench.settings["token.url"] = "\"https://localhost:\(front.port)/token/delivery_driver/{vehicle_id}\""
    bench.settings["token.ca_file"] = "\"\(front.authority)\""
    let daemon = try bench.start(reading: receiver)
    var drive = NMEADrive()
    receiver.send(drive.next())
    try bench.wait("the status says so") {
      daemon.statuses.contains { $0.hasPrefix("No token") && $0.contains("localhost:\(front.port)") }
    }
  }
}
