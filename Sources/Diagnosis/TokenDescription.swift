// SPDX-License-Identifier: Apache-2.0
import Authorization
import ExternalInput
import HTTPMessages
import JSON
package import LocationDaemon
import Timekeeping

/// The output of `fleet-locationctl token`: header, claims, lifetime, and every problem. The signature and the token
/// itself are secrets, and shown only on request.
package struct TokenDescription {
  private let response: TokenProbe.Response
  private let revealsSecrets: Bool

  /// - Parameter revealsSecrets: whether the signature and the token are shown.
  package init(_ response: TokenProbe.Response, revealsSecrets: Bool) {
    self.response = response
    self.revealsSecrets = revealsSecrets
  }

  /// Whether the daemon would use it, and Fleet Engine would accept it as far as can be checked here.
  package var isUsable: Bool {
    response.failure == nil && response.inspection?.rejection == nil
  }

  /// The whole output, which ends with a line end.
  package var text: String {
    var lines: [String] = []
    if let inspection = response.inspection {
      lines += section("Header", inspection.header)
      lines += section("Claims", inspection.claims)
      lines += ["Signature", "  \(signature)"]
    }
    lines += ["Lifetime"] + lifetimeLines.map { "  \($0)" }
    lines += ["Problems"] + problems.map { "  \($0)" }
    if revealsSecrets, let secret = response.secret {
      lines += ["Token", "  \(JSONValue.string(secret.reveal()).text.dropFirst().dropLast())"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(_ title: String, _ value: JSONValue?) -> [String] {
    guard let members = value?.object else { return [title, "  cannot be read"] }
    let rows = members.sorted { $0.key < $1.key }.map { key, value in
      let name = shown(JSONValue.string(key).text.dropFirst().dropLast())
      let padding = String(repeating: " ", count: max(14 - name.count, 1))
      return "  \(name)\(padding)\(shown(value.text[...]))\(time(key, value))"
    }
    return [title] + (rows.isEmpty ? ["  none"] : rows)
  }

  /// A claim may contain a token by mistake.
  private func shown(_ text: Substring) -> String {
    !revealsSecrets && text.contains(text: "eyJ") ? "<redacted>" : String(text)
  }

  private func time(_ key: String, _ value: JSONValue) -> String {
    guard ["iat", "exp", "nbf"].contains(key), let seconds = value.integer else { return "" }
    return "  (\(Timestamp(seconds: seconds).canonicalJSON))"
  }

  private var signature: String {
    let part =
      response.secret?.reveal().split(separator: ".", omittingEmptySubsequences: false).dropFirst(2).first ?? ""
    if part.isEmpty { return "none" }
    return revealsSecrets
      ? String(JSONValue.string(String(part)).text.dropFirst().dropLast())
      : "\(part.utf8.count * 3 / 4) bytes; only Google can verify it; --reveal shows it"
  }

  private var lifetimeLines: [String] {
    var lines: [String] = []
    if let remaining = response.inspection?.remaining {
      lines.append(
        remaining > .zero
          ? "`exp` is in \(remaining.humanReadable)" : "`exp` was \((.zero - remaining).humanReadable) ago")
    }
    return lines + [response.lifetimeText.map { "the daemon would use it for \($0)" } ?? "the daemon would not use it"]
  }

  private var problems: [String] {
    let inspection = response.inspection
    var lines = (inspection?.problems ?? []).map {
      $0.isFatal ? $0.sentence.text : "\($0.sentence.text) (Fleet Engine accepts it nevertheless)"
    }
    // The daemon's own check would repeat the inspection's finding.
    if let failure = response.failure, inspection?.rejection == nil { lines.append(failure.withAdvice.text) }
    if let finding = response.shortLifetimeFinding { lines.append(finding.sentence) }
    return lines.isEmpty ? ["none"] : lines
  }
}
