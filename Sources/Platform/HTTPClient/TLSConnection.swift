// SPDX-License-Identifier: Apache-2.0
import CCurl
import EventLoop
import HTTPMessages
import SystemCalls
import Timekeeping

/// A TLS connection that libcurl opens, for a protocol that this module implements itself. libcurl handles name
/// resolution, Happy Eyeballs, the proxy and certificate verification as for its own requests
/// (`EasyHandle.setConnection`).
///
/// Releasing it closes the connection.
@safe final class TLSConnection {
  /// What happened to the connection. It is reported from the loop, never during a call of `init`, `send` or `close`.
  enum Event {
    /// The connection is established. `hasHTTP2`: the server selected HTTP/2.
    case connected(hasHTTP2: Bool)
    case bytes([UInt8])
    /// The connection failed or was closed; there are no more events. The message does not name the server, and is not
    /// sanitized.
    case ended(TransportFailure)
  }

  /// The read size; a TLS record is not larger.
  private static let readSize = 16_384
  /// The maximum that is read in one iteration of the loop: far more than a response, and far too little to delay a
  /// receiver's sentences.
  private static let readLimit = 65_536
  private static let readTimeLimit = Duration.milliseconds(10)
  private static let ownerSlot = fleet_tls_owner_slot()

  private let loop: EventLoop
  private let easy: EasyHandle
  private let certificateTime: Timestamp?
  private var previousSession: TLSSession?
  private var driver: TransferDriver?
  private var source: EventSource<IOEvents>?
  private var isWaitingToWrite = false
  private var unsent: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: readSize)
  private var handler: ((Event) -> Void)?
  /// OpenSSL's connection, which libcurl owns: valid between its handshake and the end of `easy`.
  private var tls: OpaquePointer?
  private var isConnected = false

  /// Starts to connect. Nothing is reported before the next iteration of the loop.
  ///
  /// - Parameters:
  ///   - timeout: for name resolution, TCP and TLS together.
  ///   - certificateTime: the time at which to verify certificates; nil: by the machine's clock.
  ///   - previousSession: the session of an earlier connection to the same server.
  /// - Throws: if there is no memory, or libcurl lacks an option.
  init(
    loop: EventLoop, settings: HTTPClientConfiguration, meter: ConnectionMeter, to endpoint: WebAddress,
    timeout: Duration,
    certificateTime: Timestamp?, previousSession: TLSSession?, handler: @escaping (Event) -> Void
  ) throws(TransportFailure) {
    guard let easy = EasyHandle() else { throw TransportFailure(.local, "libcurl has no memory for a handle") }
    self.loop = loop
    self.easy = easy
    self.certificateTime = certificateTime
    self.previousSession = previousSession
    unsafe tls = nil
    self.handler = handler
    do {
      try self.easy.setConnection(settings, meter: meter)
      try self.easy.set(CURLOPT_URL, endpoint.origin)
      try self.easy.set(CURLOPT_CONNECT_ONLY, 1)
      // libcurl must not use its own HTTP/2; the ALPN protocols are set in the callback.
      try self.easy.set(CURLOPT_SSL_ENABLE_ALPN, 0)
      try self.easy.set(CURLOPT_SSL_SESSIONID_CACHE, 0)
      try self.easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(timeout.nanoseconds / 1_000_000, 1)))
      try setTLSCallback()
      let driver = try unsafe TransferDriver(
        loop: loop, meter: meter, onEnd: { [weak self] _, code in self?.finishConnecting(code) },
        onWorkLimit: { [weak self] in self?.giveUp() })
      self.driver = driver
      guard unsafe driver.add(self.easy.raw) == CURLM_OK else {
        throw TransportFailure(.local, "libcurl did not accept the connection")
      }
    } catch let failure as TransportFailure {
      throw failure
    } catch {
      throw TransportFailure(.local, "\(error)")
    }
  }

  isolated deinit {
    source?.close()
    unsafe driver?.remove(easy.raw)
  }

  /// Whether TCP, or the proxy's tunnel, is established, and TLS is not yet.
  var isInHandshake: Bool { unsafe tls != nil && !isConnected }

  /// The session for the next connection to the same server. Nil if there is none, if the server has rejected the
  /// earlier one, or if the handshake with it failed: the next connection then does a full handshake, with all key
  /// shares (`TLSSession.resume`).
  var session: TLSSession? {
    guard isConnected, let tls = unsafe tls else { return previousSession }
    if previousSession != nil, unsafe SSL_session_reused(tls) == 0 { return nil }
    return unsafe TLSSession(of: tls) ?? previousSession
  }

  // MARK: - Connecting

  private func setTLSCallback() throws(CurlOptionError) {
    // Unretained: the handle is freed with this object.
    let context = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    try unsafe easy.set(CURLOPT_SSL_CTX_DATA, pointer: context)
    try easy.check(
      CURLOPT_SSL_CTX_FUNCTION,
      unsafe fleet_easy_set_tls_callback(easy.raw) { _, tls, owner in
        guard let connection = unsafe TLSConnection.at(owner) else { return CURLE_OK }
        if let time = connection.certificateTime { unsafe fleet_tls_set_time(tls, time.milliseconds / 1000) }
        unsafe fleet_tls_set_modes(tls)
        unsafe connection.driver?.floodGuard.watch(tls)
        // libcurl no longer returns OpenSSL's connection after the handshake, so it is recorded during the handshake.
        let result = unsafe fleet_tls_set_owner(tls, TLSConnection.ownerSlot, owner) { tls, _, _ in
          guard let tls = unsafe tls else { return }
          unsafe TLSConnection.at(fleet_tls_owner(tls, TLSConnection.ownerSlot))?.handshakeBegan(tls)
        }
        return unsafe result == 1 && fleet_tls_offer_http2(tls) == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY
      })
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> TLSConnection? {
    unsafe context.map { unsafe Unmanaged<TLSConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// A handshake has begun; a further one begins if libcurl tries another address.
  private func handshakeBegan(_ tls: OpaquePointer) {
    guard unsafe self.tls != tls else { return }
    unsafe self.tls = tls
    unsafe previousSession?.resume(in: tls)
  }

  /// The server, or a proxy, keeps libcurl busy without end.
  private func giveUp() {
    guard handler != nil, !isConnected else { return }
    end(TransportFailure(.malformed, "the server's response takes too long to process"))
  }

  private func finishConnecting(_ code: CURLcode) {
    guard handler != nil, !isConnected else { return }
    guard code == CURLE_OK else {
      // The session may be the cause, but not of a timeout or of a wrong certificate. OpenSSL itself forgets a session
      // only after an alert (RFC 8446, section 6.2), and not if the server resets the connection.
      if code == CURLE_SSL_CONNECT_ERROR { previousSession = nil }
      return end(failure(code))
    }
    guard let tls = unsafe tls else { return end(failure(CURLE_SSL_CONNECT_ERROR)) }
    do {
      source = try loop.addIO(easy.activeSocket, .readable) { [unowned self] in handle($0) }
    } catch {
      return end(TransportFailure(.local, error.message))
    }
    isConnected = true
    report(.connected(hasHTTP2: unsafe fleet_tls_has_http2(tls) == 1))
    // Data that was received with the end of the handshake is in OpenSSL's buffer, which the loop does not watch.
    read()
  }

  private func failure(_ code: CURLcode) -> TransportFailure {
    if driver?.floodGuard.hasClosedConnection == true { return TransportFailure(.broken, TLSFloodGuard.message) }
    if code == CURLE_OK { return TransportFailure(.broken, "the server closed the connection") }
    let message = easy.message(for: code)
    // A name lookup that times out has the code of any other timeout; only the text differs.
    let isLookup = code == CURLE_OPERATION_TIMEDOUT && message.hasPrefix("Resolving timed out")
    let kind = FailureTable.kind(
      of: code, verifyResult: easy.number(CURLINFO_SSL_VERIFYRESULT), systemError: easy.number(CURLINFO_OS_ERRNO))
    let isStalled = kind == .timedOut && isInHandshake
    return TransportFailure(isLookup ? .unresolved : kind, isStalled ? FailureTable.stalledHandshake : message)
  }

  // MARK: - Bytes

  private func handle(_ events: IOEvents) {
    withExtendedLifetime(self) {
      if events.contains(.writable) { write() }
      if !events.isDisjoint(with: [.readable, .hangUp, .error]) { read() }
    }
  }

  /// Sends data, in one TLS record if it fits.
  func send(_ bytes: [UInt8]) {
    guard isConnected, handler != nil else { return }
    unsent += bytes
    write()
  }

  private func write() {
    while !unsent.isEmpty, handler != nil {
      var count = 0
      let code = unsafe unsent.withUnsafeBytes { unsafe curl_easy_send(easy.raw, $0.baseAddress, $0.count, &count) }
      if code == CURLE_OK {
        unsent.removeFirst(min(count, unsent.count))
      } else if code == CURLE_AGAIN {
        // A server that does not read is handled by the request's deadline; at most one body is buffered.
        break
      } else {
        // The server's last data and its close may still be readable.
        unsent = []
        endLater(failure(code))
      }
    }
    guard isWaitingToWrite == unsent.isEmpty else { return }
    isWaitingToWrite = !unsent.isEmpty
    source?.watch(for: isWaitingToWrite ? [.readable, .writable] : .readable)
  }

  /// Reads available data, in one iteration of the loop no more than `readLimit` and for no longer than
  /// `readTimeLimit`: other events are handled before the rest is read.
  func read() {
    var left = TLSConnection.readLimit
    let deadline = loop.now.boot + TLSConnection.readTimeLimit
    while handler != nil {
      var count = 0
      let code = unsafe buffer.withUnsafeMutableBytes {
        unsafe curl_easy_recv(easy.raw, $0.baseAddress, $0.count, &count)
      }
      if code == CURLE_AGAIN { return }
      guard code == CURLE_OK, count > 0 else { return end(failure(code)) }
      report(.bytes(Array(buffer.prefix(count))))
      // The loop reports further data, except data that OpenSSL has already read.
      guard let tls = unsafe tls, unsafe SSL_has_pending(tls) == 1 else { return }
      left -= count
      if left <= 0 || loop.now.boot >= deadline { return loop.defer { [weak self] in self?.read() } }
    }
  }

  private func report(_ event: Event) {
    let handler = handler
    handler?(event)
  }

  private func end(_ failure: TransportFailure) {
    let handler = handler
    self.handler = nil
    source?.close()
    handler?(.ended(failure))
  }

  /// Ends the connection in a separate iteration of the loop, because the caller is in the middle of sending.
  private func endLater(_ failure: TransportFailure) {
    loop.defer { [weak self] in self?.end(failure) }
  }

  /// Closes the connection; nothing more is reported.
  ///
  /// - Parameter discardsUnsent: whether data that the server has not received is discarded. Otherwise the kernel keeps
  ///   sending it until its timeout.
  func close(discardingUnsent discardsUnsent: Bool = false) {
    if discardsUnsent, isConnected {
      _ = fleet_socket_discard_unsent(easy.activeSocket)
    }
    handler = nil
    source?.close()
  }
}
