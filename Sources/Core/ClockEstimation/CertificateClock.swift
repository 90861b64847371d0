// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// Selects the clock by which certificates are verified: the machine's, unless it is unset or far ahead of the time of
/// a server or a steady receiver. After a certificate was not valid by one of these clocks, the next request uses the
/// other, so that a wrong clock keeps no vehicle offline. An unset clock takes no part in this, and neither does the
/// build date: an expired certificate would be accepted at the second attempt. If the clock is unset and no other time
/// is known, certificates are verified at the build date (`CertificateTime`).
struct CertificateClock: Equatable, Sendable {
  /// Clocks that differ by more than this have different times; if the machine's is ahead, it is presumed wrong.
  static let maximumDifference = Duration.seconds(86_400)

  private enum Clock { case machine, reference }

  /// The clock of the last request, and the clock by which a certificate was not valid.
  private var usedClock = Clock.machine
  private var rejectingClock: Clock?

  /// Records the outcome of a request.
  mutating func note(_ outcome: HTTPOutcome) {
    guard case .failure(let failure) = outcome else { return }
    switch failure.kind {
    case .certificateNotYetValid, .certificateExpired: rejectingClock = usedClock
    default: break
    }
  }

  /// Whether a certificate was not valid by the machine's clock, which is now known to be far ahead of a steady
  /// reference: the next request can be sent now.
  func hasNewTime(_ estimate: TimeEstimator.Estimate?, at now: Moment) -> Bool {
    guard usedClock == .machine, rejectingClock == .machine, let estimate, estimate.reference != nil, estimate.isSteady
    else { return false }
    return now.wall - estimate.bounds.time(at: now.boot) > CertificateClock.maximumDifference
  }

  /// The time at which to verify the certificates of the next request; nil: the machine's clock.
  ///
  /// - Parameters:
  ///   - estimate: the current time by its references; nil if there is none.
  ///   - newest: timestamp of the newest position, for a receiver whose date is not used as a reference.
  mutating func time(
    at now: Moment, estimate: TimeEstimator.Estimate?, newest: Timestamp?, buildDate: Timestamp
  ) -> Timestamp? {
    let referenced = estimate.flatMap { $0.reference == nil ? nil : $0 }
    let known = referenced?.bounds.time(at: now.boot)
    usedClock = .machine
    guard now.wall >= buildDate else { return CertificateTime.at(now, buildDate: buildDate, known: known ?? newest) }
    guard let referenced, referenced.isSteady, let known else { return nil }
    let ahead = now.wall - known
    guard max(ahead, .zero - ahead) > CertificateClock.maximumDifference else { return nil }
    let preferred = ahead > .zero ? Clock.reference : .machine
    usedClock = rejectingClock == preferred ? (preferred == .reference ? .machine : .reference) : preferred
    return usedClock == .reference ? known : nil
  }
}
