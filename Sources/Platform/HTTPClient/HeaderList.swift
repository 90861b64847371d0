// SPDX-License-Identifier: Apache-2.0
import CCurl
import Glibc
import HTTPMessages

/// The headers of one request as a curl_slist. It contains secrets in plain text, and overwrites them when cleared.
@safe nonisolated struct HeaderList: ~Copyable {
  private(set) var first: UnsafeMutablePointer<curl_slist>?

  init() {
    unsafe first = nil
  }

  deinit {
    unsafe HeaderList.wipe(first)
  }

  mutating func clear() {
    unsafe HeaderList.wipe(first)
    unsafe first = nil
  }

  /// Replaces the lines.
  ///
  /// - Throws: kind `local` if a name or a value has an invalid character: a line break could inject another header.
  mutating func fill(_ headers: [HTTPRequest.Header]) throws(TransportFailure) {
    clear()
    var hasContentType = false
    for header in headers {
      if header.name.utf8.count == HeaderList.contentType.utf8.count, header.name.lowercased() == HeaderList.contentType
      {
        hasContentType = true
      }
      guard !header.name.isEmpty, header.name.utf8.allSatisfy(HeaderList.isNameByte) else {
        throw TransportFailure(.local, "a header has a name that HTTP does not allow")
      }
      var line = header.name
      line.append(": ")
      switch header.value {
      case .plain(let text):
        line.append(text)
      case .secret(let prefix, let secret):
        line.append(prefix)
        line.append(secret.reveal())
      }
      guard HeaderList.isPrintable(&line) else {
        throw TransportFailure(
          .local, "the value of header \(header.name) contains a line break or a control character")
      }
      // libcurl's syntax for a header without a value; with a colon it would omit the header.
      try append(line.utf8.count == header.name.utf8.count + 2 ? header.name + ";" : line)
    }
    // Otherwise libcurl sends a body as a web form.
    if !hasContentType { try append("Content-Type:") }
  }

  private static let contentType = "content-type"

  private mutating func append(_ line: String) throws(TransportFailure) {
    guard let list = unsafe curl_slist_append(first, line) else {
      throw TransportFailure(.local, "no memory for the request's headers")
    }
    unsafe first = list
  }

  private static func wipe(_ first: UnsafeMutablePointer<curl_slist>?) {
    var next = unsafe first
    while let node = unsafe next {
      if let text = unsafe node.pointee.data { unsafe explicit_bzero(text, strlen(text)) }
      unsafe next = node.pointee.next
    }
    unsafe curl_slist_free_all(first)
  }

  /// Whether a line has no control characters except tabs.
  private static func isPrintable(_ line: inout String) -> Bool {
    line.withUTF8 { bytes in
      for index in bytes.indices {
        let byte = unsafe bytes[index]
        if byte < 0x20 && byte != 0x09 || byte == 0x7F { return false }
      }
      return true
    }
  }

  /// A `tchar` of RFC 9110, section 5.6.2.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
