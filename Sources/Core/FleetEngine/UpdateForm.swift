// SPDX-License-Identifier: Apache-2.0

/// The form of an update's request, which decides how many bytes it costs. Both forms mean the same to Fleet Engine.
package enum UpdateForm: String, Sendable {
  /// Every field is written, the body is not compressed, and the response has the vehicle's name.
  case plain
  /// Fields with their default value are omitted, the body is compressed, and the response is empty.
  case compact

  /// The names of the fields in the response, for `X-Goog-FieldMask`. Without a mask the response is the whole vehicle,
  /// with every stop and path. The compact form asks for a field that this program never sets.
  var responseMask: String {
    switch self {
    case .plain: "name"
    case .compact: "navigationStatus"
    }
  }

  /// What follows the update mask in the query: Google's APIs indent their responses unless they are asked not to.
  var query: String {
    switch self {
    case .plain: ""
    case .compact: "&prettyPrint=false"
    }
  }

  /// Whether fields with their default value are written.
  var writesDefaults: Bool { self == .plain }
}

extension UpdateFailure {
  /// Whether the failure says something about the request: the server may have received it, and its response, if there
  /// is one, is neither about the token (401) nor about the server's load (429, 503).
  package var isAboutRequest: Bool {
    switch httpStatus {
    case nil: mayArrive
    case 401, 429, 503: false
    default: true
    }
  }

  /// Whether the server may have rejected the compact form and would accept the plain one: the server, or a gateway in
  /// front of it, may not know the coding (400, 415, 501), or the mask or the format of the response (400, 406), or may
  /// fail because of one of them (413, 500, 502); or a firewall may forbid the compact form (403). A 403 with a web
  /// page comes from a captive portal, and a response with `Retry-After` has another cause.
  package var mayBeDueToForm: Bool {
    guard retryAfter == nil else { return false }
    return switch httpStatus {
    case 400, 406, 413, 415, 500, 501, 502: true
    case 403: !category.row.isFromOtherServer
    default: false
    }
  }
}
