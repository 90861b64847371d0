// SPDX-License-Identifier: Apache-2.0
import CCurl
import Glibc
import HTTPMessages

/// The header lines of one request in libcurl's form. It holds secrets in the clear, and wipes them when cleared.
@safe struct HeaderList: ~Copyable {
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

  /// Writes the lines, in place of those before.
  ///
  /// - Throws: kind `local` when a name or a value holds what no header may: a line break would smuggle in another one.
  mutating func fill(_ headers: [HTTPRequest.Header]) throws(TransportFailure) {
    clear()
    var hasContentType = false
    for header in headers {
      if header.name.lowercased() == "content-type" { hasContentType = true }
      let value =
        switch header.value {
        case .plain(let text): text
        case .secret(let prefix, let secret): prefix + secret.reveal()
        }
      guard !header.name.isEmpty, header.name.utf8.allSatisfy(HeaderList.isNameByte) else {
        throw TransportFailure(.local, "a header has a name that HTTP does not allow")
      }
      guard value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw TransportFailure(.local, "the value of header \(header.name) holds a line break or a control character")
      }
      // libcurl's way to write a header without a value; with a colon it would leave the header out.
      try append(value.isEmpty ? "\(header.name);" : "\(header.name): \(value)")
    }
    // Else libcurl calls any body a web form.
    if !hasContentType { try append("Content-Type:") }
  }

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
