// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// How long no server could be reached, because the machine has no network or because attempts fail.
struct NetworkOutage: Sendable {
  /// After this time an outage is long: more positions will be queued soon, and the store collects them.
  static let longThreshold = Duration.seconds(120)

  /// When the outage began; nil: the last attempt reached a server.
  private var since: BootInstant?
  /// What was last returned by `updateIsLong`.
  private(set) var isLong = false

  /// There is no network, or an attempt failed without a response.
  mutating func noteUnreachable(at now: BootInstant) { since = since ?? now }

  /// Fleet Engine, or something in its place, has answered.
  mutating func reached() { since = nil }

  /// Whether there is a long outage; nil if that has not changed since the last call.
  mutating func updateIsLong(at now: BootInstant) -> Bool? {
    let isLongNow = since.map { now - $0 >= NetworkOutage.longThreshold } ?? false
    guard isLongNow != isLong else { return nil }
    isLong = isLongNow
    return isLong
  }
}
