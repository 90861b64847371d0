// SPDX-License-Identifier: Apache-2.0

/// A request in flight.
package final class HTTPExchange {
  private var cancellation: (() -> Void)?

  /// - Parameter cancellation: cancels the request, without calling its completion handler.
  package init(cancellation: @escaping () -> Void) {
    self.cancellation = cancellation
  }

  /// Cancels the request; its completion handler is no longer called. No effect if it has ended.
  package func cancel() {
    let cancellation = cancellation
    self.cancellation = nil
    cancellation?()
  }
}
