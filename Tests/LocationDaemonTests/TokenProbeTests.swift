// SPDX-License-Identifier: Apache-2.0
import Authorization
import Configuration
import EventLoop
import Expectations
import FileTesting
import Foundation
import HTTPMessages
import LocationDaemon
import LoopTesting
import Testing
import Timekeeping

struct TokenProbeTests {
  private let loop: EventLoop
  private let directory: TemporaryDirectory

  init() throws {
    EventLoop.blockSignals()
    loop = try EventLoop()
    directory = try TemporaryDirectory()
  }

  private final class Slot {
    var response: TokenProbe.Response?
  }

  private func ask(_ token: String, for scope: AuthorizationContext.Scope) throws -> TokenProbe.Response {
    let text = """
      [vehicle]
      provider_id = "p"
      vehicle_id = "truck-17"
      [source]
      type = "gpsd"
      [token]
      \(token)
      """
    let file = try SettingsFile.load(path: try directory.write(text, to: "settings.toml"), environment: .system)
    let probe = try TokenProbe(file.settings, loop: loop)
    let slot = Slot()
    let context = try #require(AuthorizationContext(providerID: "p", scope: scope))
    try probe.ask(for: context) { slot.response = $0 }
    expect(try loop.runs { slot.response != nil })
    return try #require(slot.response)
  }

  /// An unsigned token: {"alg":"none"} and {"authorization":{"tripid":"trip-9"},"iat":…,"exp":…}.
  private func token(at now: Int64) -> String {
    let claims = #"{"authorization":{"tripid":"trip-9"},"iat":\#(now),"exp":\#(now + 3600)}"#
    return [#"{"alg":"none"}"#, claims].map {
      Data($0.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
    }.joined(separator: ".") + "."
  }

  private var now: Int64 { Int64(Date().timeIntervalSince1970) }

  @Test("a token command is run for a trip's token, and the token and all its problems are reported")
  func command() throws {
    let response = try directory.write(#"{"token":"\#(token(at: now))"}"#, to: "response")
    let result = try ask(
      "provider = \"command\"\ncommand = [\"/bin/cat\", \"\(response)\"]", for: .trip("trip-9"))
    let token = try result.token.get()
    expectEqual(token.context.scope, .trip("trip-9"))
    expectEqual(
      result.inspection?.problems.map(\.kind), [.unsigned, .keyIDMissing, .signatureMissing, .audience, .account])
  }

  @Test("a token that the daemon would reject is inspected all the same")
  func refused() throws {
    let file = try directory.write(token(at: now - 7200), to: "token")
    let result = try ask("provider = \"file\"\nfile = \"\(file)\"", for: .deliveryVehicle("truck-17"))
    guard case .failure(let failure) = result.token else {
      Issue.record("the token is accepted")
      return
    }
    expectEqual(failure.reason, .missingClaim)
    let kinds = result.inspection?.problems.map(\.kind) ?? []
    expect(kinds.contains(.claimMissing) && kinds.contains(.expired))
    expect(!"\(result)".contains(".eyJ"))
  }

  @Test("without a token there is no inspection")
  func nothing() throws {
    let result = try ask("provider = \"file\"\nfile = \"/nonexistent/token\"", for: .deliveryVehicle("truck-17"))
    expectNil(result.inspection)
    #expect(throws: TokenFailure.self) { try result.token.get() }
  }
}
