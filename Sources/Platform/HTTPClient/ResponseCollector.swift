// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import URLReader

/// Collects a response with bounded memory.
struct ResponseCollector {
  /// Far more than Fleet Engine or a token provider sends; further headers are discarded.
  private static let maximumHeaders = 64
  private static let maximumHeaderBytes = 16_384
  /// For all lines together, including those of interim responses and trailers: older versions of libcurl store them
  /// without a limit.
  private static let maximumLineBytes = 65_536

  private(set) var headers: [(name: String, value: String)] = []
  private(set) var body: [UInt8] = []
  private var headerBytes = 0
  private var lineBytes = 0
  private let maximumSize: Int
  /// The body or the header lines exceeded their limit.
  private(set) var isTooLarge = false
  /// The blank line after the headers was received. libcurl accepts a connection that ends without it.
  private(set) var hasAllHeaders = false

  /// - Parameter maximumSize: the maximum size of a body in bytes.
  init(maximumSize: Int) {
    self.maximumSize = maximumSize
  }

  /// Processes a received header line. A status line begins a new response: the previous response was an interim one
  /// (100 Continue). Trailers are discarded.
  ///
  /// - Returns: false if there are too many lines; the transfer must then be aborted.
  mutating func addHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
    let bytes = line.count
    guard bytes <= ResponseCollector.maximumLineBytes - lineBytes else {
      isTooLarge = true
      return false
    }
    lineBytes += bytes
    unsafe storeHeaderLine(line)
    return true
  }

  private mutating func storeHeaderLine(_ line: UnsafeRawBufferPointer) {
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

  /// Processes a part of the body; false if the body is too large; the transfer must then be aborted.
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
