// SPDX-License-Identifier: Apache-2.0

/// A request as it was received.
package struct Request: Sendable {
  /// Such as `PATCH`.
  package var method: String
  /// Percent-encoded, without the query.
  package var path: String
  /// Percent-encoded; empty if there is none.
  package var query: String
  /// All header fields, in their order.
  package var headers: [(name: String, value: String)]
  /// Empty when there is none.
  package var body: [UInt8]
  /// The size of the body before it was decompressed; nil if it was not compressed.
  private var encodedSize: Int?
  /// Whether the body was longer than the server accepts, and is truncated.
  package var isTooLarge: Bool

  package init(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    isTooLarge: Bool = false
  ) {
    self.method = method
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts.first ?? "")
    query = parts.count == 2 ? String(parts[1]) : ""
    self.headers = headers
    self.body = body
    self.isTooLarge = isTooLarge
  }

  /// The size of the body as it was received, in bytes.
  package var receivedSize: Int { encodedSize ?? body.count }

  /// The value of the first header of this name, which must be given in lower case; nil if there is none.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name }?.value
  }

  /// Whether the body is compressed, or encoded otherwise.
  var isEncoded: Bool { header("content-encoding").map { $0.lowercased() != "identity" } ?? false }

  /// The request with its body decompressed.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT: for an unknown coding (with 415) or a damaged body, and with 413 if the
  ///   text is longer than `limit` bytes.
  func decoded(limit: Int) throws(APIError) -> Request {
    guard isEncoded else { return self }
    guard header("content-encoding")?.lowercased() == "gzip" else {
      throw APIError(
        .invalidArgument, "The Content-Encoding must be gzip.", reason: "INVALID_CONTENT_ENCODING", httpStatus: 415)
    }
    var request = self
    request.body = try GzipBody.decoded(body, limit: limit)
    request.encodedSize = body.count
    return request
  }

  /// The segments of the path, decoded.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, for invalid percent-encoding.
  func segments() throws(APIError) -> [String] {
    var segments: [String] = []
    for part in path.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      segments.append(try Self.decode(part, plusIsSpace: false))
    }
    return segments
  }

  /// The parameters of the query, decoded, in their order.
  ///
  /// - Throws: `APIError`, INVALID_ARGUMENT, for invalid percent-encoding.
  func parameters() throws(APIError) -> [(name: String, value: String)] {
    var parameters: [(name: String, value: String)] = []
    for part in query.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = try Self.decode(pair.count == 2 ? pair[1] : "", plusIsSpace: true)
      parameters.append((try Self.decode(pair[0], plusIsSpace: true), value))
    }
    return parameters
  }

  private static func decode(_ text: Substring, plusIsSpace: Bool) throws(APIError) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 else { throw .invalid("The URL has a broken percent-encoding.") }
        bytes.append(UInt8(digits[0] << 4 | digits[1]))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
      }
    }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .invalid("The URL is not UTF-8.") }
    return text
  }
}

/// A response, which may be faulty.
package struct Reply: Sendable {
  /// What follows the headers.
  package enum Content: Equatable, Sendable {
    case bytes([UInt8])
    /// The full length is declared, but only half of the body is sent.
    case truncated([UInt8])
    /// A body that begins like JSON, of this many bytes.
    case endless(UInt64)
    /// A stream of server-sent events without an end, which begins with these bytes.
    case events([UInt8])
  }

  /// The HTTP status, such as 200.
  package var status: Int
  /// In the order in which they are sent, without Content-Length.
  package var headers: [(name: String, value: String)]
  /// The body, which may be faulty.
  package var content: Content
  /// When set, no response is sent.
  package var silence: Fault.Silence?
  /// Milliseconds to wait before the response.
  package var delay: Int64 = 0

  package init(status: Int, headers: [(name: String, value: String)] = [], content: Content = .bytes([])) {
    self.status = status
    self.headers = headers
    self.content = content
  }

  package init(json: JSON, status: Int = 200) {
    self.init(
      status: status, headers: [("Content-Type", "application/json; charset=UTF-8")],
      content: .bytes(Array(json.text.utf8) + [0x0A]))
  }

  package init(_ error: APIError) {
    self.init(json: error.json, status: error.httpStatus)
  }

  /// The value of the first header of this name, in upper or lower case; nil if there is none.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The body as text; empty if the body is endless.
  package var text: String {
    switch content {
    case .bytes(let bytes), .truncated(let bytes), .events(let bytes): String(decoding: bytes, as: UTF8.self)
    case .endless: ""
    }
  }
}
