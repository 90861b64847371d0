// SPDX-License-Identifier: Apache-2.0

/// Why an update was not accepted, in the one word that decides what happens next.
package struct UpdateFailure: Error, Equatable, Sendable {
  package enum Category: String, Sendable, CaseIterable {
    /// The network: no name, no route, no answer. Cheap to probe.
    case network
    /// The server has a fault that passes: 503, 504, 500, 408.
    case unavailable
    /// What answered is not Fleet Engine: a certificate that is not trusted, a web page, a captive portal.
    case untrusted
    /// The server asks for fewer requests (429).
    case throttled
    /// The token is not good (401).
    case unauthenticated
    /// The token may not do this (403).
    case denied
    /// The vehicle does not exist (404).
    case missing
    /// The request itself is refused (other 4xx).
    case rejected
    /// A certificate whose time has not come: this machine's clock is behind. Or a token whose times Google does not take: the
    /// clock of who signed it is wrong.
    case clock

    /// Whether the server that was asked has judged the request, so that sending the same again soon is of no use.
    package var isAnswered: Bool {
      switch self {
      case .network, .unavailable, .untrusted, .clock: false
      case .throttled, .unauthenticated, .denied, .missing, .rejected: true
      }
    }
  }

  package var category: Category
  /// HTTP status, when an answer came.
  package var httpStatus: Int?
  /// `error.status` of google.rpc.Status, as in `PERMISSION_DENIED`.
  package var status: String?
  /// One sentence for a person, without secrets.
  package var message: String
  /// The least wait that the server asks for.
  package var retryAfter: Duration?
  /// What is wrong with the token, when that is why, and the answer tells.
  package var cause: RefusalCause?

  package init(
    _ category: Category, _ message: String, httpStatus: Int? = nil, status: String? = nil, retryAfter: Duration? = nil,
    cause: RefusalCause? = nil
  ) {
    self.category = category
    self.message = message
    self.httpStatus = httpStatus
    self.status = status
    self.retryAfter = retryAfter
    self.cause = cause
  }

  /// Whether it is the token that is not accepted, so that another may be.
  package var refusesToken: Bool {
    category == .unauthenticated || category == .denied || cause?.isTime == true
  }

  /// Whether the server that was asked has judged the request, so that sending the same again soon is of no use.
  package var isAnswered: Bool { category.isAnswered || cause != nil }
}
