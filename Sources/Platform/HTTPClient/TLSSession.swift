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

  /// Has a connection that has not begun its handshake resume it; it does without where it cannot.
  func resume(in connection: OpaquePointer) {
    _ = unsafe SSL_set_session(connection, raw)
  }
}
