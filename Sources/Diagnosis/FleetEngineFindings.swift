// SPDX-License-Identifier: Apache-2.0
package import Configuration
import ExternalInput
package import FleetEngine
package import HTTPMessages
import JSON
package import Timekeeping

/// Findings about Fleet Engine's responses: whether the server is Fleet Engine, its clock, and whether it accepts the
/// token.
package enum FleetEngineFindings {
  /// `Date` has whole seconds, and a response takes time.
  private static let tolerance = Duration.seconds(5)

  /// - Parameter now: when the response was received.
  package static func findings(
    _ outcome: HTTPOutcome, settings: Settings.FleetEngine, at now: Moment
  ) -> [Finding] {
    switch outcome {
    case .failure(let failure):
      return [self.failure(failure, proxy: settings.client.proxy)]
    case .response(let response):
      let route = settings.client.proxy == nil ? "" : " through the proxy"
      var findings: [Finding] = []
      if settings.endpoint.hasPrefix("https:") {
        let issuer = settings.client.caFile.map { "an authority in \($0)" } ?? "an authority that this system trusts"
        findings.append(.pass("the TLS connection\(route) has a certificate of \(issuer)"))
      } else {
        findings.append(
          .warn(
            .unencrypted, "positions are sent unencrypted, within this machine", "Use https:// for a real Fleet Engine")
        )
      }
      return findings + [finding(response), clock(outcome.date, now)]
    }
  }

  /// - Parameter proxy: nil if there is none. A proxy accepts connections: that was checked before.
  private static func failure(_ failure: TransportFailure, proxy: String?) -> Finding {
    let advice = UpdateFailure.advice(for: failure.kind)
    guard let proxy else { return .fail(.connectionFailed, failure.message, advice.sentenceCase) }
    switch failure.kind {
    case .timedOut, .broken, .unanswered, .malformed, .unreachable, .refused:
      let kind = proxy.prefix { $0 != ":" }
      return .fail(
        .connectionFailed, "\(failure.message), through the proxy, which accepts connections",
        "It may be a proxy of another kind than \(kind):// in fleet_engine.proxy (http, https, socks5 or socks5h), or it "
          + "does not let this server through; otherwise \(advice)")
    default: return .fail(.connectionFailed, "\(failure.message), through the proxy", advice.sentenceCase)
    }
  }

  /// The finding about an update with an empty mask and a token: Fleet Engine rejects it because of the mask, or the
  /// token.
  package static func finding(_ outcome: UpdateOutcome) -> Finding {
    guard case .failed(let failure) = outcome,
      failure.status != "INVALID_ARGUMENT" || !failure.message.lowercased().contains(text: "mask")
    else {
      return .pass("it accepts the token: a test update was rejected only because of its empty mask, as intended")
    }
    let sentence = "a test update: \(failure.message)"
    if failure.rejectsToken {
      return .fail(
        .tokenRejected, "\(sentence) (\(failure.category.rawValue))",
        "Fleet Engine does not accept the token: \(failure.tokenAdvice); fleet-locationctl token shows who signs it and "
          + "its claims")
    }
    if failure.category.row.needsConfiguration, let advice = failure.advice {
      return .fail(.updateRejected, sentence, advice.sentenceCase)
    }
    return .warn(
      .updateRejected, sentence,
      "Try again later; if it persists, journalctl -u fleet-locationd shows what happens to real updates")
  }

  /// Fleet Engine answers a request without a token with a JSON object that has `error`.
  private static func finding(_ response: HTTPResponse) -> Finding {
    let status = (try? JSONValue(parsing: response.body))?.value(at: "error.status")?.string?.onOneLine
    let code = response.status
    if let status, code == 401 || code == 403 {
      return .pass("it answers as Fleet Engine does to a request without a token: \(code) \(status)")
    }
    guard case .failed(let failure) = UpdateOutcome(.response(response), from: .deliveries) else {
      return .fail(
        .otherServer, "the server that answers is not Fleet Engine: HTTP \(code) without an error",
        UpdateFailure.advice(for: .malformed).sentenceCase)
    }
    // There is nothing to do: it usually resolves itself.
    if failure.advice == nil {
      return .warn(
        .fleetEngineUnavailable, "it cannot be checked now: \(failure.message)",
        "The daemon retries by itself; try again later")
    }
    if let status {
      return .warn(
        .otherServer, "it answers a request without a token with \(code) \(status), and not with 401",
        "Check fleet_engine.endpoint")
    }
    let isSuccess = (200..<300).contains(code)
    return .fail(
      .otherServer, "\(isSuccess ? "" : "the server that answers is not Fleet Engine: ")\(failure.message)",
      UpdateFailure.advice(for: .malformed).sentenceCase)
  }

  private static func clock(_ date: Timestamp?, _ now: Moment) -> Finding {
    guard let date else {
      return .warn(
        .clockUnknown, "the response has no Date header, so this machine's clock cannot be checked",
        "A proxy probably removes it")
    }
    let ahead = now.wall - date
    let distance = ahead < .zero ? .zero - ahead : ahead
    guard distance > tolerance else {
      return .pass("this machine's clock and Fleet Engine's Date are less than \(tolerance.wholeSeconds) s apart")
    }
    return .warn(
      .clockOffset,
      "this machine's clock is \(distance.humanReadable) \(ahead < .zero ? "behind" : "ahead of") Fleet Engine's Date",
      ClockFindings.consequence)
  }
}

extension String {
  /// Text from a server, shortened to one line.
  fileprivate var onOneLine: String { ExternalText(self, limit: 60).description }
}
