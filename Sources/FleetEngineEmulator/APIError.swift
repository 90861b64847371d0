// SPDX-License-Identifier: Apache-2.0

/// An error in the format of Google's servers: `google.rpc.Status` in JSON (AIP-193).
package struct APIError: Error, Equatable, Sendable {
  /// `google.rpc.Code`, with the HTTP status that each code maps to (google/rpc/code.proto).
  package enum Code: String, Sendable, CaseIterable {
    case invalidArgument = "INVALID_ARGUMENT"
    case failedPrecondition = "FAILED_PRECONDITION"
    case unauthenticated = "UNAUTHENTICATED"
    case permissionDenied = "PERMISSION_DENIED"
    case notFound = "NOT_FOUND"
    case alreadyExists = "ALREADY_EXISTS"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case cancelled = "CANCELLED"
    case `internal` = "INTERNAL"
    case unimplemented = "UNIMPLEMENTED"
    case unavailable = "UNAVAILABLE"
    case deadlineExceeded = "DEADLINE_EXCEEDED"
    case unknown = "UNKNOWN"

    /// The HTTP status that Google's servers send with it.
    package var httpStatus: Int {
      switch self {
      case .invalidArgument, .failedPrecondition: 400
      case .unauthenticated: 401
      case .permissionDenied: 403
      case .notFound: 404
      case .alreadyExists: 409
      case .resourceExhausted: 429
      case .cancelled: 499
      case .internal, .unknown: 500
      case .unimplemented: 501
      case .unavailable: 503
      case .deadlineExceeded: 504
      }
    }

    /// The code for a response of which only the HTTP status is known.
    package init(httpStatus: Int) {
      switch httpStatus {
      case 400: self = .invalidArgument
      case 500: self = .internal
      default:
        let match = Code.allCases.first { $0.httpStatus == httpStatus }
        self = match ?? (httpStatus < 500 ? .failedPrecondition : .unavailable)
      }
    }
  }

  /// The `status` of the error.
  package var code: Code
  /// The HTTP status; it differs from `code.httpStatus` where HTTP has a more specific status, such as 405, 413 or 415.
  package var httpStatus: Int
  /// The message for people; clients must not evaluate it.
  package var message: String
  /// `ErrorInfo.reason`, upper snake case.
  package var reason: String
  /// `RetryInfo.retryDelay` in the format of the response, such as `3.5s`.
  package var retryDelay: String?
  /// `BadRequest.FieldViolation.field`, if the error is in one field.
  package var field: String?

  package init(
    _ code: Code, _ message: String, reason: String, field: String? = nil, retryDelay: String? = nil,
    httpStatus: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.reason = reason
    self.field = field
    self.retryDelay = retryDelay
    self.httpStatus = httpStatus ?? code.httpStatus
  }

  /// INVALID_ARGUMENT: the request is wrong regardless of the server's state.
  package static func invalid(_ message: String, field: String? = nil, reason: String = "INVALID_REQUEST") -> APIError {
    APIError(.invalidArgument, message, reason: reason, field: field)
  }

  /// The body of the response.
  package var json: JSON {
    var details: [JSON] = [
      [
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": .string(reason),
        "domain": "fleetengine.googleapis.com",
        "metadata": ["service": "fleetengine.googleapis.com"],
      ]
    ]
    if let field {
      details.append([
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [["field": .string(field), "description": .string(message)]],
      ])
    }
    if let retryDelay {
      details.append(["@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": .string(retryDelay)])
    }
    return [
      "error": [
        "code": JSON(httpStatus), "message": .string(message), "status": .string(code.rawValue),
        "details": .array(details),
      ]
    ]
  }
}
