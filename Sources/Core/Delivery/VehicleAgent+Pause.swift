// SPDX-License-Identifier: Apache-2.0
import Authorization
import Positioning
package import Timekeeping

/// What is kept of a pause, so that it outlives the process.
package struct PauseNote: Equatable, Sendable {
  /// When the pause began; nil when nobody knew the time then.
  package var since: Timestamp?

  package init(since: Timestamp?) {
    self.since = since
  }

  /// Reads what `text` has written. A file that is there is a pause, whatever it holds: a driver's rest does not depend on
  /// a disk that was full.
  package init(text: String) {
    since = Timestamp(rfc3339: String(text.prefix { !$0.isWhitespace }))
  }

  /// One line: the time as in RFC 3339, or `unknown`.
  package var text: String { "\(since?.canonicalJSON ?? "unknown")\n" }
}

/// The driver is off duty: no position leaves the machine and none is kept, and nothing is fetched. The receiver is still
/// read, so that `status` can tell how it is; no fix of the pause is ever sent.
extension VehicleAgent {
  package var isPaused: Bool { pause != nil }

  /// - Parameter note: what an earlier run has left; nil when the pause begins now.
  mutating func pause(_ note: PauseNote?, at now: Moment, _ effects: inout [Effect]) {
    guard pause == nil else {
      // It may not have been kept the first time.
      return effects.append(.keepPause(pause))
    }
    let new = note ?? PauseNote(since: bestTime(at: now))
    pause = new
    // First on disk: what has been said to be in force survives a power cut.
    if note == nil { effects.append(.keepPause(new)) }
    effects.append(.event(.paused(new, isOld: note != nil)))
    if !delivery.isIdle { statistics.abandoned += 1 }
    apply(delivery.handle(.paused, at: now.boot), at: now, &effects)
    apply(tokens.handle(.connectionsLost, at: now), at: now, &effects)
    effects.append(.dropConnections)
    outages.forgetOutage()
    forgetPositions()
    isOnline = false
  }

  mutating func resume(at now: Moment, _ effects: inout [Effect]) {
    effects.append(.keepPause(nil))
    guard let ended = pause else { return }
    pause = nil
    let length = ended.since.flatMap { since in bestTime(at: now).map { $0 - since } }
    effects.append(.event(.pauseEnded(after: length.flatMap { $0 > .zero ? $0 : nil })))
    // What was seen during the pause stays here: the first fix from now on is the first of all.
    forgetPositions()
    apply(delivery.handle(.networkUp, at: now.boot), at: now, &effects)
    apply(tokens.handle(.networkUp, at: now), at: now, &effects)
    if isTokenRenewed { apply(tokens.handle(.renewed, at: now), at: now, &effects) }
    isTokenRenewed = false
  }

  /// A token file that changes during a pause is read after it.
  mutating func renewToken(at now: Moment, _ effects: inout [Effect]) {
    if isPaused {
      isTokenRenewed = true
    } else {
      apply(tokens.handle(.renewed, at: now), at: now, &effects)
    }
  }

  private mutating func forgetPositions() {
    forgottenTime = newestTime
    policy = ReportingPolicy(configuration.reporting)
    track.forget()
  }

  /// What time it is by whoever knows best; nil when nobody can know.
  func bestTime(at now: Moment) -> Timestamp? {
    if let (time, _) = clocks.time(at: now.boot) { return time }
    return now.wall >= configuration.filter.buildDate ? now.wall : nil
  }
}
