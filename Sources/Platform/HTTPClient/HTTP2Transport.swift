// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTP2
import HTTPMessages
import SystemCalls
import Timekeeping
import URLReader

/// Sends requests sequentially over HTTP/2: performs the effects of `HTTP2Connection` on a `TLSConnection`.
final class HTTP2Transport {
  /// A request and its completion handler.
  final class QueuedRequest {
    let request: HTTPRequest
    let address: WebAddress
    let deadline: BootInstant
    let completion: Completion

    init(_ request: HTTPRequest, to address: WebAddress, deadline: BootInstant, _ completion: Completion) {
      self.request = request
      self.address = address
      self.deadline = deadline
      self.completion = completion
    }
  }

  /// The allowed delay of a timeout: the timer is rearmed with each request.
  private static let timerSlack = Duration.milliseconds(250)

  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private let meter: ConnectionMeter
  private var timer: LoopTimer?
  /// When the timer fires; nil if disarmed.
  private var armedAt: BootInstant?
  private var link: TLSConnection?
  private var connection: HTTP2Connection?
  /// The connection preface, sent with the first request.
  private var preface: [UInt8] = []
  /// The origin of `link`.
  private var origin = ""
  /// The request in flight on `connection`, then the queued ones.
  private var current: QueuedRequest?
  private var waiting: [QueuedRequest] = []
  private var session: (origin: String, TLSSession)?
  /// The target of `link`.
  private var last: (address: WebAddress, certificateTime: Timestamp?)?
  private var isStale = false
  /// A call of the owner is in progress.
  private var isInCall = false
  /// `connection` has received a response.
  private var hasAnswered = false
  /// A request on `connection` was cancelled, and there was no response since: unsent data of it must not arrive late.
  private var hasCancelled = false
  /// The origin of a server without HTTP/2.
  private var http1Origin: String?
  private(set) var counters = TrafficCounters()
  /// Receives requests for HTTP/1.1.
  var onHTTP1: ((QueuedRequest) -> Void)?
  /// Called with each response, before its own completion handler.
  var onAnswered: (() -> Void)?

  /// - Throws: no descriptors left for a timer.
  init(
    loop: EventLoop, configuration: HTTPClientConfiguration, meter: ConnectionMeter
  ) throws(HTTPClientError) {
    self.loop = loop
    self.configuration = configuration
    self.meter = meter
    do {
      timer = try loop.makeTimer(slack: HTTP2Transport.timerSlack) { [unowned self] in checkDeadlines() }
    } catch {
      throw HTTPClientError(.unavailable, error.message, cause: error.cause)
    }
  }

  isolated deinit {
    connection?.wipe()
    timer?.close()
    link?.close()
  }

  /// Whether requests to this server can use HTTP/2, as far as known.
  func serves(_ address: WebAddress) -> Bool {
    address.scheme == "https" && (http1Origin == nil || http1Origin != address.origin)
  }

  /// The outcome is reported in a later iteration of the loop.
  func send(_ order: QueuedRequest) {
    waiting.append(order)
    isInCall = true
    start()
    isInCall = false
  }

  /// Opens the connection in advance, if there is none.
  func connect(to address: WebAddress, certificateTime: Timestamp?) {
    guard link == nil, waiting.isEmpty else { return }
    open(to: address, certificateTime: certificateTime, deadline: nil)
  }

  /// Cancels a request without calling its completion handler.
  func cancel(_ completion: Completion) {
    completion.drop()
    waiting.removeAll { $0.completion === completion }
    isInCall = true
    if current?.completion === completion {
      current = nil
      hasCancelled = true
      feed(.cancel)
    }
    // A request without a stream ends without an effect, and others may have been queued behind it.
    start()
    isInCall = false
  }

  /// The next request uses a new connection; the current one may finish. What is known of the server's protocols may be
  /// from another network.
  func dropConnections() {
    http1Origin = nil
    isStale = true
    if current == nil, waiting.isEmpty { closeLink() }
  }

  // MARK: - The connection

  /// Sends the next request if none is in flight and there is a connection.
  private func start() {
    guard current == nil, let next = waiting.first else { return armTimer() }
    if link != nil, isStale || last?.address.hasOrigin(of: next.address) != true { closeLink() }
    if connection?.canSend(at: loop.now.boot) == false { closeLink() }
    if connection != nil {
      current = waiting.removeFirst()
      feed(.send(next.request, to: next.address, deadline: next.deadline))
    } else if link == nil {
      open(to: next.address, certificateTime: next.request.certificateTime, deadline: next.deadline)
    }
    armTimer()
  }

