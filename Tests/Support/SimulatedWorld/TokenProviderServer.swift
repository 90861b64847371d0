// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// A token provider: it knows the true time, and records the tokens that it issued.
struct TokenProviderServer {
  struct Issued {
    var vehicle: String
    /// True seconds since boot.
    var issuedAt: Double
    /// The token's lifetime in seconds.
    var lifetime: Int
  }

  private(set) var issued: [String: Issued] = [:]
  /// The faults that were active when the provider received a request.
  private(set) var coveredFaults: Set<FaultCase> = []
  private var serial = 0

  mutating func answer(url: String, at second: Double, _ scenario: Scenario) -> HTTPResponse {
    var headers = [TokenProviderServer.date(at: second, wrongBy: TokenProviderServer.clockError(scenario, at: second))]
    var backdating: Int64 = 0
    for case .providerUndated(let seconds) in scenario.faults.filter({ $0.isActive(at: second) }).map(\.kind) {
      (headers, backdating) = ([], seconds)
    }
    var vehicle = url.split(separator: "/").last.map(String.init) ?? ""
    var age = 0
    for fault in scenario.faults where fault.place == .provider && fault.isActive(at: second) {
      coveredFaults.insert(FaultCase(fault.kind))
      switch fault.kind {
      case .providerAnswers(let status): return HTTPResponse(status: status, headers: headers, body: [UInt8]("{}".utf8))
      case .providerWebPage: return HTTPResponse(status: 200, headers: headers, body: [UInt8]("<html>Log in".utf8))
      case .providerForeign: vehicle = "truck-99"
      case .providerStale: age = scenario.tokenLife + 60
      default: break
      }
    }
    guard url.contains("tokens.test/token") else {
      return HTTPResponse(status: 404, headers: headers, body: [UInt8]("{}".utf8))
    }
    serial += 1
    let iat = (Scenario.boot.milliseconds + Int64(second * 1000)) / 1000 - Int64(age)
    let claim = scenario.trips == nil ? "deliveryvehicleid" : "vehicleid"
    let payload =
      #"{"iat":\#(iat - backdating),"exp":\#(iat + Int64(scenario.tokenLife)),"authorization":{"\#(claim)":"\#(vehicle)"}}"#
    let token = "e30.\(Base64URL.encode([UInt8](payload.utf8))).s\(serial)"
    issued[token] = Issued(vehicle: vehicle, issuedAt: second, lifetime: scenario.tokenLife - age)
    let body = #"{"token":"\#(token)","expiration_timestamp_ms":\#((iat + Int64(scenario.tokenLife)) * 1000)}"#
    return HTTPResponse(status: 200, headers: headers, body: [UInt8](body.utf8))
  }

  /// The `Date` header of a response, by a clock with this error in seconds.
  static func date(at second: Double, wrongBy error: Int64 = 0) -> (name: String, value: String) {
    ("Date", httpDate(Scenario.boot + .milliseconds(Int64(second * 1000)) + .seconds(error)))
  }

  private static func clockError(_ scenario: Scenario, at second: Double) -> Int64 {
    for fault in scenario.faults where fault.isActive(at: second) {
      if case .providerClock(let seconds) = fault.kind { return seconds }
    }
    return 0
  }

  static func httpDate(_ stamp: Timestamp) -> String {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let time = stamp.rfc3339.dropFirst(11).prefix(8)
    let day = stamp.date.day
    return "Tue, \(day < 10 ? "0" : "")\(day) \(months[stamp.date.month - 1]) \(stamp.date.year) \(time) GMT"
  }
}
