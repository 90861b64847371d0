// SPDX-License-Identifier: Apache-2.0
import CCurl
package import EventLoop
package import HTTPMessages
import Timekeeping
import SystemCalls

/// Sends requests with libcurl on the loop: HTTP/2 over TLS 1.2 or later, one connection that is kept, no redirects, no
/// cookies, no compression. When it goes, what it still carries is dropped, and no completion is called.
@safe package final class HTTPClient {
  private let loop: EventLoop
  private let configuration: HTTPClientConfiguration
  private var driver: TransferDriver?
  private var active: [Transfer] = []
  private var idle: [Transfer] = []
  /// Connections are to be dropped once nothing uses them.
  private var isStale = false

  /// What has gone over the line since this client was made.
  package private(set) var counters = TrafficCounters()

  /// - Throws: libcurl on this machine cannot do what is needed, or there is no memory.
  package init(loop: EventLoop, configuration: HTTPClientConfiguration) throws(HTTPClientError) {
    guard HTTPClient.isStarted else { throw HTTPClientError(.unavailable, "libcurl could not be started") }
    self.loop = loop
    self.configuration = configuration
    driver = try makeDriver()
    // Made here, so that a setting which libcurl refuses is an error of now and not of the first request.
    idle.append(try Transfer(configuration))
  }

  isolated deinit {
    for transfer in active { unsafe driver?.remove(transfer.handle) }
  }

  /// libcurl's own start, once in a process. It would not be safe beside other threads; there are none.
  private static let isStarted = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private func makeDriver() throws(HTTPClientError) -> TransferDriver {
    try unsafe TransferDriver(loop: loop) { [weak self] handle, code in unsafe self?.end(handle, code) }
  }

  /// Sends a request on the connection that is kept, or on a new one.
  ///
  /// - Parameter completion: called once, in a later turn, unless the exchange is cancelled or the client goes.
  /// - Returns: the exchange, for cancelling it; it need not be held.
  @discardableResult
  package func send(_ request: HTTPRequest, completion: @escaping (HTTPOutcome) -> Void) -> HTTPExchange {
    let completion = Completion(completion)
    do {
      let transfer = try start(request, completion)
      return HTTPExchange { [weak self, weak transfer] in
        if let self, let transfer { cancel(transfer, completion) }
      }
    } catch {
      loop.defer { completion.call(.failure(error)) }
      return HTTPExchange { completion.drop() }
    }
  }

  private func start(_ request: HTTPRequest, _ completion: Completion) throws(TransportFailure) -> Transfer {
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
      return transfer
    } catch {
      recycle(transfer)
      throw error
    }
  }

  private func idleTransfer() throws(TransportFailure) -> Transfer {
    if let transfer = idle.popLast() { return transfer }
    do throws(HTTPClientError) {
      return try Transfer(configuration)
    } catch {
      throw TransportFailure(.local, error.message)
    }
  }

  private func cancel(_ transfer: Transfer, _ completion: Completion) {
    completion.drop()
    // A transfer is used again: it is this exchange's only as long as it holds this completion.
    guard transfer.completion === completion, let index = active.firstIndex(where: { $0 === transfer }) else { return }
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
    transfer.count(in: &counters)
    unsafe driver?.remove(handle)
    recycle(transfer)
    // HTTP/2 keeps the connection when one request on it times out; but it is most often the road that died, and then
    // every later request would wait for a dead socket.
    if case .failure(let failure) = outcome, failure.kind == .timedOut { isStale = true }
    dropStaleConnections()
    completion?.call(outcome)
  }

  private func recycle(_ transfer: Transfer) {
    transfer.clear()
    if idle.count < 2 { idle.append(transfer) }
  }

  /// The next request gets a fresh connection; those in use are let finish.
  package func dropConnections() {
    isStale = true
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
