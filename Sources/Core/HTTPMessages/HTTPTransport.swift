// SPDX-License-Identifier: Apache-2.0

/// What carries requests: the seam between what the program asks and the library that does it.
package protocol HTTPTransport: AnyObject {
  /// Starts one request.
  ///
  /// - Parameter completion: called once, never before `send` has returned; not called when the exchange is cancelled.
  /// - Returns: the request under way. It goes on when this is dropped.
  @discardableResult
  func send(_ request: HTTPRequest, completion: @escaping (HTTPOutcome) -> Void) -> HTTPExchange

  /// Forgets open connections: after the network changed, or the machine slept. Requests under way go on.
  func dropConnections()
}

/// One request under way.
package final class HTTPExchange {
  private var cancellation: (() -> Void)?

  /// - Parameter cancellation: ends the request and sees to it that nobody is told.
  package init(cancellation: @escaping () -> Void) {
    self.cancellation = cancellation
  }

  /// Ends the request; its completion is not called any more. Harmless when it has ended.
  package func cancel() {
    let cancellation = cancellation
    self.cancellation = nil
    cancellation?()
  }
}
