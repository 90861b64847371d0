// SPDX-License-Identifier: Apache-2.0
import CCurl
package import HTTPMessages
package import SystemCalls

/// The error of a text that is not a valid URL.
package typealias URLError = PlatformError<URLErrorCode>

/// What is wrong with a URL.
package enum URLErrorCode: String, Sendable {
  /// There is no valid scheme, or no `://` after it.
  case noScheme
  /// The host is missing, or neither a name nor an address.
  case badHost
  /// The port is not a number from 1 to 65535.
  case badPort
  /// Anything else, such as a space in the path.
  case malformed
}

extension WebAddress {
  /// Parses a URL with libcurl's parser, which also parses the URLs of requests: so there is only one interpretation.
  ///
  /// - Parameter text: any scheme is allowed, no default is assumed.
  /// - Throws: the error; the message does not contain the URL.
  package init(reading text: String) throws(URLError) {
    guard let handle = URLHandle() else { throw URLError(.malformed, "out of memory") }
    let code = handle.parse(text)
    guard code == CURLUE_OK else { throw URLError(code) }
    guard let scheme = handle.part(CURLUPART_SCHEME), var host = handle.part(CURLUPART_HOST) else {
      throw URLError(.badHost, "has no host")
    }
    // libcurl accepts one slash or three, but other parsers then see a path without a host.
    let rest = text.dropFirst(scheme.count)
    guard rest.hasPrefix("://") else { throw URLError(CURLUE_BAD_SLASHES) }
    guard !rest.hasPrefix(":///") else { throw URLError(CURLUE_NO_HOST) }
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    let port = handle.part(CURLUPART_PORT).flatMap { Int($0) }
    guard port != 0 else { throw URLError(CURLUE_BAD_PORT_NUMBER) }
    let query = handle.part(CURLUPART_QUERY).map { "?\($0)" } ?? ""
    self.init(
      scheme: scheme.lowercased(), host: host.lowercased(), port: port,
      path: (handle.part(CURLUPART_PATH) ?? "/") + query,
      hasCredentials: handle.part(CURLUPART_USER) != nil || handle.part(CURLUPART_PASSWORD) != nil)
  }
}

extension PlatformError where Code == URLErrorCode {
  fileprivate init(_ code: CURLUcode) {
    let kind: Code =
      switch code {
      case CURLUE_BAD_SCHEME, CURLUE_BAD_SLASHES, CURLUE_UNSUPPORTED_SCHEME, CURLUE_NO_SCHEME: .noScheme
      case CURLUE_NO_HOST, CURLUE_BAD_HOSTNAME, CURLUE_BAD_IPV6: .badHost
      case CURLUE_BAD_PORT_NUMBER: .badPort
      default: .malformed
      }
    self.init(kind, unsafe String(cString: curl_url_strerror(code)))
  }
}

/// A libcurl URL handle: made and freed once.
@safe private struct URLHandle: ~Copyable {
  private let raw: OpaquePointer

  /// Nil if there is no memory.
  init?() {
    guard let raw = unsafe curl_url() else { return nil }
    unsafe self.raw = raw
  }

  deinit { unsafe curl_url_cleanup(raw) }

  func parse(_ text: String) -> CURLUcode {
    unsafe curl_url_set(raw, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME))
  }

  /// Nil if the URL has no such part.
  func part(_ part: CURLUPart) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(raw, part, &text, 0) == CURLUE_OK, let text = unsafe text else { return nil }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}
