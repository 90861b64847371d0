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
    /// Whether it must be sent on a connection that has carried no other request; false once such a connection could
    /// not be opened.
    var needsNewConnection: Bool

    init(_ request: HTTPRequest, to address: WebAddress, deadline: BootInstant, _ completion: Completion) {
      self.request = request
      self.address = address
      self.deadline = deadline
      self.completion = completion
      needsNewConnection = request.usesNewConnection
    }
  }

  /// A connection, from the moment when its opening begins.
  private final class Channel {
    /// The server's address.
    let address: WebAddress
    /// The time for which the server's certificate is verified; nil for that of the machine's clock.
    let certificateTime: Timestamp?
    /// The certificate files when it was opened.
    let files: CertificateFiles
    var tls: TLSConnection?
    /// Nil until the connection is open.
    var connection: HTTP2Connection?
    /// The connection preface, sent with the first request.
    var preface: [UInt8] = []
    /// Whether it has carried a request.
    var hasCarriedRequest = false
    /// Whether a request was cancelled or failed together with the connection, with no response since: the request's
    /// unsent data must not arrive late.
    var hasUnansweredRequest = false

    init(_ address: WebAddress, certificateTime: Timestamp?, _ files: CertificateFiles) {
      self.address = address
      self.certificateTime = certificateTime
      self.files = files
    }

    /// The session of the last connection to a server, for the next one.
    var resumable: (address: WebAddress, files: CertificateFiles, session: TLSSession)? {
      tls?.session.map { (address, files, $0) }
    }

    isolated deinit {
      connection?.wipe()
      tls?.close(discardingUnsent: hasUnansweredRequest)
    }

    var isOpen: Bool { connection != nil }

    /// Whether the certificate is verified for about this time.
    func isVerified(for time: Timestamp?) -> Bool {
      guard let time, let certificateTime else { return time == certificateTime }
      let difference = time - certificateTime
      return difference < .seconds(3600) && difference > .seconds(-3600)
    }
  }

  /// The allowed delay of a timeout: the timer is rearmed with each request.
  private static let timerSlack = Duration.milliseconds(250)

  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private let meter: ConnectionMeter
  private var timer: LoopTimer?
  /// When the timer fires; nil if disarmed.
  private var timerDeadline: BootInstant?
  /// The connection in use, or the one that is being opened.
  private var channel: Channel?
  /// The open connection that `channel` is to replace, while `channel` is being opened.
  private var channelToReplace: Channel?
  /// The request in flight on `channel`, then the queued ones.
  private var current: QueuedRequest?
  private var queued: [QueuedRequest] = []
  private var last: (address: WebAddress, files: CertificateFiles, session: TLSSession)?
  private var isStale = false
  /// Whether a call by the owner is in progress.
  private var isInCall = false
  /// The origin of a server that has no HTTP/2.
  private var http1Origin: String?
  private(set) var counters = TrafficCounters()
  /// Receives requests for HTTP/1.1.
  var onHTTP1: ((QueuedRequest) -> Void)?
  /// Called with each response, before the completion handler of its request.
  var onResponse: (() -> Void)?

  /// - Throws: if no descriptors are left for a timer.
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

  isolated deinit { timer?.close() }

  /// Whether requests to this server can use HTTP/2, as far as known.
  func supports(_ address: WebAddress) -> Bool {
    address.scheme == "https" && (http1Origin == nil || http1Origin != address.origin)
  }

  /// The outcome is reported in a later iteration of the loop.
  func send(_ request: QueuedRequest) {
    queued.append(request)
    isInCall = true
    startNext()
    isInCall = false
  }

  /// Opens the connection in advance, if there is no connection.
  func connect(to address: WebAddress, certificateTime: Timestamp?) {
    guard channel == nil, queued.isEmpty else { return }
    open(to: address, certificateTime: certificateTime, deadline: nil)
  }

  /// Cancels a request without calling its completion handler.
  func cancel(_ completion: Completion) {
    completion.drop()
    queued.removeAll { $0.completion === completion }
    isInCall = true
    if current?.completion === completion {
      current = nil
      channel?.hasUnansweredRequest = true
      feed(.cancel, to: channel)
    }
    // A request without a stream ends without an effect, and others may have been queued behind it.
    startNext()
    isInCall = false
  }

  /// The next request uses a new connection; the current one may finish. The protocols that the server supports are
  /// negotiated again, because a proxy of the previous network may have answered in its place.
  func dropConnections() {
    http1Origin = nil
    isStale = true
    if current == nil, queued.isEmpty { closeAll() }
  }

  // MARK: - The connection

  /// Sends the next request if no request is in flight, or opens a connection for it.
  private func startNext() {
    guard current == nil, let next = queued.first else { return armTimer() }
    if let channel, isStale || !channel.address.hasSameOrigin(as: next.address) { closeAll() }
    if channel?.connection?.canSend(at: loop.now.boot) == false { closeAll() }
    // It was begun in advance, before the time was known.
    if let opening = channel, !opening.isOpen, !opening.isVerified(for: next.request.certificateTime) {
      close(opening)
      (channel, channelToReplace) = (channelToReplace, nil)
    }
    if let channel, channel.isOpen {
      if next.needsNewConnection, channel.hasCarriedRequest {
        channelToReplace = channel
        open(to: next.address, certificateTime: next.request.certificateTime, deadline: next.deadline)
      } else {
        current = queued.removeFirst()
        channel.hasCarriedRequest = true
        feed(.send(next.request, to: next.address, deadline: next.deadline), to: channel)
      }
    } else if channel == nil {
      open(to: next.address, certificateTime: next.request.certificateTime, deadline: next.deadline)
    }
    armTimer()
  }

  private func open(to address: WebAddress, certificateTime: Timestamp?, deadline: BootInstant?) {
    isStale = false
    let channel = Channel(address, certificateTime: certificateTime, CertificateFiles(of: configuration))
    self.channel = channel
    let last = channelToReplace?.resumable ?? last
    let remainingTime = deadline.map { $0 - loop.now.boot } ?? configuration.connectTimeout
    do {
      channel.tls = try TLSConnection(
        loop: loop, settings: configuration, meter: meter, to: address,
        timeout: min(remainingTime, configuration.connectTimeout), certificateTime: certificateTime,
        previousSession: last.flatMap {
          $0.address.hasSameOrigin(as: address) && $0.files == channel.files ? $0.session : nil
        }
      ) { [weak self, weak channel] event in
        if let channel { self?.handle(event, of: channel) }
      }
    } catch {
      openingFailed(error)
    }
  }

  private func handle(_ event: TLSConnection.Event, of channel: Channel) {
    switch event {
    case .connected(let hasHTTP2):
      counters.connections &+= 1
      close(channelToReplace)
      channelToReplace = nil
      guard hasHTTP2 else { return fallBack() }
      channel.connection = HTTP2Connection(userAgent: configuration.userAgent, idleTimeout: configuration.idleTimeout)
      // The first request is sent together with the preface, in one TLS record.
      for case .write(let bytes) in channel.connection?.handle(.connected, at: loop.now.boot) ?? [] {
        channel.preface += bytes
      }
      startNext()
      if !channel.preface.isEmpty { write([], to: channel) }
    case .bytes(let bytes):
      counters.bytesReceived &+= UInt64(bytes.count)
      feed(.received(bytes), to: channel)
    case .ended(let failure):
      if channel.isOpen { feed(.ended(failure.message), to: channel) } else { openingFailed(failure) }
    }
  }

  private func openingFailed(_ failure: TransportFailure) {
    stopOpening()
    guard channel != nil else { return failAll(failure) }
    let earliestDeadline = loop.now.boot + HTTPClient.minimumReuseTime
    failAll(failure) { $0.deadline < earliestDeadline }
    startNext()
  }

  /// Closes the connection that is being opened. A connection that it was to replace stays in use.
  private func stopOpening() {
    close(channel)
    channel = channelToReplace
    channelToReplace = nil
    guard channel != nil else { return }
    for request in queued { request.needsNewConnection = false }
  }

  private func closeAll() {
    close(channelToReplace)
    close(channel)
    (channelToReplace, channel) = (nil, nil)
  }

  private func close(_ channel: Channel?) {
    guard let channel else { return }
    if channel.tls != nil { last = channel.resumable }
    channel.connection?.wipe()
    channel.connection = nil
    channel.preface = []
    channel.tls?.close(discardingUnsent: channel.hasUnansweredRequest)
    channel.tls = nil
  }

  /// The server has no HTTP/2: queued and later requests use HTTP/1.1.
  private func fallBack() {
    http1Origin = channel?.address.origin
    closeAll()
    let requests = queued
    queued = []
    armTimer()
    for request in requests { onHTTP1?(request) }
  }

  /// Fails the queued requests, or some of them.
  private func failAll(_ failure: TransportFailure, where isAffected: (QueuedRequest) -> Bool = { _ in true }) {
    let requests = queued.filter(isAffected)
    queued.removeAll(where: isAffected)
    armTimer()
    for request in requests { finish(request, .failure(failure)) }
  }

  /// - Parameter outcome: the message of a failure does not name the server; its name is added here.
  private func finish(_ request: QueuedRequest, _ outcome: HTTPOutcome) {
    var outcome = outcome
    if case .failure(var failure) = outcome {
      failure.message = FailureTable.message(request.address, failure.message)
      outcome = .failure(failure)
    }
    counters.requests &+= 1
    if isInCall {
      // Not before `send` has returned.
      loop.defer { request.completion.call(outcome) }
    } else {
      request.completion.call(outcome)
    }
  }

  // MARK: - Inputs and effects

  private func feed(_ input: HTTP2Connection.Input, to channel: Channel?) {
    guard let channel else { return }
    perform(channel.connection?.handle(input, at: loop.now.boot) ?? [], of: channel)
  }

  private func perform(_ effects: [HTTP2Connection.Effect], of channel: Channel) {
    guard !effects.isEmpty else { return }
    // The completion handler may release the client.
    defer { withExtendedLifetime(self) {} }
    var answer: HTTPResponse?
    var failure: HTTP2Failure?
    var closesConnection = false
    for effect in effects {
      switch effect {
      case .write(let bytes): write(bytes, to: channel)
      case .answered(let response): answer = withRedirect(response)
      case .failed(let reason): failure = reason
      case .close: closesConnection = true
      }
    }
    var outcome: HTTPOutcome?
    if let answer {
      channel.hasUnansweredRequest = false
      onResponse?()
      outcome = .response(answer)
    } else if let failure {
      if closesConnection { channel.hasUnansweredRequest = true }
      outcome = .failure(TransportFailure(failure.kind, failure.message, isConnectionOpen: !closesConnection))
    }
    let request = outcome == nil ? nil : current
    if outcome != nil { current = nil }
    if closesConnection { ended(channel) }
    if let request, let outcome { finish(request, outcome) }
    if current == nil, isStale, queued.isEmpty { closeAll() }
    startNext()
  }

  private func ended(_ channel: Channel) {
    close(channel)
    guard channel === self.channel else {
      channelToReplace = nil
      return
    }
    // The next request opens a new connection. This is not done now, because a server might close an idle connection
    // before that.
    self.channel = nil
  }

  private func write(_ bytes: [UInt8], to channel: Channel) {
    let bytes = channel.preface + bytes
    channel.preface = []
    counters.bytesSent &+= UInt64(bytes.count)
    channel.tls?.send(bytes)
  }

  private func withRedirect(_ response: HTTPResponse) -> HTTPResponse {
    guard (300..<400).contains(response.status) else { return response }
    var response = response
    response.redirect = response.header("location").flatMap { try? WebAddress(reading: $0) }
    return response
  }

  // MARK: - Time

  private func armTimer() {
    // An idle connection has no deadline; neither does one that the next request will replace.
    var deadline = channel?.connection?.nextDeadline
    for request in queued { deadline = min(deadline ?? request.deadline, request.deadline) }
    guard deadline != timerDeadline else { return }
    timerDeadline = deadline
    if let deadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  private func checkDeadlines() {
    timerDeadline = nil
    let now = loop.now.boot
    let expired = queued.filter { $0.deadline <= now }
    queued.removeAll { $0.deadline <= now }
    let isStalled = channel?.isOpen != true && channel?.tls?.isInHandshake == true
    for request in expired {
      let reason = isStalled ? FailureTable.stalledHandshake : "no response before the deadline"
      finish(request, .failure(TransportFailure(.timedOut, reason)))
    }
    // The request timed out while connecting.
    if !expired.isEmpty, channel?.isOpen != true { stopOpening() }
    feed(.deadline, to: channel)
    startNext()
  }
}
