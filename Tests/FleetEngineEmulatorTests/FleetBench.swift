// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import FleetEngineEmulator

extension ServerTime {
  func advanced(by milliseconds: Int64) -> ServerTime {
    ServerTime(wall: wall + milliseconds, steady: steady + milliseconds)
  }
}

/// A Fleet Engine service with its log lines and records, and a client.
final class FleetBench {
  // One key for all tests, because generating one takes time.
  nonisolated(unsafe) private static let key = try? SigningKey()

  let service: FleetService
  var now = ServerTime(wall: 1_795_251_600_000, steady: 5_000_000)
  private let output: Output

  private final class Output {
    var lines: [String] = []
    var records: [JSON] = []
  }

  var lines: [String] { output.lines }
  var records: [JSON] { output.records }

  init(_ configure: (inout FleetService.Options) -> Void = { _ in }) throws {
    var options = FleetService.Options()
    configure(&options)
    let output = Output()
    self.output = output
    service = FleetService(
      options: options, key: try #require(Self.key), log: { output.lines.append($0) },
      record: { output.records.append($0) })
  }

  /// Another service, which passes its events to `observe`.
  func observed(_ observe: @escaping (FleetEvent) -> Void) throws -> FleetService {
    FleetService(options: .init(), key: try #require(Self.key), log: { _ in }, observe: observe)
  }

  func send(_ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: String = "")
    -> Reply
  {
    service.handle(Request(method, target, headers: headers, body: Array(body.utf8)), at: now)
  }

  func json(_ reply: Reply) throws -> JSON {
    try JSONParser.parse(Array(reply.text.utf8))
  }

  func token(_ vehicle: String = "truck-17") throws -> String {
    try #require(try json(send("GET", "/token/delivery_driver/\(vehicle)"))["token"]?.string)
  }

  func update(
    _ target: String = "truck-17?updateMask=lastLocation", token: String, seconds: Int64 = 0, body: String? = nil
  ) -> Reply {
    let time = RFC3339.text(milliseconds: now.wall + seconds * 1000)
    let position =
      #"{"lastLocation":{"supplementalLocation":{"latitude":48.1173,"longitude":11.5166700},"#
      + #""supplementalLocationTime":"\#(time)","supplementalLocationAccuracy":4.0,"speed":12.3,"heading":87}}"#
    return send(
      "PATCH", "/v1/providers/p/deliveryVehicles/\(target)",
      headers: [("Authorization", "Bearer \(token)"), ("Content-Type", "application/json")], body: body ?? position)
  }

  func fault(_ body: String) throws {
    expectEqual(send("POST", "/debug/faults", body: body).status, 200)
  }

  /// The `error.status` of a rejection.
  func status(_ reply: Reply) throws -> String? {
    try json(reply)["error"]?["status"]?.string
  }
}
