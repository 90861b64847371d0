// SPDX-License-Identifier: Apache-2.0
import CCurl
package import EventLoop
package import HTTPMessages
package import Timekeeping
import SystemCalls
import URLReader

/// Sends requests on the loop, over TLS 1.2 or later on one connection that is kept: HTTP/2 of our own over a connection that
/// libcurl opens, or libcurl's HTTP where the settings or the server want that. No redirects, no cookies, no compression.
/// When it goes, what it still carries is dropped, and no completion is called.
@safe package final class HTTPClient {
  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private let meter: ConnectionMeter
  private var driver: TransferDriver?
  private var active: [Transfer] = []
  private var idle: [Transfer] = []
  /// Connections are to be dropped once nothing uses them.
  private var isStale = false

  /// What goes over HTTP/2; nil where the settings or a proxy do not have it.
  private var http2: HTTP2Transport?
  private var lastAddress: (url: String, address: WebAddress)?
  private var curlCounters = TrafficCounters()

  /// What has gone over the line since this client was made.
  package var counters: TrafficCounters { http2.map { curlCounters + $0.counters } ?? curlCounters }

  /// What brought the last answer, `HTTP/2` or `HTTP/1.1`; nil before the first.
  package private(set) var version: String?

  /// - Parameter meter: counts its connections.
  /// - Throws: libcurl on this machine cannot do what is needed, or there is no memory.
  package init(
    loop: EventLoop, configuration: HTTPClientConfiguration, meter: ConnectionMeter = ConnectionMeter()
  ) throws(HTTPClientError) {
    guard HTTPClient.isStarted else { throw HTTPClientError(.unavailable, "libcurl could not be started") }
    self.loop = loop
    self.configuration = configuration
    self.meter = meter
    driver = try makeDriver()
    // Made here, so that a setting which libcurl refuses is an error of now and not of the first request.
    idle.append(try Transfer(configuration, meter))
    // A proxy that is reached by TLS would be offered our protocol too.
    guard configuration.transport == .auto, configuration.proxy?.lowercased().hasPrefix("https:") != true else {
      return
    }
    let http2 = try HTTP2Transport(loop: loop, configuration: configuration, meter: meter)
    http2.onHTTP1 = { [weak self] in self?.sendByHTTP1($0) }
    http2.onAnswered = { [weak self] in self?.version = "HTTP/2" }
    self.http2 = http2
  }

  isolated deinit {
    for transfer in active { unsafe driver?.remove(transfer.handle) }
  }

  /// libcurl's own start, once in a process. It would not be safe beside other threads; there are none.
  private static let isStarted = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private func makeDriver() throws(HTTPClientError) -> TransferDriver {
    try unsafe TransferDriver(
      loop: loop, meter: meter, onEnd: { [weak self] handle, code in unsafe self?.end(handle, code) },
      onOverwork: { [weak self] in self?.giveUp() })
  }

  /// Sends a request on the connection that is kept, or on a new one.
  ///
  /// - Parameter completion: called once, in a later turn, unless the exchange is cancelled or the client goes.
  /// - Returns: the exchange, for cancelling it; it need not be held.
  @discardableResult
  package func send(_ request: HTTPRequest, completion: @escaping (HTTPOutcome) -> Void) -> HTTPExchange {
    let completion = Completion(completion)
    if let http2, let address = address(of: request.url), http2.serves(address) {
      let deadline = loop.now.boot + request.deadline
      http2.send(HTTP2Transport.Order(request, to: address, deadline: deadline, completion))
    } else {
      sendByCurl(request, completion)
    }
    return HTTPExchange { [weak self] in
      completion.drop()
      self?.cancel(completion)
    }
  }

  /// Opens the connection for a request to this URL that is to follow, where HTTP/2 can carry it and there is none. That it
  /// fails is not reported: the request makes another.
  ///
  /// - Parameter certificateTime: as of a request.
  package func connect(to url: String, certificateTime: Timestamp?) {
    guard let http2, let address = address(of: url), http2.serves(address) else { return }
    http2.connect(to: address, certificateTime: certificateTime)
  }

  /// Of a request that HTTP/2 could carry; nil for one whose URL is for libcurl to judge.
  private func address(of url: String) -> WebAddress? {
    if let lastAddress, lastAddress.url == url { return lastAddress.address }
    guard let address = try? WebAddress(reading: url), !address.hasCredentials else { return nil }
    lastAddress = (url, address)
    return address
  }

  /// The server has no HTTP/2.
  private func sendByHTTP1(_ order: HTTP2Transport.Order) {
    var request = order.request
    request.deadline = max(order.deadline - loop.now.boot, .milliseconds(1))
    sendByCurl(request, order.completion)
  }

  private func sendByCurl(_ request: HTTPRequest, _ completion: Completion) {
    do {
      try start(request, completion)
    } catch {
      loop.defer { completion.call(.failure(error)) }
    }
  }

  private func start(_ request: HTTPRequest, _ completion: Completion) throws(TransportFailure) {
    let transfer = try idleTransfer()
    do throws(TransportFailure) {
      try transfer.prepare(request)
      transfer.completion = completion
      transfer.certificateTime = request.certificateTime
      active.append(transfer)
      guard unsafe driver?.add(transfer.handle) == CURLM_OK else {
        active.removeLast()
        throw TransportFailure(.local, "libcurl did not take the request")
      }
    } catch {
      recycle(transfer)
      throw error
    }
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
    // A transfer is used again: it is this exchange's only as long as it holds this completion.
    guard let index = active.firstIndex(where: { $0.completion === completion }) else { return }
    let transfer = active[index]
    active.remove(at: index)
    unsafe driver?.remove(transfer.handle)
    recycle(transfer)
    dropStaleConnections()
  }

  private func end(_ handle: UnsafeMutableRawPointer, _ code: CURLcode) {
    guard let index = active.firstIndex(where: { unsafe $0.handle == handle }) else { return }
    let transfer = active.remove(at: index)
    let outcome = transfer.outcome(code)
    let completion = transfer.completion
    if case .response = outcome { version = transfer.version }
    retire(transfer)
    // HTTP/2 keeps the connection when one request on it times out; but it is most often the road that died, and then
    // every later request would wait for a dead socket.
    if case .failure(let failure) = outcome, failure.kind == .timedOut { isStale = true }
    dropStaleConnections()
    completion?.call(outcome)
  }

  /// The server keeps libcurl busy: every request fails, and its connection goes with it.
  private func giveUp() {
    let given = active.map { (completion: $0.completion, failure: $0.overwork) }
    for transfer in active { retire(transfer) }
    active = []
    dropConnections()
    for (completion, failure) in given { completion?.call(.failure(failure)) }
  }

  private func retire(_ transfer: Transfer) {
    transfer.count(in: &curlCounters)
    unsafe driver?.remove(transfer.handle)
    recycle(transfer)
  }

  private func recycle(_ transfer: Transfer) {
    transfer.clear()
    if idle.count < 2 { idle.append(transfer) }
  }

  /// The next request gets a fresh connection; those in use are let finish.
  package func dropConnections() {
    isStale = true
    http2?.dropConnections()
    dropStaleConnections()
  }

  /// A new multi handle in place of the old, which takes its connections along. Those in use are let finish.
  private func dropStaleConnections() {
    guard isStale, active.isEmpty else { return }
    do {
      driver = try makeDriver()
      isStale = false
    } catch {
      // No memory for another: the old one serves on, and the next end of a request tries again.
      isStale = true
    }
  }
}

/// Someone to be told once.
final class Completion {
  private var body: ((HTTPOutcome) -> Void)?

  init(_ body: @escaping (HTTPOutcome) -> Void) {
    self.body = body
  }

  func call(_ outcome: HTTPOutcome) {
    let body = body
    self.body = nil
    body?(outcome)
  }

  func drop() {
    body = nil
  }
}
