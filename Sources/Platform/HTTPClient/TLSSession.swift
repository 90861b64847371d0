// SPDX-License-Identifier: Apache-2.0
import CCurl

/// A TLS session for resumption by the next connection (RFC 8446, section 2.2); in memory only.
///
/// OpenSSL marks the session of a connection without a close-notify as not resumable, so this is a copy.
@safe final class TLSSession {
  private let raw: OpaquePointer

  /// Nil if the connection has no resumable session.
  init?(of connection: OpaquePointer) {
    guard let current = unsafe SSL_get_session(connection), unsafe SSL_SESSION_is_resumable(current) == 1,
      let copy = unsafe SSL_SESSION_dup(current)
    else { return nil }
    unsafe raw = copy
  }

  isolated deinit { unsafe SSL_SESSION_free(raw) }

  /// Resumes the session in a connection before its handshake; falls back to a full handshake. The new keys also depend
  /// on this session's secret, so they are as safe as those of the original connection, without another key share of
  /// the same size.
  func resume(in connection: OpaquePointer) {
    guard unsafe SSL_set_session(connection, raw) == 1 else { return }
    unsafe fleet_tls_set_resumed_groups(connection)
  }
}
