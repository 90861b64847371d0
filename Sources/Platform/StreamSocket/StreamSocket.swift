// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Glibc
import SystemCalls
import Timekeeping

/// A nonblocking TCP connection on the event loop. It does not reconnect by itself: its session decides when to do
/// that.
package final class StreamSocket {
  /// The read size.
  private static let bufferSize = 8192
  /// A handshake over a slow mobile link takes up to this time.
  private static let minimumShare = Duration.seconds(3)
  /// Maximum number of reads in `readNow`.
  private static let maximumReads = 16

  private let loop: EventLoop
  /// Host and port, for messages.
  private let name: String
  /// Nil for an incoming connection.
  private let lookup: HostLookup?
  private let deadline: Duration
  private let giveUpTime: BootInstant
  private var descriptor: Descriptor?
  private var source: EventSource<IOEvents>?
  private var timer: LoopTimer?
  private var buffer = [UInt8](repeating: 0, count: bufferSize)
  /// Addresses that have not been tried yet.
  private var addresses: [SocketAddress] = []
  private var isConnected = false
  private var unsent: [UInt8] = []
  private var lowWaterMark = 1
  private var onConnected: (() -> Void)?
  private var onBytes: ((Span<UInt8>) -> Void)?
  private var onEnd: ((StreamSocketError) -> Void)?

  /// Starts to connect. No handler is called before the next iteration of the loop.
  ///
  /// - Parameters:
  ///   - lookup: resolves the host; its owner reuses it for the next connection.
  ///   - deadline: the timeout for name resolution and all addresses together. An address that does not answer gets an
  ///     equal share of the time that is left, but at least 3 s.
  ///   - onConnected: called once when the connection is established.
  ///   - onBytes: called with received data in order; the span is valid during the call.
  ///   - onEnd: called once if connecting failed or the connection is closed.
  package init(
    loop: EventLoop, lookup: HostLookup, deadline: Duration, onConnected: @escaping () -> Void,
    onBytes: @escaping (Span<UInt8>) -> Void, onEnd: @escaping (StreamSocketError) -> Void
  ) {
    self.loop = loop
    self.lookup = lookup
    self.deadline = deadline
    giveUpTime = loop.now.boot + deadline
    name = lookup.name
    self.onConnected = onConnected
    self.onBytes = onBytes
    self.onEnd = onEnd
    do {
      let timer = try loop.makeTimer { [weak self] in self?.timedOut() }
      timer.arm(at: giveUpTime)
      self.timer = timer
    } catch {
      loop.defer { [weak self] in self?.end(.init(.failed, "\(lookup.name): \(error.message)", cause: error.cause)) }
      return
    }
    lookup.resolve { [weak self] result in
      switch result {
      case .success(let addresses):
        self?.addresses = addresses
        self?.connectNext(after: nil)
      case .failure(let error): self?.end(error)
      }
    }
  }

  /// Reads an incoming connection. No handler is called before the next iteration of the loop.
  ///
  /// - Parameters:
  ///   - connection: a connection accepted by `StreamListener`.
  ///   - onBytes: called with received data in order; the span is valid during the call.
  ///   - onEnd: called once if the connection is closed.
  /// - Throws: code `failed` if the system has no resources.
  package init(
    loop: EventLoop, connection: consuming StreamListener.Connection, onBytes: @escaping (Span<UInt8>) -> Void,
    onEnd: @escaping (StreamSocketError) -> Void
  ) throws(StreamSocketError) {
    self.loop = loop
    lookup = nil
    (deadline, giveUpTime) = (.zero, .boot)
    name = "\(connection.address)"
    self.onBytes = onBytes
    self.onEnd = onEnd
    isConnected = true
    let rawValue = connection.descriptor.rawValue
    let own = connection.descriptor
    descriptor = consume own
    SocketOption.enableKeepAlive(rawValue)
    do {
      source = try loop.addIO(rawValue, .readable) { [weak self] in self?.handle($0) }
    } catch {
      throw StreamSocketError(.failed, "\(name): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit { close() }

  /// Closes the connection, or cancels connecting, without calling a handler. Idempotent, and allowed inside a handler.
  package func close() {
    onConnected = nil
    onBytes = nil
    onEnd = nil
    if !isConnected { lookup?.cancel() }
    timer?.close()
    timer = nil
    closeDescriptor()
  }

  /// Sends data. Data is discarded before the connection is established and after it was closed.
  package func send(_ bytes: [UInt8]) {
    guard isConnected, descriptor != nil else { return }
    unsent += bytes
    write()
  }

  /// Reports data only once at least this many bytes have arrived, or the connection ends (SO_RCVLOWAT). Initially 1.
  package func setLowWaterMark(_ count: Int) {
    guard let rawValue = descriptor?.rawValue else { return }
    lowWaterMark = count
    try? SocketOption.set(rawValue, SOL_SOCKET, SO_RCVLOWAT, Int32(clamping: count))
  }

  /// Reports available data.
  package func readNow() {
    // Limited, in case the peer sends without end.
    for _ in 0..<StreamSocket.maximumReads {
      guard read() == StreamSocket.bufferSize else { break }
    }
  }

  // MARK: - Connecting

  /// - Parameter failure: the error of the previous address.
  private func connectNext(after failure: Errno?) {
    closeDescriptor()
    guard !addresses.isEmpty else {
      return end(StreamSocketError(name, failure ?? Errno(EADDRNOTAVAIL)))
    }
    let now = loop.now.boot
    timer?.arm(at: min(now + max((giveUpTime - now) / addresses.count, StreamSocket.minimumShare), giveUpTime))
    let address = addresses.removeFirst()
    do throws(Errno) {
      let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      let descriptor = Descriptor(owning: try Errno.retrying { socket(address.family, type, 0) })
      let rawValue = descriptor.rawValue
      self.descriptor = consume descriptor
      do {
        _ = try Errno.retrying { unsafe address.withSockaddr { unsafe connect(rawValue, $0, $1) } ?? -1 }
      } catch {
        // EALREADY: a signal interrupted the call, which continues by itself.
        guard error.code == EINPROGRESS || error.code == EALREADY else { throw error }
      }
      try watch(rawValue)
    } catch {
      connectNext(after: error)
    }
  }

  private func watch(_ rawValue: Int32) throws(Errno) {
    do {
      source = try loop.addIO(rawValue, .writable) { [weak self] in self?.handle($0) }
    } catch {
      throw error.cause ?? Errno(EIO)
    }
  }

  private func handle(_ events: IOEvents) {
    guard isConnected else { return finishConnecting() }
    if events.contains(.writable) { write() }
    guard !events.isDisjoint(with: [.readable, .hangUp, .error]) else { return }
    // With such a low-water mark, the bytes that a single read leaves would not be reported.
    if lowWaterMark > StreamSocket.bufferSize { readNow() } else { read() }
  }

  private func finishConnecting() {
    guard let rawValue = descriptor?.rawValue else { return }
    var code: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    do throws(Errno) {
      _ = try Errno.retrying { unsafe getsockopt(rawValue, SOL_SOCKET, SO_ERROR, &code, &size) }
      if code != 0 { throw Errno(code) }
    } catch {
      return connectNext(after: error)
    }
    isConnected = true
    SocketOption.enableKeepAlive(rawValue)
    timer?.close()
    timer = nil
    source?.watch(for: .readable)
    let onConnected = onConnected
    self.onConnected = nil
    onConnected?()
  }

  private func timedOut() {
    guard addresses.isEmpty || loop.now.boot >= giveUpTime else { return connectNext(after: Errno(ETIMEDOUT)) }
    end(StreamSocketError(.timeout, "\(name): no response for \(deadline.wholeSeconds) s"))
  }

  // MARK: - Bytes

  private func write() {
    guard let rawValue = descriptor?.rawValue else { return }
    do throws(Errno) {
      while !unsent.isEmpty {
        let count = try Errno.retrying {
          unsafe unsent.withUnsafeBytes {
            unsafe Glibc.send(rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
        }
        unsent.removeFirst(min(count, unsent.count))
      }
      source?.watch(for: .readable)
    } catch {
      if error.code == EAGAIN {
        source?.watch(for: [.readable, .writable])
      } else {
        // Ends in a separate iteration of the loop, because the caller is in the middle of sending.
        loop.defer { [weak self] in self.map { $0.end(StreamSocketError($0.name, error)) } }
      }
    }
  }

  /// - Returns: the number of bytes read.
  @discardableResult private func read() -> Int {
    do throws(Errno) {
      switch try descriptor?.read(into: &buffer) {
      case .bytes(let count)?:
        let buffer = buffer
        onBytes?(buffer.span.extracting(first: count))
        return count
      case .wouldBlock?, nil: break
      case .end?: end(StreamSocketError(.closed, "\(name): the connection was closed by the other side"))
      }
    } catch {
      end(StreamSocketError(name, error))
    }
    return 0
  }

  private func end(_ error: StreamSocketError) {
    let onEnd = onEnd
    close()
    onEnd?(error)
  }

  private func closeDescriptor() {
    source?.close()
    source = nil
    descriptor = nil
  }
}