  private func open(to address: WebAddress, certificateTime: Timestamp?, deadline: BootInstant?) {
    isStale = false
    hasAnswered = false
    last = (address, certificateTime)
    origin = address.origin
    let rest = deadline.map { $0 - loop.now.boot } ?? configuration.connectTimeout
    do {
      link = try TLSConnection(
        loop: loop, settings: configuration, meter: meter, to: address,
        timeout: min(rest, configuration.connectTimeout),
        certificateTime: certificateTime, earlier: session.flatMap { $0.origin == origin ? $0.1 : nil }
      ) { [weak self] in self?.handle($0) }
    } catch {
      failAll(error)
    }
  }

  private func handle(_ event: TLSConnection.Event) {
    switch event {
    case .connected(let hasHTTP2):
      counters.connections &+= 1
      guard hasHTTP2 else { return fallBack() }
      connection = HTTP2Connection(userAgent: configuration.userAgent, idleTimeout: configuration.idleTimeout)
      // The first request is sent together with the preface, in one TLS record.
      for case .write(let bytes) in connection?.handle(.connected, at: loop.now.boot) ?? [] { preface += bytes }
      start()
      if !preface.isEmpty { write([]) }
    case .bytes(let bytes):
      counters.bytesReceived &+= UInt64(bytes.count)
      feed(.received(bytes))
    case .ended(let failure):
      if connection == nil {
        closeLink()
        failAll(failure)
      } else {
        feed(.ended(failure.message))
      }
    }
  }

  private func closeLink() {
    if let link { session = link.session.map { (origin, $0) } }
    connection?.wipe()
    connection = nil
    preface = []
    link?.close(discardingUnsent: hasCancelled)
    hasCancelled = false
    link = nil
  }

  /// The server has no HTTP/2: queued and later requests use HTTP/1.1.
  private func fallBack() {
    http1Origin = origin
    closeLink()
    let orders = waiting
    waiting = []
    armTimer()
    for order in orders { onHTTP1?(order) }
  }

  private func failAll(_ failure: TransportFailure) {
    let orders = waiting
    waiting = []
    armTimer()
    for order in orders { finish(order, .failure(failure)) }
  }

  private func finish(_ order: QueuedRequest, _ outcome: HTTPOutcome) {
    counters.requests &+= 1
    if isInCall {
      // Not before `send` has returned.
      loop.defer { order.completion.call(outcome) }
    } else {
      order.completion.call(outcome)
    }
  }

  // MARK: - Inputs and effects

  private func feed(_ input: HTTP2Connection.Input) {
    perform(connection?.handle(input, at: loop.now.boot) ?? [])
  }

  private func perform(_ effects: [HTTP2Connection.Effect]) {
    guard !effects.isEmpty else { return }
    // The completion handler may release the client.
    defer { withExtendedLifetime(self) {} }
    var outcome: HTTPOutcome?
    var isGracefulEnd: Bool?
    let order = current
    for effect in effects {
      switch effect {
      case .write(let bytes):
        write(bytes)
      case .answered(let response):
        hasAnswered = true
        hasCancelled = false
        onAnswered?()
        outcome = .response(redirecting(response))
      case .failed(let failure):
        if failure.needsHTTP1 { http1Origin = origin }
        outcome = .failure(
          TransportFailure(failure.kind, FailureTable.message(current?.address, failure.message)))
      case .close(let isGraceful): isGracefulEnd = isGraceful
      }
    }
    if outcome != nil { current = nil }
    if let isGracefulEnd {
      closeLink()
      // Opens another connection before the next update is due.
      if isGracefulEnd, hasAnswered, waiting.isEmpty, !isStale, let last, serves(last.address) {
        open(to: last.address, certificateTime: last.certificateTime, deadline: nil)
      }
    }
    if let order, let outcome { finish(order, outcome) }
    if current == nil, isStale, waiting.isEmpty { closeLink() }
    start()
  }

  private func write(_ bytes: [UInt8]) {
    let bytes = preface + bytes
    preface = []
    counters.bytesSent &+= UInt64(bytes.count)
    link?.send(bytes)
  }

  private func redirecting(_ response: HTTPResponse) -> HTTPResponse {
    guard (300..<400).contains(response.status) else { return response }
    var response = response
    response.redirect = response.header("location").flatMap { try? WebAddress(reading: $0) }
    return response
  }

  // MARK: - Time

  private func armTimer() {
    var deadline = connection?.nextDeadline
    for order in waiting { deadline = min(deadline ?? order.deadline, order.deadline) }
    guard deadline != armedAt else { return }
    armedAt = deadline
    if let deadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func checkDeadlines() {
    armedAt = nil
    let now = loop.now.boot
    let late = waiting.filter { $0.deadline <= now }
    waiting.removeAll { $0.deadline <= now }
    for order in late {
      finish(
        order,
        .failure(TransportFailure(.timedOut, FailureTable.message(order.address, "no response before the deadline"))))
    }
    // The request timed out while connecting.
    if !late.isEmpty, connection == nil { closeLink() }
    feed(.deadline)
    start()
  }
}
