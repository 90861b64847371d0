// SPDX-License-Identifier: Apache-2.0

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
