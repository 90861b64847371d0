// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// How a request ended.
package enum HTTPOutcome: Equatable, Sendable {
  /// An answer came, whatever its status.
  case response(HTTPResponse)
  /// No answer came, or none that could be read to its end.
  case failure(TransportFailure)
}

extension HTTPOutcome {
  /// What time it was when the answer was sent, by its own `Date`; nil when there is none that can be read.
  package var date: Timestamp? {
    if case .response(let response) = self { response.date } else { nil }
  }
}

/// A whole answer.
package struct HTTPResponse: Equatable, Sendable {
  /// 100 to 599.
  package var status: Int
  /// In the order of arrival; names as sent.
  package var headers: [(name: String, value: String)]
  /// As it arrived; at most the request's `maximumResponseSize`.
  package var body: [UInt8]
  /// Where a redirect leads to, when its `Location` is a whole URL.
  package var redirect: WebAddress?

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// What time it was when the answer was sent: its `Date`, and its `Age` where it has lain in a cache since. Nil when there
  /// is no date, or one of them cannot be read.
  package var date: Timestamp? {
    guard let date = header("date").flatMap({ Timestamp(httpDate: $0) }) else { return nil }
    guard let age = header("age") else { return date }
    guard let seconds = Int64(age), (0...31_536_000).contains(seconds) else { return nil }
    return date + .seconds(seconds)
  }

  /// The first header of that name, in any case.
  package func header(_ name: String) -> String? {
    headers.first { HTTPResponse.isSame($0.name, name) }?.value
  }

  /// Whether two names differ at most in the case of ASCII letters (RFC 9110, section 5.1).
  private static func isSame(_ one: String, _ other: String) -> Bool {
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

/// Why no answer came.
package struct TransportFailure: Error, Equatable, Sendable {
  /// Where on the way the exchange failed.
  package enum Kind: String, Sendable, CaseIterable {
    /// No address for the name: name servers dead, or no such host.
    case unresolved
    /// No route, or the network went away.
    case unreachable
    /// The machine refuses connections: it can be reached, and the server on it does not run.
    case refused
    /// The request's deadline passed.
    case timedOut
    /// The connection broke off before the answer was whole.
    case broken
    /// The server says that it has not processed the request, or a connection that was kept has ended without a byte of the
    /// answer: the same request on another connection will most likely be answered.
    case unprocessed
    /// The server asks for fewer requests before it answers any (HTTP/2 ENHANCE_YOUR_CALM).
    case throttled
    /// The certificate's issuer is unknown, or it is for another host, or revoked.
    case certificateUntrusted
    /// The certificate's time has not come: the clock of this machine may be behind.
    case certificateNotYetValid
    /// The certificate's time has passed: at the server, or the clock of this machine is ahead.
    case certificateExpired
    /// TLS failed in another way; something that is not a TLS server answered.
    case handshakeFailed
    /// The answer is longer than the request allows.
    case tooLarge
    /// What came is not HTTP, or uses what was not asked for.
    case malformed
    /// This program, or this machine, could not even try: a bad URL, a CA file that cannot be read, no memory.
    case local
  }

  /// Whether a captive portal or a proxy that opens TLS looks like this: it answers in the name of every host.
  package var mayBePortal: Bool {
    switch kind {
    case .certificateUntrusted, .handshakeFailed, .malformed: true
    default: false
    }
  }

  package var kind: Kind
  /// What a person should know, in one line, without secrets: the library's words, with host and port.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
