// SPDX-License-Identifier: Apache-2.0
package import Configuration
import ExternalInput
package import FleetEngine
package import HTTPMessages
package import Timekeeping

/// What to make of the answer to a request without a token: who is at the other end of the way.
package enum FleetEngineFindings {
  /// `Date` has whole seconds, and an answer takes its time.
  private static let tolerance = Duration.seconds(5)

  /// - Parameter now: when it came.
  package static func findings(
    _ outcome: HTTPOutcome, settings: Settings.FleetEngine, at now: Moment
  ) -> [Finding] {
    switch outcome {
    case .failure(let failure): return [finding(failure, settings)]
    case .response(let response):
      let way = settings.client.proxy == nil ? "" : " through the proxy"
      var findings: [Finding] = []
      if settings.endpoint.hasPrefix("https:") {
        let issuer = settings.client.caFile.map { "the issuers in \($0)" } ?? "the issuers of this system"
        findings.append(.pass("an encrypted connection\(way), with a certificate that \(issuer) stand for"))
      } else {
        findings.append(.warn("positions go unencrypted, inside this machine", "For a real Fleet Engine: https://"))
      }
      return findings + [finding(response), clock(outcome.date, now)]
    }
  }

  /// What to make of the answer to an update of nothing, with a token: it is refused for its empty mask, or for the token.
  package static func finding(_ outcome: UpdateOutcome, _ vehicle: FleetEngineVehicle) -> Finding {
    guard case .failed(let failure) = outcome,
      failure.status != "INVALID_ARGUMENT" || !failure.message.lowercased().contains("mask")
    else {
      return .pass("it takes the token: a dry run of an update is refused only for its empty mask")
    }
    let sentence = "a dry run of an update: \(failure.message)"
    if failure.refusesToken {
      let advice =
        failure.cause?.advice(for: vehicle.service)
        ?? "see who signs it and for what, with fleet-locationctl token; its service account needs the role "
        + "\(vehicle.service.role) in the project \(vehicle.providerID)"
      return .fail("\(sentence) (\(failure.category.rawValue))", "Fleet Engine does not take the token: \(advice)")
    }
    if failure.category.row.needsConfiguration, let remedy = failure.remedy {
      return .fail(sentence, remedy.prefix(1).uppercased() + remedy.dropFirst())
    }
    return .warn(
      sentence, "Try again later; if it stays, journalctl -u fleet-locationd tells what became of real updates")
  }

  /// Fleet Engine refuses a request without a token in a JSON object with `error`.
  private static func finding(_ response: HTTPResponse) -> Finding {
    let json = try? JSONValue(parsing: response.body)
    let status = json?.value(at: "error.status")?.string
    switch (response.status, status) {
    case (401, let status?), (403, let status?):
      return .pass(
        "it answers as Fleet Engine does to a request without a token: \(response.status) \(status.onOneLine)")
    case (_, let status?):
      return .warn(
        "it answers a request without a token with \(response.status) \(status.onOneLine), and not with 401",
        "Look at fleet_engine.endpoint; later answers will tell more")
    case (let code, nil):
      let isPage = response.body.first { $0 > 32 } == UInt8(ascii: "<")
      return .fail(
        "what answers is not Fleet Engine: HTTP \(code) with \(isPage ? "a web page" : "an answer that is none of Google's")",
        "A captive portal or a proxy answers in its place, or fleet_engine.endpoint is wrong")
    }
  }

  private static func clock(_ date: Timestamp?, _ now: Moment) -> Finding {
    guard let date else {
      return .warn(
        "the answer has no Date: this machine's clock cannot be held against it", "Something on the way removes it")
    }
    let ahead = now.wall - date
    let distance = ahead < .zero ? .zero - ahead : ahead
    guard distance > tolerance else {
      return .pass("this machine's clock and Fleet Engine's Date are less than \(tolerance.wholeSeconds) s apart")
    }
    return .warn(
      "this machine's clock is \(distance.spoken) \(ahead < .zero ? "behind" : "ahead of") Fleet Engine's Date",
      "Positions and tokens go on; certificates are judged by the clock, and the journal's times are wrong: "
        + "timedatectl set-ntp true")
  }

  private static func finding(_ failure: TransportFailure, _ settings: Settings.FleetEngine) -> Finding {
    let way = settings.client.proxy == nil ? "" : ", fleet_engine.proxy"
    let advice =
      switch failure.kind {
      case .unresolved: "Check the name servers\(way): resolvectl query, or getent hosts, and the name"
      case .unreachable, .refused, .timedOut, .broken, .unprocessed, .throttled:
        "Check the firewall between\(way): curl -v, and the endpoint"
      case .certificateUntrusted, .handshakeFailed, .malformed, .tooLarge:
        "A captive portal or a proxy that opens TLS answers in its place, or fleet_engine.ca_file is wrong\(way)"
      case .certificateNotYetValid: "This machine's clock is behind, or the certificate is not valid yet: timedatectl"
      case .certificateExpired: "This machine's clock is ahead, or the certificate has expired: timedatectl"
      case .local: "Check fleet_engine.endpoint and fleet_engine.ca_file\(way)"
      }
    return .fail(failure.message, advice)
  }
}

extension String {
  /// Words of somebody else, for a sentence.
  fileprivate var onOneLine: String { ExternalText(self, limit: 60).description }
}
