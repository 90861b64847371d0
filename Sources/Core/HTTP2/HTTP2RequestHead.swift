// SPDX-License-Identifier: Apache-2.0
import HTTPMessages

/// A request without its body. Requests on one connection mostly have the same head, and therefore the same header
/// block.
struct HTTP2RequestHead: Equatable {
  var method: HTTPRequest.Method
  var address: WebAddress
  var headers: [HTTPRequest.Header]

  /// The fields for HTTP/2, pseudo-header fields first, without the length of the body.
  ///
  /// - Throws: `unsendable` if a name or a value has an invalid character: a line break could inject another header if
  ///   a proxy uses HTTP/1.1.
  func fields(userAgent: String) throws(HTTP2Failure) -> [HPACKField] {
    var fields = [
      HPACKField(":method", method.rawValue), HPACKField(":scheme", address.scheme),
      HPACKField(":authority", address.authority), HPACKField(":path", address.path),
      HPACKField("user-agent", userAgent),
    ]
    for header in headers {
      guard !header.name.isEmpty, header.name.utf8.allSatisfy(HTTP2RequestHead.isNameByte) else {
        throw .unsendable("a header has a name that HTTP does not allow")
      }
      let name = header.name.lowercased()
      let field =
        switch header.value {
        case .plain(let text): HPACKField(name, text)
        case .secret(let prefix, let secret): HPACKField(name, prefix + secret.reveal())
        }
      guard field.value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
        throw .unsendable("the value of header \(header.name) contains a line break or a control character")
      }
      // Connection-specific fields are an error in HTTP/2 (RFC 9113, section 8.2.2), and the host has its own field.
      if HTTP2RequestHead.connectionHeaders.contains(name) || name == "host" { continue }
      fields.append(field)
    }
    return fields
  }

  /// Connection-specific fields, which HTTP/2 forbids (RFC 9113, section 8.2.2).
  static let connectionHeaders: Set<String> = [
    "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade",
  ]

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

extension WebAddress {
  /// `:authority` of a request: host, and the port unless it is the scheme's default.
  fileprivate var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port.map { $0 == (scheme == "https" ? 443 : 80) ? name : "\(name):\($0)" } ?? name
  }
}
