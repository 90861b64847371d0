// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

/// A store on disk: it follows the backlog a few seconds late, keeps what belongs to other vehicles, and may be full.
struct StoreModel {
  struct Key: Hashable {
    var vehicle: String
    var id: Backlog.ID
  }

  /// A power cut costs at most what was recorded in so long.
  static let commitInterval = Duration.seconds(5)

  private(set) var held: [String: [Backlog.ID: Backlog.Record]] = [:]
  /// Since when it has not followed, because it could not.
  private(set) var troubledSince: BootInstant?
  private var isScheduled = false

  /// There is something to write.
  mutating func note(at now: BootInstant, _ schedule: (BootInstant) -> Void) {
    guard !isScheduled else { return }
    isScheduled = true
    schedule(now + StoreModel.commitInterval)
  }

  /// Writes all that is waited for.
  ///
  /// - Returns: whether it went well.
  mutating func commit(
    _ copy: [Backlog.ID: Backlog.Record], of vehicle: String, isFull: Bool, at now: BootInstant
  ) -> Bool {
    isScheduled = false
    guard !isFull else {
      troubledSince = troubledSince ?? now - StoreModel.commitInterval
      return false
    }
    troubledSince = nil
    held[vehicle] = copy
    return true
  }

  /// Forgets what is too old of all vehicles but one.
  mutating func forget(before time: Timestamp, but vehicle: String) {
    for other in held.keys where other != vehicle { held[other] = held[other]?.filter { $0.key >= time } }
  }

  /// The power is gone: what was not written will not be.
  mutating func crash() {
    isScheduled = false
    troubledSince = nil
  }
}
