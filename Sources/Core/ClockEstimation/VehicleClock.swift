// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// What a vehicle knows about the time: observations in, one result out.
///
/// The estimate is always current; `assessment` is from the last review, so that all decisions until the next one
/// agree.
package struct VehicleClock: Sendable {
  /// What positions and receivers are compared with.
  package struct Assessment: Equatable, Sendable {
    /// The bounds of the time by a server that is not outvoted; nil if there is none.
    package internal(set) var bounds: TimeBounds?
    /// Whether the bounds are confirmed, so that queued positions can be removed by them: a single wrong response must
    /// not cost a position.
    package internal(set) var isConfirmed = false

    /// The latest timestamp that is not from the future; nil without bounds.
    package func latestTimestamp(at now: BootInstant) -> Timestamp? {
      bounds.map { $0.latest(at: now) + TimeEstimator.slack }
    }
  }

  /// The latest timestamp with which a queued position can be sent as the live one.
  package struct LiveLimit: Equatable, Sendable {
    /// The latest possible current time.
    package let latest: Timestamp
    /// Whether Fleet Engine, which checks timestamps, is the reference.
    package let isByFleetEngine: Bool
    /// When an unconfirmed time expires; nil: it does not.
    package let expiresAt: BootInstant?

    init(_ estimate: TimeEstimator.Estimate, at now: BootInstant) {
      latest = estimate.bounds.latest(at: now) + TimeEstimator.slack
      expiresAt = estimate.expiresAt.flatMap { now < $0 ? $0 : nil }
      isByFleetEngine = estimate.reference == .fleetEngine && (estimate.expiresAt == nil || expiresAt != nil)
    }
  }

  /// What has changed since the last review.
  package struct Review: Equatable, Sendable {
    /// Whether the bounds have changed, or there are none any more.
    package var hasNewBounds = false
    /// Whether `assessment` has changed: the bounds, or `isConfirmed`.
    package var hasNewAssessment = false
    /// Whether a certificate that was not valid may be valid at the time that is known now.
    package var hasNewCertificateTime = false
    /// Whether the machine's clock was found to be wrong, or is right again; nil if nothing changed.
    package var clockChange: TimeEstimator.ClockChange?
  }

  private let buildDate: Timestamp
  private var estimator: TimeEstimator
  private var certificates = CertificateClock()
  /// The result of the last review.
  package private(set) var assessment = Assessment()
  /// The limit of live timestamps at the last review; nil: the time is unknown.
  package private(set) var liveLimit: LiveLimit?

  /// - Parameter buildDate: earlier times are wrong.
  package init(buildDate: Timestamp) {
    self.buildDate = buildDate
    estimator = TimeEstimator(buildDate: buildDate)
  }

  // MARK: - Observations

  /// Processes a time from a reference. Implausible times are ignored.
  ///
  /// - Parameters:
  ///   - sentAt: when the request was sent; nil for a receiver.
  ///   - now: when the time arrived.
  package mutating func observe(
    _ reference: TimeEstimator.Reference, _ time: Timestamp, sentAt: BootInstant? = nil, at now: BootInstant
  ) {
    estimator.observe(reference, time, sentAt: sentAt, at: now)
  }

  /// Processes the `iat` of a token whose response has no `Date`.
  ///
  /// - Parameters:
  ///   - sentAt: when the request was sent.
  ///   - now: when the token arrived.
  package mutating func observeIssueTime(_ time: Timestamp, sentAt: BootInstant, at now: BootInstant) {
    estimator.observeIssueTime(time, sentAt: sentAt, at: now)
  }

  /// A request has ended: its certificate may not have been valid.
  package mutating func requestEnded(_ outcome: HTTPOutcome) {
    certificates.note(outcome)
  }

  /// Restores the confirmed bounds of the previous run in the same boot.
  package mutating func restore(_ bounds: TimeBounds) {
    estimator.restore(bounds)
  }

  // MARK: - The review

  /// Updates `assessment` and `liveLimit` to this moment.
  package mutating func review(at now: Moment) -> Review {
    let estimate = estimator.updateEstimate(at: now)
    let bounds = estimate?.serverBounds
    let new = Assessment(bounds: bounds, isConfirmed: bounds != nil && estimate?.isConfirmed == true)
    liveLimit = estimate.map { LiveLimit($0, at: now.boot) }
    let review = Review(
      hasNewBounds: bounds != assessment.bounds, hasNewAssessment: new != assessment,
      hasNewCertificateTime: certificates.hasNewTime(estimate, at: now),
      clockChange: estimator.clockChange(estimate, at: now))
    assessment = new
    return review
  }

  /// The bounds by a server, if they are confirmed, for the next run; nil otherwise.
  ///
  /// Includes the response that is being handled, which `assessment` does not.
  package mutating func confirmedBounds(at now: Moment) -> TimeBounds? {
    let estimate = estimator.updateEstimate(at: now)
    return estimate?.isConfirmed == true ? estimate?.serverBounds : nil
  }

  // MARK: - The time

  /// Whether a reference other than the machine's clock provides the time.
  package func isKnown(at now: Moment) -> Bool { estimator.time(at: now) != nil }

  /// Whether the time by a reference other than the machine's clock is known, confirmed and consistent.
  package func isSettled(at now: Moment) -> Bool {
    guard let estimate = estimator.estimate(at: now) else { return false }
    return estimate.reference != nil && estimate.isSteady && estimate.isConfirmed
  }

  /// The time by the best reference other than the machine's clock; nil if there is none.
  package func time(at now: Moment) -> (Timestamp, TimeEstimator.Reference)? { estimator.time(at: now) }

  /// The best known time: of a reference, or of the machine's clock if that is set; nil if unknown.
  package func bestTime(at now: Moment) -> Timestamp? {
    estimator.time(at: now)?.0 ?? (now.wall >= buildDate ? now.wall : nil)
  }

  /// As `bestTime`, but caches the estimate for this moment, because one moment needs it several times.
  package mutating func updateBestTime(at now: Moment) -> Timestamp? {
    estimator.updateEstimate(at: now)
    return bestTime(at: now)
  }

  /// The error of the machine's clock; nil if there is none, or it is unknown.
  package func error(at now: Moment) -> TimeEstimator.ClockError? { estimator.error(at: now) }

  /// The time at which to verify the certificates of the next request; nil: the machine's clock.
  ///
  /// - Parameter newest: timestamp of the newest position, for a receiver whose date is not used as a reference.
  package mutating func certificateTime(at now: Moment, newest: Timestamp?) -> Timestamp? {
    certificates.time(at: now, estimate: estimator.estimate(at: now), newest: newest, buildDate: buildDate)
  }
}
