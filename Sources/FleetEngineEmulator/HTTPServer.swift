// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// HTTP/1.1, in one thread: libmicrohttpd's epoll set inside our own `poll`.
@safe package final class HTTPServer {
  /// Bytes; a longer body is answered with 413.
  private static let maximumBody = 10_000_000

  private let answer: (Request) -> Reply
  private let clock: () -> ServerTime
  private var daemon: OpaquePointer?
  /// Suspended connections: a delay or a silence that was asked for.
  private var held: [Conversation] = []

  /// Where it listens.
  package let port: UInt16

  /// - Parameters:
  ///   - address: of the loopback interface, unless `isPublic`.
  ///   - port: 0 takes any free one.
  ///   - isPublic: whether it may be an address that other machines reach.
  ///   - clock: for the delays.
  ///   - answer: is called in `run`'s thread, once a request.
  /// - Throws: `EmulatorError` when the address or the port cannot be had.
  package init(
    address: String, port: UInt16, isPublic: Bool = false, clock: @escaping () -> ServerTime,
    answer: @escaping (Request) -> Reply
  ) throws(EmulatorError) {
    self.answer = answer
    self.clock = clock
    let socket = try ListeningSocket(address: address, port: port, isPublic: isPublic)
    self.port = socket.port
    unsafe daemon = fleet_mhd_start(
      socket.release(), 131_072,
      { context, connection, _, method, _, data, size, conversation in
        guard let context = unsafe context, let connection = unsafe connection, let size = unsafe size,
          let raw = unsafe conversation?.pointee
        else { return .NO }
        let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let conversation = unsafe Unmanaged<Conversation>.fromOpaque(raw).takeUnretainedValue()
        if let data = unsafe data, unsafe size.pointee > 0 {
          let bytes = unsafe UnsafeRawBufferPointer(start: data, count: size.pointee)
          unsafe conversation.take(bytes, limit: HTTPServer.maximumBody)
          unsafe size.pointee = 0
          return .YES
        }
        if !conversation.hasBegun {
          let method = unsafe method.map { unsafe String(cString: $0) } ?? ""
          unsafe conversation.begin(connection, method: method)
          return .YES
        }
        return server.proceed(conversation)
      },
      { _, target, connection in
        guard let target = unsafe target, unsafe connection != nil else { return nil }
        return unsafe Unmanaged.passRetained(Conversation(target: String(cString: target))).toOpaque()
      },
      { _, _, conversation, _ in
        guard let raw = unsafe conversation?.pointee else { return }
        unsafe Unmanaged<Conversation>.fromOpaque(raw).release()
      }, Unmanaged.passUnretained(self).toOpaque())
    guard unsafe daemon != nil else { throw EmulatorError(.listening, "libmicrohttpd could not start") }
  }

  deinit {
    // A suspended connection must be running when the daemon stops.
    for conversation in held { conversation.resume() }
    unsafe MHD_run(daemon)
    unsafe MHD_stop_daemon(daemon)
  }

  /// Serves until the interruption comes or the time is over.
  ///
  /// - Parameter end: steady milliseconds; nil for no end.
  package func run(until interruption: borrowing Interruption, or end: Int64? = nil) {
    while true {
      unsafe MHD_run(daemon)
      let now = clock().steady
      if let end, now >= end { return }
      var timeout = end.map { $0 - now }
      var wait: UInt64 = 0
      if unsafe MHD_get_timeout(daemon, &wait) == .YES { timeout = min(timeout ?? .max, Int64(clamping: wait)) }
      for conversation in held {
        if let deadline = conversation.deadline { timeout = min(timeout ?? .max, max(0, deadline - now)) }
      }
      var polls = [
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: unsafe fleet_mhd_epoll_fd(daemon), events: Int16(POLLIN), revents: 0),
      ]
      // POLLRDHUP: the client of a suspended connection has given up.
      polls += held.map { pollfd(fd: $0.descriptor, events: 0x2000, revents: 0) }
      _ = unsafe poll(&polls, nfds_t(polls.count), Int32(clamping: timeout ?? -1))
      if polls[0].revents != 0 { return }
      release(hungUp: Set(polls.dropFirst(2).filter { $0.revents != 0 }.map(\.fd)))
    }
  }

  /// Lets those suspended connections go on whose time has come or whose client is gone.
  private func release(hungUp: Set<Int32>) {
    let now = clock().steady
    held.removeAll { conversation in
      let isGone = hungUp.contains(conversation.descriptor)
      guard isGone || conversation.deadline.map({ $0 <= now }) ?? false else { return false }
      if isGone { conversation.reply?.silence = .reset }
      conversation.resume()
      return true
    }
  }

  /// The request is whole, or its delay is over.
  private func proceed(_ conversation: Conversation) -> MHD_Result {
    if let reply = conversation.reply { return conversation.finish(reply) }
    let reply = answer(conversation.request)
    conversation.reply = reply
    if reply.silence != .drop && reply.delay == 0 { return conversation.finish(reply) }
    conversation.deadline = reply.silence == .drop ? nil : clock().steady + reply.delay
    conversation.suspend()
    held.append(conversation)
    return .YES
  }
}
