// SPDX-License-Identifier: Apache-2.0
import CCurl

/// What a server gave to a connection for resuming it in the next (RFC 8446, section 2.2); in memory only.
///
/// OpenSSL marks the session of a connection that ends without a farewell as not to be resumed, so this is a copy.
@safe final class TLSSession {
  private let raw: OpaquePointer

  /// Nil when the connection has none that can be resumed.
  init?(of connection: OpaquePointer) {
    guard let current = unsafe SSL_get_session(connection), unsafe SSL_SESSION_is_resumable(current) == 1,
      let copy = unsafe SSL_SESSION_dup(current)
    else { return nil }
    unsafe raw = copy
  }

  isolated deinit { unsafe SSL_SESSION_free(raw) }

  /// Has a connection that has not begun its handshake resume it; it does without where it cannot. The keys come of this
  /// session's secret too, and so are as safe as those of the connection that it began with, without another key share of
  /// that size.
  func resume(in connection: OpaquePointer) {
    guard unsafe SSL_set_session(connection, raw) == 1 else { return }
    unsafe fleet_tls_set_resumed_groups(connection)
  }
}
