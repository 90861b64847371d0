// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
package import Timekeeping

/// The result of a request.
package enum HTTPOutcome: Equatable, Sendable {
  /// A response, with any status.
  case response(HTTPResponse)
  /// There was no response, or it was incomplete.
  case failure(TransportFailure)
}

extension HTTPOutcome {
  /// The server's time of the response, from its `Date`; nil if there is none, or it is invalid.
  package var date: Timestamp? {
    if case .response(let response) = self { response.date } else { nil }
  }
}

/// A complete response.
package struct HTTPResponse: Equatable, Sendable {
  /// 100 to 599.
  package var status: Int
  /// In the order of arrival; names as sent.
  package var headers: [(name: String, value: String)]
  /// The content; at most the request's `maximumResponseSize` bytes.
  package var body: [UInt8]
  /// The target of a redirect, if its `Location` is an absolute URL.
  package var redirect: WebAddress?

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The server's time of the response: `Date` plus `Age` if it comes from a cache. Nil if there is no date, or one of
  /// them is invalid.
  package var date: Timestamp? {
    guard let date = header("date").flatMap({ Timestamp(httpDate: $0) }) else { return nil }
    guard let age = header("age") else { return date }
    guard let seconds = Int64(age), (0...31_536_000).contains(seconds) else { return nil }
    return date + .seconds(seconds)
  }

  /// As in `a redirect to portal.example`: without path and query, which may be secret.
  package var redirectDescription: Sentence {
    "a redirect\(redirect.map { " to \(ExternalText($0.host))" as Sentence } ?? "")"
  }

  /// Whether a body begins as HTML does, as that of a captive portal or a login page.
  package static func isWebPage(_ body: [UInt8]) -> Bool { body.first { $0 > 32 } == UInt8(ascii: "<") }

  /// The value of the first header of that name, ignoring case.
  package func header(_ name: String) -> String? {
    headers.first { HTTPResponse.isSameName($0.name, name) }?.value
  }

  /// Whether two names are equal, ignoring the case of ASCII letters (RFC 9110, section 5.1).
  private static func isSameName(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    for (left, right) in zip(one.utf8, other.utf8) where left != right {
      let lower = left | 0x20
      guard left ^ right == 0x20, lower >= UInt8(ascii: "a"), lower <= UInt8(ascii: "z") else { return false }
    }
    return true
  }

  package static func == (left: HTTPResponse, right: HTTPResponse) -> Bool {
    left.status == right.status && left.body == right.body && left.redirect == right.redirect
      && left.headers.elementsEqual(right.headers) { $0.name == $1.name && $0.value == $1.value }
  }
}

/// Why there was no response.
package struct TransportFailure: Error, Equatable, Sendable {
  /// The kind of failure.
  package enum Kind: String, Sendable, CaseIterable {
    /// No address for the name: the name servers do not answer, or there is no such host.
    case unresolved
    /// No route, or the network was lost.
    case unreachable
    /// Connection refused: the machine can be reached, but the server is not running.
    case refused
    /// The request's deadline passed.
    case timedOut
    /// The connection was closed before the response was complete.
    case broken
    /// The server did not process the request: the same request on another connection will most likely succeed.
    case unprocessed
    /// A reused connection was closed without any data of the response. Usually the connection was already dead, and
    /// the same request on another connection will succeed; but the server may have received the request, and may
    /// process it later.
    case unanswered
    /// The server limits the request rate, and gave no response (HTTP/2 ENHANCE_YOUR_CALM).
    case throttled
    /// The certificate's issuer is unknown, or the certificate is for another host, or revoked.
    case certificateUntrusted
    /// The certificate is not valid yet: the clock of this machine may be behind.
    case certificateNotYetValid
    /// The certificate has expired, or the clock of this machine is ahead.
    case certificateExpired
    /// TLS failed in another way; the server may not be a TLS server.
    case handshakeFailed
    /// The response is larger than the request allows.
    case tooLarge
    /// The response is not valid HTTP, or uses a feature that was not requested.
    case malformed
    /// The server accepted the request (2xx) before it had received all of it, so it cannot have processed the request.
    case answeredEarly
    /// The request could not be attempted: an invalid URL, an unreadable CA file, no memory.
    case local

    /// Whether a server, or something in its place, was reached, and what it sent cannot be used.
    package var isUnusableResponse: Bool {
      switch self {
      case .throttled, .tooLarge, .malformed, .answeredEarly: true
      default: false
      }
    }

    /// What to do about it.
    ///
    /// - Parameters:
    ///   - section: the settings of the connection, as in `token`.
    ///   - url: the setting with the URL, as in `token.url`.
    package func advice(section: String, url: String) -> String {
      switch self {
      case .unresolved: "check \(url), \(section).proxy and the name servers"
      case .unreachable, .refused, .timedOut, .broken, .unprocessed, .unanswered:
        "check \(url), \(section).proxy and the firewall"
      case .throttled: "the server limits requests: if this persists, raise its limit"
      case .certificateUntrusted, .handshakeFailed, .tooLarge, .malformed, .answeredEarly:
        "a captive portal or a proxy answers instead, or \(url) or \(section).ca_file is wrong"
      case .certificateNotYetValid:
        "check this machine's clock, which may be behind (timedatectl), and the server's certificate"
      case .certificateExpired:
        "check this machine's clock, which may be ahead (timedatectl), and the server's certificate"
      case .local:
        section == "token"
          ? "check \(url), the values of token.headers, and token.proxy, token.ca_file, token.client_certificate and token.client_key"
          : "check \(url), \(section).proxy and \(section).ca_file"
      }
    }
  }

  package var kind: Kind
  /// One line for the journal, without secrets: libcurl's message or this program's own, in most cases with host and
  /// port.
  package var message: String
  /// Whether only the request failed: the connection remains open, and can carry the next request.
  package var isConnectionOpen = false

  package init(_ kind: Kind, _ message: String, isConnectionOpen: Bool = false) {
    self.kind = kind
    self.message = message
    self.isConnectionOpen = isConnectionOpen
  }
}
