// SPDX-License-Identifier: Apache-2.0
import Authorization
package import Timekeeping

extension VehicleAgent {
  /// Which of the things that an update needs are available.
  package struct Readiness: Equatable, Sendable {
    /// Whether the run has not begun to end.
    package var isRunning = true
    /// Whether another process on this machine has locked the vehicle.
    package var isVehicleInUse = false
    /// Whether the driver has paused the vehicle.
    package var isPaused = false
    /// Whether there is a network; true if unknown.
    package var hasNetwork = true
    /// When the newest accepted fix arrived; nil if the fix counts as lost, or there was none.
    package var fixAt: BootInstant?
    /// Whether there is a valid token.
    package var hasToken = false
    /// When the provider in use last returned a valid token in this run; nil before the first.
    package var tokenObtainedAt: BootInstant?

    package init() {}
  }

  /// What is available now.
  package func readiness(at now: BootInstant) -> Readiness {
    var readiness = Readiness()
    readiness.isRunning = lifecycle.isRunning
    readiness.isVehicleInUse = lock.holder != nil
    readiness.isPaused = dutyState.pause != nil
    readiness.hasNetwork = !network.isAbsent
    readiness.fixAt = fixes.isLost ? nil : fixes.newest?.at
    readiness.hasToken = tokens.hasToken(at: now)
    readiness.tokenObtainedAt = tokens.obtainedAt
    return readiness
  }
}
