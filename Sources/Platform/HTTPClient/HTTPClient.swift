// SPDX-License-Identifier: Apache-2.0
import CCurl
import GzipCoding
package import EventLoop
package import HTTPMessages
package import Timekeeping
import SystemCalls
import URLReader

/// Sends requests on the event loop, over TLS 1.2 or later on one persistent connection: with this module's own HTTP/2
/// over a connection that libcurl opens, or with libcurl's HTTP if the settings or the server require it. It supports
/// no redirects, no cookies and no compressed responses. When the client is released, requests in flight are cancelled
/// without calling their completion handlers.
@safe package final class HTTPClient {
  /// The minimum time until the deadline of a request that is sent on the old connection because no new one could be
  /// opened: if it timed out there, the old connection would be closed.
  static let minimumReuseTime = Duration.seconds(1)

  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private let meter: ConnectionMeter
  private let encoder = GzipEncoder()
  /// The certificate files when the handles in `idle` were made.
  private var files: CertificateFiles
  private var driver: TransferDriver?
  /// Whether `driver` has carried a request since it was made.
  private var hasCarriedRequest = false
  private var active: [Transfer] = []
  private var idle: [Transfer] = []
  /// Whether connections must be closed once they are idle.
  private var isStale = false

  /// This module's own HTTP/2; nil if the settings require HTTP/1.1, or if the proxy is reached by TLS.
  private var http2: HTTP2Transport?
  private var lastAddress: (url: String, address: WebAddress)?
  private var curlCounters = TrafficCounters()

  /// Traffic since this client was created.
  package var counters: TrafficCounters { http2.map { curlCounters + $0.counters } ?? curlCounters }

  /// The protocol of the last response, `HTTP/2` or `HTTP/1.1`; nil before the first.
  package private(set) var httpVersion: String?

  /// - Parameter meter: counts the client's connections.
  /// - Throws: if libcurl on this machine lacks a required feature, or there is no memory.
  package init(
    loop: EventLoop, configuration: HTTPClientConfiguration, meter: ConnectionMeter = ConnectionMeter()
  ) throws(HTTPClientError) {
    guard HTTPClient.isCurlInitialized else { throw HTTPClientError(.unavailable, "libcurl could not be started") }
    self.loop = loop
    self.configuration = configuration
    self.meter = meter
    files = CertificateFiles(of: configuration)
    driver = try makeDriver()
    // Created here, so that an option that libcurl rejects is detected now and not with the first request.
    idle.append(try Transfer(configuration, meter))
    // A proxy that is reached by TLS would be offered HTTP/2 too.
    guard configuration.transport == .auto, configuration.proxy?.lowercased().hasPrefix("https:") != true else {
      return
    }
    let http2 = try HTTP2Transport(loop: loop, configuration: configuration, meter: meter)
    http2.onHTTP1 = { [weak self] in self?.sendOverHTTP1($0) }
    http2.onResponse = { [weak self] in self?.httpVersion = "HTTP/2" }
    self.http2 = http2
  }

  isolated deinit {
    for transfer in active { unsafe transfer.driver?.remove(transfer.handle) }
  }

  /// libcurl's global initialization, once per process. It is not thread-safe, but there are no other threads yet.
  private static let isCurlInitialized = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private func makeDriver() throws(HTTPClientError) -> TransferDriver {
    try unsafe TransferDriver(
      loop: loop, meter: meter, onEnd: { [weak self] handle, code in unsafe self?.end(handle, code) },
      onWorkLimit: { [weak self] in self?.giveUp() })
  }

  /// Sends a request on the persistent connection, or on a new one.
  ///
  /// - Parameter completion: called once, in a later iteration of the loop, unless the exchange is cancelled or the
  ///   client released.
  /// - Returns: the exchange, for cancelling it; it does not need to be retained.
  @discardableResult
  package func send(_ request: HTTPRequest, completion: @escaping (HTTPOutcome) -> Void) -> HTTPExchange {
    let request = request.encoded { encoder.encode($0) }
    let completion = Completion(completion)
    if let http2, let address = address(of: request.url), http2.supports(address) {
      let deadline = loop.now.boot + request.deadline
      http2.send(HTTP2Transport.QueuedRequest(request, to: address, deadline: deadline, completion))
    } else {
      sendWithCurl(request, completion)
    }
    return HTTPExchange { [weak self] in
      completion.drop()
      self?.cancel(completion)
    }
  }

  /// Opens the connection for a later request to this URL in advance, if it will use HTTP/2. Failures are not reported:
  /// the later request will try again.
  ///
  /// - Parameter certificateTime: as in `HTTPRequest`.
  package func connect(to url: String, certificateTime: Timestamp?) {
    guard let http2, let address = address(of: url), http2.supports(address) else { return }
    http2.connect(to: address, certificateTime: certificateTime)
  }

  /// The address of a request that HTTP/2 can carry; nil for a URL that libcurl must parse.
  private func address(of url: String) -> WebAddress? {
    if let lastAddress, lastAddress.url == url { return lastAddress.address }
    guard let address = try? WebAddress(reading: url), !address.hasCredentials else { return nil }
    lastAddress = (url, address)
    return address
  }

  /// The server has no HTTP/2.
  private func sendOverHTTP1(_ queued: HTTP2Transport.QueuedRequest) {
    var request = queued.request
    request.deadline = max(queued.deadline - loop.now.boot, .milliseconds(1))
    sendWithCurl(request, queued.completion)
  }

  private func sendWithCurl(_ request: HTTPRequest, _ completion: Completion) {
    do {
      try start(request, completion)
    } catch {
      loop.defer { completion.call(.failure(error)) }
    }
  }

  private func start(_ request: HTTPRequest, _ completion: Completion) throws(TransportFailure) {
    dropHandlesOfReplacedFiles()
    let transfer = try idleTransfer()
    do throws(TransportFailure) {
      try transfer.prepare(request)
      transfer.completion = completion
      transfer.certificateTime = request.certificateTime
      transfer.timesOutAt = loop.now.boot + request.deadline
      // If there is no memory for another driver, the request uses the existing connection.
      let other = request.usesNewConnection && hasCarriedRequest && active.isEmpty ? try? makeDriver() : nil
      transfer.driver = other ?? driver
      active.append(transfer)
      guard unsafe transfer.driver?.add(transfer.handle) == CURLM_OK else {
        active.removeLast()
        throw TransportFailure(.local, "libcurl did not accept the request")
      }
      hasCarriedRequest = true
    } catch {
      recycle(transfer)
      throw error
    }
  }

  /// libcurl's handles would resume sessions that were established with the previous contents of certificate files.
  private func dropHandlesOfReplacedFiles() {
    let current = CertificateFiles(of: configuration)
    guard current != files, active.isEmpty else { return }
    files = current
    idle = []
    isStale = true
    dropStaleConnections()
  }

  private func idleTransfer() throws(TransportFailure) -> Transfer {
    if let transfer = idle.popLast() { return transfer }
    do throws(HTTPClientError) {
      return try Transfer(configuration, meter)
    } catch {
      throw TransportFailure(.local, error.message)
    }
  }

  private func cancel(_ completion: Completion) {
    http2?.cancel(completion)
    // A transfer is reused: it belongs to this exchange only as long as it has this completion handler.
    guard let index = active.firstIndex(where: { $0.completion === completion }) else { return }
    let transfer = active[index]
    active.remove(at: index)
    unsafe transfer.driver?.remove(transfer.handle)
    recycle(transfer)
    dropStaleConnections()
  }

  private func end(_ handle: UnsafeMutableRawPointer, _ code: CURLcode) {
    guard let index = active.firstIndex(where: { unsafe $0.handle == handle }) else { return }
    let transfer = active[index]
    if transfer.driver !== driver {
      // The transfer was to replace the connection, which stays in use if no new one was established.
      if transfer.isSent { driver = transfer.driver } else if sendOnExistingConnection(transfer) { return }
    }
    let usesCurrentDriver = transfer.driver === driver
    active.remove(at: index)
    let outcome = transfer.outcome(code)
    let completion = transfer.completion
    if case .response = outcome { httpVersion = transfer.httpVersion }
    // A failed handshake may be due to the TLS session, which libcurl would offer again: its easy handle has it, or,
    // since 8.12, the multi handle.
    let mayResume = code != CURLE_SSL_CONNECT_ERROR
    if !mayResume, usesCurrentDriver { isStale = true }
    retire(transfer, recycling: mayResume)
    // HTTP/2 would keep the connection after a timeout; but most often the network path is dead, and all later requests
    // would use a dead socket.
    if usesCurrentDriver, case .failure(let failure) = outcome, failure.kind == .timedOut { isStale = true }
    dropStaleConnections()
    completion?.call(outcome)
  }

  /// Sends a request that has had no connection yet on the existing connection.
  ///
  /// - Returns: false if too little time is left until its deadline, or libcurl did not accept it.
  private func sendOnExistingConnection(_ transfer: Transfer) -> Bool {
    let remainingTime = transfer.timesOutAt - loop.now.boot
    guard remainingTime >= HTTPClient.minimumReuseTime, (try? transfer.setDeadline(to: remainingTime)) != nil else {
      return false
    }
    unsafe transfer.driver?.remove(transfer.handle)
    let isAccepted = unsafe driver?.add(transfer.handle) == CURLM_OK
    transfer.driver = isAccepted ? driver : nil
    return isAccepted
  }

  /// Fails every request and closes the connection, because the server keeps libcurl busy without end.
  private func giveUp() {
    let completions = active.map { (completion: $0.completion, failure: $0.workLimitFailure) }
    for transfer in active { retire(transfer) }
    active = []
    dropConnections()
    for (completion, failure) in completions { completion?.call(.failure(failure)) }
  }

  private func retire(_ transfer: Transfer, recycling recycles: Bool = true) {
    transfer.addTraffic(to: &curlCounters)
    unsafe transfer.driver?.remove(transfer.handle)
    if recycles { recycle(transfer) } else { transfer.clear() }
  }

  private func recycle(_ transfer: Transfer) {
    transfer.clear()
    if idle.count < 2 { idle.append(transfer) }
  }

  /// The next request uses a new connection; current requests may finish.
  package func dropConnections() {
    isStale = true
    http2?.dropConnections()
    dropStaleConnections()
  }

  /// Replaces the multi handle, which owns the connections. Current requests may finish.
  private func dropStaleConnections() {
    guard isStale, active.isEmpty else { return }
    do {
      driver = try makeDriver()
      hasCarriedRequest = false
      isStale = false
    } catch {
      // There is no memory: keep using the old handle, and try again when the next request ends.
      isStale = true
    }
  }
}

/// A completion handler that is called at most once.
final class Completion {
  private var handler: ((HTTPOutcome) -> Void)?

  init(_ handler: @escaping (HTTPOutcome) -> Void) {
    self.handler = handler
  }

  func call(_ outcome: HTTPOutcome) {
    let handler = handler
    self.handler = nil
    handler?(outcome)
  }

  func drop() {
    handler = nil
  }
}
