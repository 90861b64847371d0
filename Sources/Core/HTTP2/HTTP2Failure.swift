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

  /// As RFC 9113 writes it, for a person to search for.
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

/// What the server did against RFC 9113.
package enum HTTP2Violation: String, Sendable, CaseIterable {
  /// The first frame is not SETTINGS (3.4): it does not speak HTTP/2.
  case noPreface
  /// No SETTINGS came in the time that connecting may take (3.4).
  case settingsMissing
  /// A frame longer than allowed (4.2).
  case frameTooLong
  /// A frame of a fixed length has another one (6).
  case frameLength
  /// A frame on a stream that is not for it: of a connection on a stream, or the other way round (6).
  case frameStream
  /// More padding than payload (6.1).
  case padding
  /// A header block that cannot be decoded (4.3).
  case compression
  /// A header block that is interrupted, or continued without having begun (6.10).
  case continuation
  /// A header block without end (10.5.1).
  case headerBlockTooLong
  /// A frame on a stream that was not opened (5.1).
  case idleStream
  /// A setting out of its range (6.5.2).
  case setting
  /// More data than the window allows, or a window beyond its largest size (6.9.1).
  case flowControl
  /// A window update of nothing (6.9).
  case emptyWindowUpdate
  /// A push, which was forbidden (8.4).
  case push
  /// A GOAWAY that allows more than the one before (6.8).
  case goAwayRises
  /// PING, SETTINGS, empty frames and the like without end (10.5).
  case flood
  /// An answer that is none: no status or two, a field that must not be, a length that is not right (8.1.1).
  case message

  /// What the server is answered with.
  var code: HTTP2ErrorCode {
    switch self {
    case .frameTooLong, .frameLength: .frameSizeError
    case .compression: .compressionError
    case .flowControl: .flowControlError
    case .headerBlockTooLong, .flood: .enhanceYourCalm
    case .settingsMissing: .settingsTimeout
    default: .protocolError
    }
  }

  /// For a person, as the end of "the server breaks HTTP/2: …".
  var words: String {
    switch self {
    case .noPreface: "its first frame is not SETTINGS"
    case .settingsMissing: "it sends no SETTINGS"
    case .frameTooLong: "a frame is longer than allowed"
    case .frameLength: "a frame has a wrong length"
    case .frameStream: "a frame has a wrong stream"
    case .padding: "a frame has more padding than bytes"
    case .compression: "a header block cannot be decoded"
    case .continuation: "a header block is interrupted"
    case .headerBlockTooLong: "a header block does not end"
    case .idleStream: "a frame belongs to a stream that was not opened"
    case .setting: "a setting is out of its range"
    case .flowControl: "a flow-control window is exceeded"
    case .emptyWindowUpdate: "a window update adds nothing"
    case .push: "it pushes, which was refused"
    case .goAwayRises: "a GOAWAY allows more than the one before"
    case .flood: "it floods the connection with control frames"
    case .message: "the answer is malformed"
    }
  }
}

/// Why a request over HTTP/2 got no answer.
package enum HTTP2Failure: Error, Equatable, Sendable {
  /// The server says that it has not processed the request: it refused the stream, or its GOAWAY leaves it out.
  case unprocessed
  /// The server ended the stream with this code; nil for a code that RFC 9113 does not know.
  case reset(HTTP2ErrorCode?)
  /// The server ended the connection with this code before the answer was whole.
  case goAway(HTTP2ErrorCode?)
  /// A connection that had served before ended before anything of the answer came: it was dead, or dying, when the request
  /// was sent. The text is of the library that carried it.
  case lost(String)
  /// The connection ended before the answer was whole. The text is of the library that carried it.
  case ended(String)
  /// The request's deadline passed.
  case timedOut
  /// The answer's body is longer than the request allows.
  case tooLarge
  case violation(HTTP2Violation)
  /// The request cannot be sent; the text says why.
  case unsendable(String)

  /// What it means to the program.
  package var kind: TransportFailure.Kind {
    switch self {
    case .unprocessed, .lost: .unprocessed
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
    case .unsendable: .local
    }
  }

  /// One line for a person, without host and secrets.
  package var message: String {
    switch self {
    case .unprocessed: "the server has not processed the request (HTTP/2 REFUSED_STREAM or GOAWAY)"
    case .reset(let code): "the server ended the request (HTTP/2 \(code?.name ?? "unknown error"))"
    case .goAway(let code): "the server ended the connection (HTTP/2 GOAWAY, \(code?.name ?? "unknown error"))"
    case .lost(let words), .ended(let words): words
    case .timedOut: "no answer before the deadline"
    case .tooLarge: "the answer is longer than the request allows"
    case .violation(let violation): "the server breaks HTTP/2: \(violation.words)"
    case .unsendable(let words): words
    }
  }

  /// Whether the server wants this request over HTTP/1.1.
  package var needsHTTP1: Bool { self == .reset(.http11Required) || self == .goAway(.http11Required) }
}
