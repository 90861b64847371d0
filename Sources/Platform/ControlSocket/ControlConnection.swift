// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SystemCalls
import Timekeeping
import Varlink

/// A client's connection to the control socket. It carries Varlink calls one after the other, each with its reply (the
/// last call may have any number of replies); or one line with its response.
package final class ControlConnection {
  /// The time limits of one call.
  struct Limits {
    /// For the request, counted from the connection or from the last reply.
    var request: Duration
    /// For request and reply together.
    var exchange: Duration
    /// The size of a request in bytes.
    var requestSize: Int
  }

  let user: uid_t
  /// No request is being handled.
  private(set) var isIdle = true
  private let loop: EventLoop
  private let descriptor: Descriptor
  private let limits: Limits
  private var framing: MessageFraming
  private var exchangeStart: BootInstant
  private var source: EventSource<IOEvents>?
  private var timer: LoopTimer?
  /// The end of the messages of this connection.
  private var terminator = MessageFraming.varlinkTerminator
  private var output: ArraySlice<UInt8> = []
  private var isServing = false
  /// The maximum size of `output` in bytes once one call has many replies; nil before that.
  private var queueLimit: Int?
  private var respond: ((MessageFraming.Message, ControlConnection) -> Void)?
  private var onEnd: (() -> Void)?

  /// Nil if the system has no timer left.
  init?(_ loop: EventLoop, _ descriptor: consuming Descriptor, user: uid_t, limits: Limits) {
    self.user = user
    self.loop = loop
    self.descriptor = descriptor
    self.limits = limits
    framing = MessageFraming(limit: limits.requestSize)
    exchangeStart = loop.now.boot
    guard let timer = try? loop.makeTimer({ [unowned self] in close() }) else { return nil }
    self.timer = timer
    timer.arm(at: exchangeStart + limits.request)
  }

  func begin(respond: @escaping (MessageFraming.Message, ControlConnection) -> Void, onEnd: @escaping () -> Void) {
    self.respond = respond
    self.onEnd = onEnd
    source = try? loop.addIO(descriptor.rawValue, .readable) { [unowned self] events in
      events.contains(.writable) ? flush() : read()
    }
    if source == nil { close() }
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 1024)
    guard case .bytes(let count)? = try? descriptor.read(into: &buffer) else { return close() }
    guard queueLimit == nil else {
      // A client that gets an endless series of replies may still send only the line end that `ControlClient` adds to
      // its call.
      if buffer.prefix(count) != [MessageFraming.lineTerminator] { close() }
      return
    }
    framing.append(buffer.prefix(count))
    serve()
  }

  /// Handles the requests that have arrived, each after the reply to the previous one.
  private func serve() {
    guard !isServing else { return }
    isServing = true
    while isIdle, onEnd != nil, let message = framing.next() {
      if case .line = message { terminator = MessageFraming.lineTerminator }
      isIdle = false
      timer?.arm(at: exchangeStart + limits.exchange)
      source?.pause()
      respond?(message, self)
    }
    isServing = false
    if isIdle, framing.isTooLong { close() }
  }

  /// Sends the reply to the request that is being handled; nil if there is none. Ignored if the client has
  /// disconnected.
  package func answer(_ reply: [UInt8]?) {
    guard onEnd != nil, !isIdle else { return }
    output = ArraySlice(reply.map { $0 + [terminator] } ?? [])
    // Sent at once, because the daemon may end after this request.
    flush()
  }

  private func flush() {
    while !output.isEmpty {
      let count = unsafe output.withUnsafeBytes {
        unsafe send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else {
        guard errno == EAGAIN else { return close() }
        source?.watch(for: .writable)
        source?.resume()
        return
      }
      output = output.dropFirst(count)
    }
    guard queueLimit == nil else {
      source?.watch(for: .readable)
      source?.resume()
      return
    }
    guard terminator == MessageFraming.varlinkTerminator else { return close() }
    isIdle = true
    exchangeStart = loop.now.boot
    timer?.arm(at: exchangeStart + limits.request)
    source?.watch(for: .readable)
    source?.resume()
    serve()
  }

  /// Sends the first of many replies to the request that is being handled.
  ///
  /// - Parameter limit: the maximum number of bytes that are queued for the client.
  func stream(_ first: [UInt8], limit: Int) {
    guard onEnd != nil, !isIdle else { return }
    queueLimit = limit
    timer?.disarm()
    answer(first)
  }

  /// Sends the next of many replies.
  ///
  /// - Returns: false if the client does not read; nothing more is sent to it.
  func add(_ reply: [UInt8]) -> Bool {
    guard onEnd != nil, let queueLimit else { return true }
    guard output.count + reply.count < queueLimit else { return false }
    let isWaiting = !output.isEmpty
    output += reply + [terminator]
    if !isWaiting { flush() }
    return true
  }

  /// Whether the connection is still open.
  var isOpen: Bool { onEnd != nil }

  /// Closes the connection; further replies are ignored.
  package func close() {
    source?.close()
    timer?.close()
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
  }
}
