// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// The current request and its response.
struct HTTP2Stream {
  /// Far more than Fleet Engine sends; further fields are discarded.
  static let maximumHeaders = 64

  /// 0 until the server allows a stream.
  var id: UInt32 = 0
  let head: HTTP2RequestHead
  /// The part of the body that has not been sent yet.
  var unsent: ArraySlice<UInt8>
  let deadline: BootInstant
  let maximumBodySize: Int
  /// The number of bytes that may be sent; negative after the server has reduced its windows.
  var sendWindow = 0
  /// The number of bytes that the server may send.
  var receiveWindow = HTTP2Window.initial
  /// The status of the final response, not of an interim one.
  private(set) var status: Int?
  private var headers: [(name: String, value: String)] = []
  private var contentLength: Int?
  private var body: [UInt8] = []

  init(_ request: HTTPRequest, _ head: HTTP2RequestHead, deadline: BootInstant) {
    self.head = head
    unsent = request.body[...]
    self.deadline = deadline
    maximumBodySize = request.maximumResponseSize
  }

  /// Whether the whole request has been sent.
  var isSent: Bool { id != 0 && unsent.isEmpty }

  /// Removes from the body what the stream's window and `limit` allow, and returns it; nil if they allow nothing, or
  /// nothing is left.
  mutating func nextPiece(limit: Int) -> ArraySlice<UInt8>? {
    let count = min(unsent.count, limit, sendWindow)
    guard count > 0 else { return nil }
    let piece = unsent.prefix(count)
    unsent.removeFirst(count)
    sendWindow -= count
    return piece
  }

  var response: HTTPResponse { HTTPResponse(status: status ?? 0, headers: headers, body: body) }

  /// Processes a header block: of an interim response, of the response, or trailers.
  ///
  /// - Throws: `message` if it is none of these.
  mutating func receive(_ fields: [HPACKDecoder.Field], isLast: Bool) throws(HTTP2Failure) {
    var pseudoFields = 0
    for field in fields {
      guard field.isValid else { throw .violation(.message) }
      if field.name.utf8.first == UInt8(ascii: ":") { pseudoFields += 1 }
    }
    if status != nil {
      // Trailers: at the end, and without pseudo-header fields. They are ignored.
      guard isLast, pseudoFields == 0 else { throw .violation(.message) }
      return
    }
    guard pseudoFields == 1, let first = fields.first, first.name == ":status", let code = Int(first.value),
      first.value.utf8.count == 3, (100..<600).contains(code), code != 101
    else { throw .violation(.message) }
    if code < 200 {
      guard !isLast else { throw .violation(.message) }
      return
    }
    status = code
    headers = fields.dropFirst().prefix(HTTP2Stream.maximumHeaders).map { ($0.name, $0.value) }
    for field in fields where field.name == "content-length" {
      guard let value = Int(field.value), value >= 0, contentLength ?? value == value else {
        throw .violation(.message)
      }
      contentLength = value
    }
    // A response that announces too large a body is rejected at once.
    if let contentLength, contentLength > maximumBodySize, code != 304 { throw .tooLarge }
  }

  /// Processes a part of the body.
  mutating func receive(_ piece: ArraySlice<UInt8>) throws(HTTP2Failure) {
    guard status != nil else { throw .violation(.message) }
    guard piece.count <= maximumBodySize - body.count else { throw .tooLarge }
    body += piece
  }

  /// The response is complete.
  ///
  /// - Throws: `message` if its length is not the announced one, or there is no response.
  func finish() throws(HTTP2Failure) {
    guard let status else { throw .violation(.message) }
    if let contentLength, contentLength != body.count, status != 304 { throw .violation(.message) }
  }
}
