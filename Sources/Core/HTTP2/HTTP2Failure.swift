// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages

/// An error code of HTTP/2 (RFC 9113, section 7).
package enum HTTP2ErrorCode: UInt32, Sendable, CaseIterable {
  case noError = 0
  case protocolError = 1
  case internalError = 2
  case flowControlError = 3
  case settingsTimeout = 4
  case streamClosed = 5
  case frameSizeError = 6
  case refusedStream = 7
  case cancel = 8
  case compressionError = 9
  case connectError = 10
  case enhanceYourCalm = 11
  case inadequateSecurity = 12
  case http11Required = 13

  /// The name in RFC 9113.
  var name: String {
    switch self {
    case .noError: "NO_ERROR"
    case .protocolError: "PROTOCOL_ERROR"
    case .internalError: "INTERNAL_ERROR"
    case .flowControlError: "FLOW_CONTROL_ERROR"
    case .settingsTimeout: "SETTINGS_TIMEOUT"
    case .streamClosed: "STREAM_CLOSED"
    case .frameSizeError: "FRAME_SIZE_ERROR"
    case .refusedStream: "REFUSED_STREAM"
    case .cancel: "CANCEL"
    case .compressionError: "COMPRESSION_ERROR"
    case .connectError: "CONNECT_ERROR"
    case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
    case .inadequateSecurity: "INADEQUATE_SECURITY"
    case .http11Required: "HTTP_1_1_REQUIRED"
    }
  }
}

/// How the server violated RFC 9113.
package enum HTTP2Violation: String, Sendable, CaseIterable {
  /// The first frame is not SETTINGS (3.4): the server does not support HTTP/2.
  case noPreface
  /// A frame longer than allowed (4.2).
  case frameTooLong
  /// A frame of a fixed length has a different length (6).
  case frameLength
  /// A frame with an invalid stream: a connection frame on a stream, or the other way round (6).
  case frameStream
  /// More padding than payload (6.1).
  case padding
  /// A header block that cannot be decoded (4.3).
  case compression
  /// A header block that is interrupted, or continued without a beginning (6.10).
  case continuation
  /// A header block that does not end (10.5.1).
  case headerBlockTooLong
  /// A frame on a stream that was not opened (5.1).
  case idleStream
  /// A setting out of range (6.5.2).
  case setting
  /// More data than the window allows, or a window beyond the maximum (6.9.1).
  case flowControl
  /// A window update of zero (6.9).
  case emptyWindowUpdate
  /// A push although it is disabled (8.4).
  case push
  /// A GOAWAY that allows more than the previous one (6.8).
  case goAwayRises
  /// Too many PING, SETTINGS, empty frames and the like (10.5).
  case flood
  /// An invalid response: no status or two, a forbidden field, a wrong length (8.1.1).
  case message

  /// The error code to send to the server.
  var code: HTTP2ErrorCode {
    switch self {
    case .frameTooLong, .frameLength: .frameSizeError
    case .compression: .compressionError
    case .flowControl: .flowControlError
    case .headerBlockTooLong, .flood: .enhanceYourCalm
    default: .protocolError
    }
  }

  /// The end of "the server violates HTTP/2: …".
  var phrase: String {
    switch self {
    case .noPreface: "its first frame is not SETTINGS"
    case .frameTooLong: "a frame is longer than allowed"
    case .frameLength: "a frame has a wrong length"
    case .frameStream: "a frame has a wrong stream"
    case .padding: "a frame has more padding than payload"
    case .compression: "a header block cannot be decoded"
    case .continuation: "a header block is interrupted"
    case .headerBlockTooLong: "a header block does not end"
    case .idleStream: "a frame belongs to a stream that was not opened"
    case .setting: "a setting is out of its range"
    case .flowControl: "a flow-control window is exceeded"
    case .emptyWindowUpdate: "a window update adds nothing"
    case .push: "it pushes, although that is disabled"
    case .goAwayRises: "a GOAWAY allows more than the previous one"
    case .flood: "it floods the connection with control frames"
    case .message: "the response is malformed"
    }
  }
}

/// Why a request over HTTP/2 has no response.
package enum HTTP2Failure: Error, Equatable, Sendable {
  /// The server did not process the request: it refused the stream, or its GOAWAY excludes it.
  case unprocessed
  /// The server reset the stream with this code; nil for an unknown code.
  case reset(HTTP2ErrorCode?)
  /// The server closed the connection with this code before the response was complete.
  case goAway(HTTP2ErrorCode?)
  /// A reused connection was closed before any data of the response. Usually the connection was already dead when the
  /// request was sent; nevertheless, the server may have received the request. The text is the transport's reason.
  case lost(String)
  /// The connection was closed before the response was complete. The text is the transport's reason.
  case ended(String)
  /// The request's deadline passed.
  case timedOut
  /// The response's body is larger than the request allows.
  case tooLarge
  case violation(HTTP2Violation)
  /// The server accepted the request (2xx) before it had received all of it.
  case answeredEarly
  /// The request's headers are larger than this connection allows (SETTINGS_MAX_HEADER_LIST_SIZE): nothing was sent.
  case headersTooLarge(size: Int, limit: Int)
  /// The request is invalid; the text says why.
  case unsendable(String)

  /// The kind of transport failure.
  package var kind: TransportFailure.Kind {
    switch self {
    case .unprocessed, .headersTooLarge: .unprocessed
    case .lost: .unanswered
    case .reset(let code), .goAway(let code):
      switch code {
      case .enhanceYourCalm: .throttled
      case .inadequateSecurity: .handshakeFailed
      case .http11Required: .malformed
      default: .broken
      }
    case .ended: .broken
    case .timedOut: .timedOut
    case .tooLarge: .tooLarge
    case .violation(let violation):
      switch violation {
      case .noPreface, .message: .malformed
      default: .broken
      }
    case .answeredEarly: .answeredEarly
    case .unsendable: .local
    }
  }

  /// One line for the journal, without host and secrets.
  package var message: String {
    switch self {
    case .unprocessed: "the server has not processed the request (HTTP/2 REFUSED_STREAM or GOAWAY)"
    case .reset(.http11Required), .goAway(.http11Required):
      "the server requires HTTP/1.1 (HTTP/2 HTTP_1_1_REQUIRED); set fleet_engine.transport = \"http1\""
    case .reset(let code): "the server ended the request (HTTP/2 \(code?.name ?? "unknown error"))"
    case .goAway(let code): "the server ended the connection (HTTP/2 GOAWAY, \(code?.name ?? "unknown error"))"
    case .lost(let reason), .ended(let reason): reason
    case .timedOut: "no response before the deadline"
    case .tooLarge: "the response is longer than the request allows"
    case .violation(let violation): "the server violates HTTP/2: \(violation.phrase)"
    case .answeredEarly: "the server accepted the request before it had received all of it"
    case .headersTooLarge(let size, let limit):
      "the server accepts no more than \(limit) bytes of request headers; these are \(size)"
    case .unsendable(let reason): reason
    }
  }
}
