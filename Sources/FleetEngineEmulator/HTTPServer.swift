// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// HTTP/1.1, in one thread: libmicrohttpd's epoll set inside our own `poll`.
@safe package final class HTTPServer {
  /// Bytes; a longer body is answered with 413.
  private static let maximumBody = 10_000_000
  /// Bytes that libmicrohttpd uses, and touches, for each connection: request headers and what is being sent.
  private static let connectionMemory = 32_768
  /// Descriptors of a fleet's connections at most, and those for everything else.
  private static let (maximumDescriptors, otherDescriptors): (rlim_t, rlim_t) = (65_536, 64)
  /// More at once are answered with 503.
  private static let maximumStreams = 32
  /// Milliseconds; proxies and browsers give up what is silent for a minute.
  private static let streamBeat: Int64 = 15_000

  /// What the owner of the server has to do between requests.
  package struct Business {
    /// For every event stream.
    package var events: [[UInt8]] = []
    /// Steady milliseconds when `attend` has to be called at the latest.
    package var deadline: Int64?

    package init() {}
  }

  private let answer: (Request) -> Reply
  private let attend: (ServerTime, Bool) -> Business
  private let clock: () -> ServerTime
  private var daemon: OpaquePointer?
  /// Suspended connections: a delay or a silence that was asked for.
  private var held: [Conversation] = []
  private var streams: [EventStream] = []
  private var nextBeat: Int64 = 0
  /// A stream has something to send, and its connection slept.
  private var hasWoken = false

  /// Where it listens.
  package let port: UInt16

  /// - Parameters:
  ///   - address: of the loopback interface, unless `isPublic`.
  ///   - port: 0 takes any free one.
  ///   - isPublic: whether it may be an address that other machines reach.
  ///   - clock: for the delays.
  ///   - attend: is called in `run`'s thread after each round of requests, and when its deadline comes, with whether there is
  ///     an event stream.
  ///   - answer: is called in `run`'s thread, once a request.
  /// - Throws: `EmulatorError` when the address or the port cannot be had.
  package init(
    address: String, port: UInt16, isPublic: Bool = false, clock: @escaping () -> ServerTime,
    attend: @escaping (ServerTime, Bool) -> Business = { _, _ in Business() },
    answer: @escaping (Request) -> Reply
  ) throws(EmulatorError) {
    self.answer = answer
    self.attend = attend
    self.clock = clock
    let socket = try ListeningSocket(address: address, port: port, isPublic: isPublic)
    self.port = socket.port
    unsafe daemon = fleet_mhd_start(
      socket.release(), Self.connections(), Self.connectionMemory,
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
      { context, _, conversation, _ in
        guard let context = unsafe context, let raw = unsafe conversation?.pointee else { return }
        let server = unsafe Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        server.end(unsafe Unmanaged<Conversation>.fromOpaque(raw).takeRetainedValue())
      }, Unmanaged.passUnretained(self).toOpaque())
    guard unsafe daemon != nil else { throw EmulatorError(.listening, "libmicrohttpd could not start") }
  }

  deinit {
    // A suspended connection must be running when the daemon stops.
    for conversation in held { conversation.resume() }
    for stream in streams { stream.end() }
    unsafe MHD_run(daemon)
    unsafe MHD_stop_daemon(daemon)
  }

  /// Raises the limit of descriptors, which is 1024 in most shells, as far as it may be.
  ///
  /// - Returns: the connections that it allows; libmicrohttpd's own limit is 1020.
  private static func connections() -> UInt32 {
    var limit = rlimit()
    unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, maximumDescriptors))
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return UInt32(min(limit.rlim_cur, maximumDescriptors) - min(limit.rlim_cur, otherDescriptors))
  }

  /// Serves until the interruption comes or the time is over.
  ///
  /// - Parameter end: steady milliseconds; nil for no end.
  package func run(until interruption: borrowing Interruption, or end: Int64? = nil) {
    while true {
      unsafe MHD_run(daemon)
      let now = clock()
      if let end, now.steady >= end { return }
      let due = serveStreams(at: now)
      if hasWoken {
        // libmicrohttpd resumes a connection in its next run, and nothing else wakes it.
        hasWoken = false
        continue
      }
      let deadlines = [end, due] + held.map(\.deadline)
      var timeout = deadlines.compactMap { $0 }.min().map { max(0, $0 - now.steady) }
      var wait: UInt64 = 0
      if unsafe MHD_get_timeout(daemon, &wait) == .YES { timeout = min(timeout ?? .max, Int64(clamping: wait)) }
      let idle = streams.filter(\.isSuspended)
      var polls = [
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: unsafe fleet_mhd_epoll_fd(daemon), events: Int16(POLLIN), revents: 0),
      ]
      // POLLRDHUP: the client of a suspended connection has given up.
      polls += (held.map(\.descriptor) + idle.map(\.descriptor)).map { pollfd(fd: $0, events: 0x2000, revents: 0) }
      _ = unsafe poll(&polls, nfds_t(polls.count), Int32(clamping: timeout ?? -1))
      if polls[0].revents != 0 { return }
      let hungUp = Set(polls.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
      release(hungUp: hungUp)
      for stream in idle where hungUp.contains(stream.descriptor) { stream.end() }
    }
  }

  /// Sends the owner's events to every stream, and a comment to streams that have been silent.
  ///
  /// - Returns: steady milliseconds when there is something to do again.
  private func serveStreams(at now: ServerTime) -> Int64? {
    let deadline = sendDue(at: now)
    guard !streams.isEmpty else { return deadline }
    if now.steady >= nextBeat {
      nextBeat = now.steady + Self.streamBeat
      send(EventStream.comment)
    }
    return min(deadline ?? .max, nextBeat)
  }

  private func sendDue(at now: ServerTime) -> Int64? {
    let business = attend(now, !streams.isEmpty)
    for event in business.events { send(event) }
    return business.deadline
  }

  private func send(_ event: [UInt8]) {
    for stream in streams {
      hasWoken = hasWoken || stream.isSuspended
      stream.add(event)
    }
  }

  private func end(_ conversation: Conversation) {
    guard let stream = conversation.stream else { return }
    streams.removeAll { $0 === stream }
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
    // Other streams get what is due before a new one begins with the state as it is now.
    _ = sendDue(at: clock())
    var reply = answer(conversation.request)
    if case .events = reply.content, streams.count >= Self.maximumStreams {
      reply = Reply(
        APIError(.unavailable, "\(streams.count) pages are open already; close one.", reason: "TOO_MANY_STREAMS"))
    }
    conversation.reply = reply
    if case .events = reply.content {
      let result = conversation.finish(reply)
      if let stream = conversation.stream { streams.append(stream) }
      return result
    }
    if reply.silence != .drop && reply.delay == 0 { return conversation.finish(reply) }
    conversation.deadline = reply.silence == .drop ? nil : clock().steady + reply.delay
    conversation.suspend()
    held.append(conversation)
    return .YES
  }
}
