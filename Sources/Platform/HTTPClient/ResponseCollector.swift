// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import URLReader

/// Gathers an answer as it comes in, within bounds.
struct ResponseCollector {
  /// Far beyond what Fleet Engine or a token provider sends; what comes after is passed over.
  private static let maximumHeaders = 64
  private static let maximumHeaderBytes = 16_384
  /// Lines of all kinds, those of interim answers and trailers included. libcurl keeps them all, and bounds neither.
  private static let maximumLineBytes = 65_536

  private(set) var headers: [(name: String, value: String)] = []
  private(set) var body: [UInt8] = []
  private var headerBytes = 0
  private var lineBytes = 0
  private let maximumSize: Int
  /// The body or the header lines went past their cap.
  private(set) var isTooLarge = false
  /// The blank line after the headers has come. libcurl is content without it when the connection ends there.
  private(set) var hasAllHeaders = false

  /// - Parameter maximumSize: the most bytes that a body may have.
  init(maximumSize: Int) {
    self.maximumSize = maximumSize
  }

  /// Takes one header line as it stood on the wire. A status line begins a new answer: what came before it was an
  /// interim one (100 Continue). Trailers, which follow the body, are not kept.
  ///
  /// - Returns: false when there are too many, and then the answer is not wanted any more.
  mutating func addHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
    let bytes = line.count
    guard bytes <= ResponseCollector.maximumLineBytes - lineBytes else {
      isTooLarge = true
      return false
    }
    lineBytes += bytes
    unsafe keepHeaderLine(line)
    return true
  }

  private mutating func keepHeaderLine(_ line: UnsafeRawBufferPointer) {
    let bytes = line.count
    if unsafe line.starts(with: [0x48, 0x54, 0x54, 0x50, 0x2F]) {  // "HTTP/"
      headers.removeAll(keepingCapacity: true)
      headerBytes = 0
      hasAllHeaders = false
      return
    }
    if unsafe line.allSatisfy({ $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }) {
      hasAllHeaders = true
      return
    }
    guard !hasAllHeaders, let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
      headers.count < ResponseCollector.maximumHeaders, headerBytes + bytes <= ResponseCollector.maximumHeaderBytes
    else { return }
    headerBytes += bytes
    var value = unsafe line[(colon + 1)...]
    while let first = unsafe value.first, first <= 0x20 { unsafe value.removeFirst() }
    while let last = unsafe value.last, last <= 0x20 { unsafe value.removeLast() }
    unsafe headers.append((String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self)))
  }

  /// Takes a piece of the body; false when it does not fit, and then the answer is not wanted any more.
  mutating func addBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= maximumSize - body.count else {
      isTooLarge = true
      return false
    }
    unsafe body.append(contentsOf: bytes)
    return true
  }

  func response(status: Int) -> HTTPResponse {
    var response = HTTPResponse(status: status, headers: headers, body: body)
    if (300..<400).contains(status) {
      response.redirect = response.header("location").flatMap { try? WebAddress(reading: $0) }
    }
    return response
  }
}
