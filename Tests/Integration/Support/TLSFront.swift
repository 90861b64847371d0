// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// TLS and HTTP/2 in front of an emulator, with a certificate of a private authority.
final class TLSFront {
  enum Certificate: String, CaseIterable {
    case good
    /// Issued an hour ago, and so newer than the build.
    case recent
    case expired
    case notYetValid = "not-yet-valid"
    case wrongHost = "wrong-host"
    case unknownAuthority = "unknown-ca"
  }

  let port: UInt16
  /// PEM file of the trusted authority.
  let authority: String
  private let process: ChildProcess

  private static let script = "\(ChildProcess.root)/Tests/Interop/tls-front.sh"

  /// The directory of the certificates, which are made once for all tests, because this takes a second.
  private static let certificates = Result {
    let path = "/tmp/flit-certificates-\(getpid())"
    let process = try ChildProcess("/bin/sh", [script, "certificates", path])
    guard try process.finish(within: .seconds(60)) == 0 else { throw TestFailure(process.errors.text) }
    atexit { try? FileManager.default.removeItem(atPath: "/tmp/flit-certificates-\(getpid())") }
    return path
  }

  /// - Parameter options: options of nghttpx.
  init(_ certificate: Certificate, before port: UInt16, options: String = "") throws {
    let directory = try TLSFront.certificates.get()
    authority = "\(directory)/ca.crt"
    self.port = try Loopback.freePort()
    process = try ChildProcess(
      "/bin/sh", [TLSFront.script, "serve", directory, certificate.rawValue, "\(self.port)", "\(port)"],
      environment: ["NGHTTPX_OPTIONS": options])
    try wait(for: "the TLS front listens", within: .seconds(20), reading: process.sources) { [process] in
      if process.hasEnded { throw TestFailure("the TLS front ended: \(process.errors.text)") }
      return Loopback.answers(self.port)
    }
  }
}
