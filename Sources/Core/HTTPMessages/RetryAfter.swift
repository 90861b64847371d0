// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The header with which a server asks to delay the next request (RFC 9110, section 10.2.3).
package enum RetryAfter {
  /// The maximum wait that is honoured: no server may silence a vehicle for longer.
  package static let cap = Duration.seconds(900)

  /// The requested wait, from zero to `cap`.
  ///
  /// - Parameters:
  ///   - value: seconds, or an HTTP date.
  ///   - date: the response's own `Date`, to which a date is relative: this machine's clock may be wrong.
  /// - Returns: nil if it is invalid, or an HTTP date in a response without `Date`.
  package static func delay(_ value: String, date: String?) -> Duration? {
    if let seconds = Int64(value) {
      guard seconds >= 0 else { return nil }
      return .seconds(min(seconds, cap.wholeSeconds))
    }
    guard let until = Timestamp(httpDate: value), let date, let sent = Timestamp(httpDate: date) else { return nil }
    return min(max(until - sent, .zero), cap)
  }
}
