// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The header by which a server asks for patience (RFC 9110, section 10.2.3).
package enum RetryAfter {
  /// No server keeps a vehicle silent for longer than this.
  package static let cap = Duration.seconds(900)

  /// The wait that the header asks for, from zero to `cap`.
  ///
  /// - Parameters:
  ///   - value: seconds, or an HTTP date.
  ///   - date: the answer's own `Date`, against which a date is read: this machine's clock may be wrong.
  /// - Returns: nil when it cannot be read.
  package static func delay(_ value: String, date: String?) -> Duration? {
    if let seconds = Int64(value) {
      guard seconds >= 0 else { return nil }
      return .seconds(min(seconds, cap.wholeSeconds))
    }
    guard let until = Timestamp(httpDate: value), let date, let sent = Timestamp(httpDate: date) else { return nil }
    return min(max(until - sent, .zero), cap)
  }
}
