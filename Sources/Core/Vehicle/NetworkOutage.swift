// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Since when no server could be reached, because the machine has no network or because attempts fail.
struct NetworkOutage: Sendable {
  /// An outage is long from then on: more positions are queued soon, and the store collects them.
  static let longThreshold = Duration.seconds(120)

  /// Nil: the last attempt reached a server.
  private var since: BootInstant?
  /// What was last returned by `change`.
  private(set) var isLong = false

  /// There is no network, or an attempt failed without a response.
  mutating func unreachable(at now: BootInstant) { since = since ?? now }

  /// Fleet Engine has answered, or something in its place.
  mutating func reached() { since = nil }

  /// Whether a long outage lasts, if that has changed since the last call.
  mutating func change(at now: BootInstant) -> Bool? {
    let isLongNow = since.map { now - $0 >= NetworkOutage.longThreshold } ?? false
    guard isLongNow != isLong else { return nil }
    isLong = isLongNow
    return isLong
  }
}
