// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// An HTTP/1.1 server in one thread: `poll` includes libmicrohttpd's epoll descriptor.
@safe package final class HTTPServer {
  /// Maximum size of a body in bytes, compressed or not; a longer one is answered with 413.
  static let maximumBodySize = 10_000_000
  /// Bytes of memory that libmicrohttpd uses for each connection: for request headers and unsent data.
  private static let connectionMemory = 32_768
  /// Maximum number of descriptors, and how many of them are not for connections.
  private static let (maximumDescriptors, otherDescriptors): (rlim_t, rlim_t) = (65_536, 64)
  /// Maximum number of event streams; more are answered with 503.
  private static let maximumStreams = 32
  /// Interval of keep-alive comments in milliseconds: proxies and browsers close a connection that is silent for a
  /// minute.
  private static let keepAliveInterval: Int64 = 15_000

  /// The result of the owner's work between requests.
  package struct PendingWork {
    /// Events to send to every stream.
    package var events: [[UInt8]] = []
    /// Steady milliseconds when `performPendingWork` has to be called at the latest.
    package var deadline: Int64?

    package init() {}
  }

  private let answer: (Request) -> Reply
  private let performPendingWork: (ServerTime, Bool) -> PendingWork
  private let clock: () -> ServerTime
  private var daemon: OpaquePointer?
  /// Suspended connections, whose response is delayed or never sent because of a fault.
  private var suspendedExchanges: [ServerExchange] = []
  private var streams: [EventStream] = []
  private var nextKeepAlive: Int64 = 0
  /// Whether a suspended stream has been resumed.
  private var hasResumed = false

  /// The port on which it listens.
  package let port: UInt16

  /// - Parameters:
  ///   - address: an address of the loopback interface, or any if `isPublic`.
  ///   - port: 0 selects a free port.
  ///   - isPublic: whether other machines may be able to reach the address.
  ///   - clock: the clock for delays.
  ///   - performPendingWork: called in `run`'s thread after each round of requests and at its deadline. Its second
  ///     argument is whether there is an event stream.
  ///   - answer: called in `run`'s thread, once for each request.
  /// - Throws: `EmulatorError` if the address or the port is not available.
  package init(
    address: String, port: UInt16, isPublic: Bool = false, clock: @escaping () -> ServerTime,
    performPendingWork: @escaping (ServerTime, Bool) -> PendingWork = { _, _ in PendingWork() },
    answer: @escaping (Request) -> Reply
  ) throws(EmulatorError) {
    self.answer = answer
    self.performPendingWork = performPendingWork
    self.clock = clock
    let socket = try ListeningSocket(address: address, port: port, isPublic: isPublic)
    self.port = socket.port
    unsafe daemon = fleet_mhd_start(
      socket.release(), Self.raiseDescriptorLimit(), Self.connectionMemory,
      { context, connection, _, method, _, data, size, exchange in
        guard let context = unsafe context, let connection = unsafe connection, let size = unsafe size,
          let raw = unsafe exchange?.pointee
        else { return .NO }
        let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = unsafe Unmanaged<ServerExchange>.fromOpaque(raw).takeUnretainedValue()
        if let data = unsafe data, unsafe size.pointee > 0 {
          let bytes = unsafe UnsafeRawBufferPointer(start: data, count: size.pointee)
          unsafe exchange.receive(bytes, limit: HTTPServer.maximumBodySize)
          unsafe size.pointee = 0
          return .YES
        }
        if !exchange.hasBegun {
          let method = unsafe method.map { unsafe String(cString: $0) } ?? ""
          unsafe exchange.begin(connection, method: method)
          return .YES
        }
        return server.proceed(exchange)
      },
      { _, target, connection in
        guard let target = unsafe target, unsafe connection != nil else { return nil }
        return unsafe Unmanaged.passRetained(ServerExchange(target: String(cString: target))).toOpaque()
      },
      { context, _, exchange, _ in
        guard let context = unsafe context, let raw = unsafe exchange?.pointee else { return }
        let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        server.removeStream(of: unsafe Unmanaged<ServerExchange>.fromOpaque(raw).takeRetainedValue())
      }, Unmanaged.passUnretained(self).toOpaque())
    guard unsafe daemon != nil else { throw EmulatorError(.listening, "libmicrohttpd could not start") }
  }

  deinit {
    // Suspended connections must be resumed before libmicrohttpd's daemon is stopped.
    for exchange in suspendedExchanges { exchange.resume() }
    for stream in streams { stream.end() }
    unsafe MHD_run(daemon)
    unsafe MHD_stop_daemon(daemon)
  }

  /// Raises the limit of descriptors, which is 1024 in most shells, to the hard limit, but at most to
  /// `maximumDescriptors`.
  ///
  /// - Returns: the number of connections that it allows; libmicrohttpd's default is 1020.
  private static func raiseDescriptorLimit() -> UInt32 {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, maximumDescriptors))
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return UInt32(min(limit.rlim_cur, maximumDescriptors) - min(limit.rlim_cur, otherDescriptors))
  }

  /// Serves until a stop signal is received or the duration has elapsed.
  ///
  /// - Parameter end: steady milliseconds; nil for no end.
  package func run(until stopSignals: borrowing StopSignals, or end: Int64? = nil) {
    while true {
      unsafe MHD_run(daemon)
      let now = clock()
      if let end, now.steady >= end { return }
      let streamDeadline = serveStreams(at: now)
      if hasResumed {
        // libmicrohttpd resumes a connection only in its next run, so run it without waiting.
        hasResumed = false
        continue
      }
      let deadlines = [end, streamDeadline] + suspendedExchanges.map(\.deadline)
      var timeout = deadlines.compactMap { $0 }.min().map { max(0, $0 - now.steady) }
      var wait: UInt64 = 0
      if unsafe MHD_get_timeout(daemon, &wait) == .YES { timeout = min(timeout ?? .max, Int64(clamping: wait)) }
      let idle = streams.filter(\.isSuspended)
      var polls = [
        pollfd(fd: stopSignals.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: unsafe fleet_mhd_epoll_fd(daemon), events: Int16(POLLIN), revents: 0),
      ]
      // POLLRDHUP: the client has closed a suspended connection.
      polls += (suspendedExchanges.map(\.descriptor) + idle.map(\.descriptor)).map {
        pollfd(fd: $0, events: 0x2000, revents: 0)
      }
      _ = unsafe poll(&polls, nfds_t(polls.count), Int32(clamping: timeout ?? -1))
      if polls[0].revents != 0 { return }
      let hungUp = Set(polls.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
      resumeDue(hungUp: hungUp)
      for stream in idle where hungUp.contains(stream.descriptor) { stream.end() }
    }
  }

  /// Sends the owner's events to every stream, and a comment to streams that have been silent.
  ///
  /// - Returns: steady milliseconds when this must be called again.
  private func serveStreams(at now: ServerTime) -> Int64? {
    let deadline = sendDueEvents(at: now)
    guard !streams.isEmpty else { return deadline }
    if now.steady >= nextKeepAlive {
      nextKeepAlive = now.steady + Self.keepAliveInterval
      send(EventStream.keepAliveComment)
    }
    return min(deadline ?? .max, nextKeepAlive)
  }

  private func sendDueEvents(at now: ServerTime) -> Int64? {
    let work = performPendingWork(now, !streams.isEmpty)
    for event in work.events { send(event) }
    return work.deadline
  }

  private func send(_ event: [UInt8]) {
    for stream in streams {
      hasResumed = hasResumed || stream.isSuspended
      stream.add(event)
    }
  }

  private func removeStream(of exchange: ServerExchange) {
    guard let stream = exchange.stream else { return }
    streams.removeAll { $0 === stream }
  }

  /// Resumes the suspended connections whose delay is over or whose client has closed them.
  private func resumeDue(hungUp: Set<Int32>) {
    let now = clock().steady
    suspendedExchanges.removeAll { exchange in
      let isGone = hungUp.contains(exchange.descriptor)
      guard isGone || exchange.deadline.map({ $0 <= now }) ?? false else { return false }
      if isGone { exchange.reply?.silence = .reset }
      exchange.resume()
      return true
    }
  }

  /// Answers a request that is complete, or whose delay is over.
  private func proceed(_ exchange: ServerExchange) -> MHD_Result {
    if let reply = exchange.reply { return exchange.finish(reply) }
    var reply = answer(exchange.request)
    if case .events = reply.content, streams.count >= Self.maximumStreams {
      reply = Reply(
        APIError(.unavailable, "\(streams.count) pages are already open; close one.", reason: "TOO_MANY_STREAMS"))
    }
    exchange.reply = reply
    if case .events = reply.content {
      // Existing streams get the events that are due, because a new one begins with the current state. Other requests
      // send none: a round would otherwise send more than a credit, all of it written at its end.
      _ = sendDueEvents(at: clock())
      let result = exchange.finish(reply)
      if let stream = exchange.stream { streams.append(stream) }
      return result
    }
    if reply.silence != .drop && reply.delay == 0 { return exchange.finish(reply) }
    exchange.deadline = reply.silence == .drop ? nil : clock().steady + reply.delay
    exchange.suspend()
    suspendedExchanges.append(exchange)
    return .YES
  }
}
