// SPDX-License-Identifier: Apache-2.0
import CCurl
import ExternalInput
import Glibc
import HTTPMessages

/// Maps libcurl's errors to `TransportFailure`.
nonisolated enum FailureTable {
  /// The kind of failure for a CURLcode (libcurl-errors(3)).
  ///
  /// | CURLcode | Kind |
  /// |---|---|
  /// | COULDNT_RESOLVE_HOST, COULDNT_RESOLVE_PROXY | unresolved |
  /// | COULDNT_CONNECT | refused where the system says ECONNREFUSED, else unreachable |
  /// | PROXY, INTERFACE_FAILED | unreachable |
  /// | OPERATION_TIMEDOUT | timedOut |
  /// | GOT_NOTHING, SEND_ERROR, RECV_ERROR, PARTIAL_FILE, SEND_FAIL_REWIND | broken |
  /// | HTTP2, HTTP2_STREAM, SSL_SHUTDOWN_FAILED | broken |
  /// | PEER_FAILED_VERIFICATION | by the verify result, see `certificateKind` |
  /// | SSL_ISSUER_ERROR, SSL_INVALIDCERTSTATUS, SSL_PINNEDPUBKEYNOTMATCH | certificateUntrusted |
  /// | SSL_CONNECT_ERROR, SSL_CLIENTCERT, USE_SSL_FAILED | handshakeFailed |
  /// | FILESIZE_EXCEEDED, and WRITE_ERROR, which only our own cap causes | tooLarge |
  /// | WEIRD_SERVER_REPLY, UNSUPPORTED_PROTOCOL, TOO_MANY_REDIRECTS, BAD_CONTENT_ENCODING | malformed |
  /// | all others: CA file, client certificate, ciphers, memory, URL | local |
  ///
  /// UNSUPPORTED_PROTOCOL is returned for a response without a status line (HTTP/0.9); URLs with other schemes never
  /// reach libcurl.
  ///
  /// - Parameters:
  ///   - verifyResult: OpenSSL's verification result (X509_V_…), 0 if valid.
  ///   - systemError: the `errno` of the last attempt to connect (CURLINFO_OS_ERRNO).
  static func kind(of code: CURLcode, verifyResult: Int, systemError: Int) -> TransportFailure.Kind {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
      .unresolved
    case CURLE_COULDNT_CONNECT where systemError == Int(ECONNREFUSED):
      .refused
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED:
      .unreachable
    case CURLE_OPERATION_TIMEDOUT:
      .timedOut
    case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_SEND_FAIL_REWIND, CURLE_SSL_SHUTDOWN_FAILED:
      .broken
    case CURLE_PEER_FAILED_VERIFICATION:
      certificateKind(verifyResult)
    case CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      .certificateUntrusted
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
      .handshakeFailed
    case CURLE_FILESIZE_EXCEEDED, CURLE_WRITE_ERROR:
      .tooLarge
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_TOO_MANY_REDIRECTS, CURLE_BAD_CONTENT_ENCODING:
      .malformed
    default:
      .local
    }
  }

  /// The kind for OpenSSL's verification error (X509_STORE_CTX_get_error(3)). A wrong host name has no number here,
  /// because libcurl compares names itself.
  private static func certificateKind(_ verifyResult: Int) -> TransportFailure.Kind {
    switch Int32(truncatingIfNeeded: verifyResult) {
    case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CRL_NOT_YET_VALID: .certificateNotYetValid
    case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CRL_HAS_EXPIRED: .certificateExpired
    default: .certificateUntrusted
    }
  }

  /// The cause of a timeout between TCP and the end of the TLS handshake.
  static let stalledHandshake =
    "the TLS handshake does not end, although the server accepts connections: large packets may be lost on the way "
    + "(MTU: \(ManualPage.network))"

  private static let systemCABundle = "/etc/ssl/certs/ca-certificates.crt"

  /// Whether a TLS alert is about the certificate of this client. With TLS 1.3 the alert comes after the handshake, in
  /// place of the response.
  static func isClientCertificateAlert(_ message: String) -> Bool {
    [" alert certificate", " alert bad certificate", " alert unknown ca"].contains { message.contains(text: $0) }
  }

  /// libcurl's message without the elapsed time, as in ` after 3 ms`: so that equal failures have equal texts.
  private static func withoutDuration(_ text: String) -> String {
    guard let (before, after) = text.parts(around: " after ") else { return text }
    let rest = after.drop { $0.isASCII && $0.isNumber }
    guard rest.startIndex > after.startIndex, let unit = [" milliseconds", " ms"].first(where: rest.hasPrefix),
      case let end = rest.dropFirst(unit.count), end.first?.isLetter != true
    else { return text }
    return String(before + end)
  }

  /// One line for the journal: the endpoint and the library's text. Text from a server is sanitized and truncated; the
  /// line never contains the path or the query of the URL.
  static func message(_ endpoint: WebAddress?, _ reason: String) -> String {
    let printable = reason.unicodeScalars.prefix(300).map { scalar in
      (0x20...0x7E).contains(scalar.value) ? Character(scalar) : "?"
    }
    var text = withoutDuration(String(printable))
    // libcurl has found no certificate authorities; in Debian they are in a separate package.
    if text.hasSuffix(systemCABundle) { text += "; install the package ca-certificates" }
    if isClientCertificateAlert(text) {
      text += "; the server demands a client certificate, or rejects the one that it was given"
    }
    return endpoint.map { "\($0): \(text)" } ?? text
  }
}
