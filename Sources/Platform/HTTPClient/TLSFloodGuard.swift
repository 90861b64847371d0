// SPDX-License-Identifier: Apache-2.0
import CCurl
import EventLoop
import HTTPMessages
import Timekeeping

/// Ends a TLS connection whose peer sends records without data (KeyUpdate, NewSessionTicket, HelloRequest) beyond a
/// `FloodLimit`. OpenSSL processes such records in one call for as long as they arrive, and neither libcurl nor the
/// loop could interrupt that.
///
/// There is one for the connections of a `TransferDriver`, and it outlives them.
@safe final class TLSFloodGuard {
  /// The message of the failure.
  static let message = "the server floods the connection with TLS messages"

  private let loop: EventLoop
  private var limit = FloodLimit()
  /// Whether it has ended the last connection.
  private(set) var hasClosedConnection = false

  init(_ loop: EventLoop) {
    self.loop = loop
  }

  /// Watches the connection that is made with this SSL_CTX.
  func watch(_ context: UnsafeMutableRawPointer?) {
    limit = FloodLimit()
    hasClosedConnection = false
    let owner = unsafe Unmanaged.passUnretained(self).toOpaque()
    unsafe fleet_tls_set_message_callback(context, owner) { isWrite, _, type, bytes, count, tls, owner in
      guard isWrite == 0, let owner = unsafe owner, let tls = unsafe tls else { return }
      // A record is reported by its header and, from TLS 1.3 on, by the type of its encrypted content.
      let isRecord = type == SSL3_RT_HEADER || type == SSL3_RT_INNER_CONTENT_TYPE
      if isRecord, count > 0, unsafe bytes?.load(as: UInt8.self) == UInt8(SSL3_RT_APPLICATION_DATA) { return }
      unsafe Unmanaged<TLSFloodGuard>.fromOpaque(owner).takeUnretainedValue().handleRecord(on: tls)
    }
  }

  private func handleRecord(on tls: OpaquePointer) {
    guard !limit.admit(at: loop.now.boot) else { return }
    hasClosedConnection = true
    // As if the peer had announced that it will send no more: OpenSSL then reads no further.
    unsafe SSL_set_shutdown(tls, SSL_RECEIVED_SHUTDOWN)
  }
}
