// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

/// By which clock certificates are judged: the machine's, unless it is not set, or is far from the time that a server or a
/// steady receiver gives. No clock keeps a vehicle off the map by itself: after a certificate that is not valid at the one
/// time, the next request is judged at the other. A clock that is not set is no other time, and neither is the build's date:
/// a server with a certificate that was valid then, and has expired, would be accepted at the second request.
struct CertificateClock: Equatable, Sendable {
  /// A machine's clock that is ahead by more has run amok.
  static let farAhead = Duration.seconds(86_400)

  private enum Clock { case machine, witness }

  /// By which the last request was judged, and by which a certificate was not valid.
  private var used = Clock.machine
  private var refused: Clock?

  /// A request has ended.
  mutating func note(_ outcome: HTTPOutcome) {
    guard case .failure(let failure) = outcome else { return }
    switch failure.kind {
    case .certificateNotYetValid, .certificateExpired: refused = used
    default: break
    }
  }

  /// Whether a certificate was not valid by the machine's clock, and a steady witness has given another time since: the next
  /// request need not wait.
  func hasOtherTime(_ judgement: TimeJudge.Judgement?, at now: Moment) -> Bool {
    guard used == .machine, refused == .machine, let judgement, judgement.reference != nil, judgement.isSteady else {
      return false
    }
    return now.wall - judgement.bounds.time(at: now.boot) > CertificateClock.farAhead
  }

  /// The time at which the certificates of the next request are judged; nil: by the machine's clock.
  ///
  /// - Parameters:
  ///   - judgement: what time it is; nil when there is no witness.
  ///   - newest: time of the newest position, for a receiver whose date is no witness.
  mutating func time(
    at now: Moment, judgement: TimeJudge.Judgement?, newest: Timestamp?, buildDate: Timestamp
  ) -> Timestamp? {
    let witness = judgement.flatMap { $0.reference == nil ? nil : $0 }
    let known = witness?.bounds.time(at: now.boot)
    used = .machine
    guard now.wall >= buildDate else { return CertificateTime.at(now, buildDate: buildDate, receiver: known ?? newest) }
    guard let witness, witness.isSteady, let known else { return nil }
    let ahead = now.wall - known
    guard max(ahead, .zero - ahead) > CertificateClock.farAhead else { return nil }
    let preferred = ahead > .zero ? Clock.witness : .machine
    used = refused == preferred ? (preferred == .witness ? .machine : .witness) : preferred
    return used == .witness ? known : nil
  }
}
