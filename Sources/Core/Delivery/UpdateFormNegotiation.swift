// SPDX-License-Identifier: Apache-2.0
import FleetEngine
package import Timekeeping

/// Decides in which form updates are sent: the compact one, unless the server does not accept it.
///
/// Nothing says in advance whether a server accepts the compact form. Until one such update was accepted, a rejection
/// that the form may explain is followed at once by the same update in the plain form. If that is accepted, updates are
/// plain, and the compact form is tried once more later; the second such pair of a rejection and an acceptance ends the
/// negotiation for this server and release. If the plain form is rejected as well, the form is not the cause.
///
/// Other failures prove nothing, but must not keep a vehicle offline either: after several in a row the attempts are
/// plain until one is accepted.
package struct UpdateFormNegotiation: Equatable, Sendable {
  /// Whether the compact form is used at all.
  package enum Mode: String, Sendable, CaseIterable {
    /// If the server accepts it.
    case auto
    case off
  }

  /// What the settings and the program determine.
  package struct Configuration: Equatable, Sendable {
    /// From the settings.
    package var mode = Mode.auto
    /// The program's version: another release may write another form.
    package var release: String

    package init(release: String) {
      self.release = release
    }
  }

  /// The result so far.
  package enum Summary: Equatable, Sendable {
    /// The settings exclude the compact form.
    case off
    /// Updates are compact; the server has accepted none yet in this run.
    case untested
    /// Updates are compact.
    case accepted
    /// Updates are plain, because compact ones failed; compact ones are tried again at this time, or, if it is nil,
    /// some time after a plain one is accepted.
    case fallback(until: BootInstant?)
    /// Updates are plain: the server rejected compact ones twice, last with this HTTP status, and accepted plain ones.
    case rejected(httpStatus: Int)
  }

  /// The time until the compact form is tried again; doubles while it fails without a rejection, up to `maximumWait`.
  static let wait = Duration.seconds(600)
  /// The same after the plain form was rejected as well, so that there is at most one pair of requests an hour.
  static let waitAfterOtherCause = Duration.seconds(3600)
  private static let maximumWait = Duration.seconds(86_400)
  /// Pairs of a rejected compact update and an accepted plain one that end the negotiation.
  private static let pairsBeforeEnd = 2
  /// The number of consecutive failures before the first acceptance after which attempts are plain, if the form does
  /// not explain the failures.
  private static let failuresBeforeAcceptance = 2
  /// The number of consecutive failures after an acceptance that reopen the negotiation: the address may lead to
  /// another server, or a new proxy on the path may remove the name of the coding. Without a response, the cause is
  /// usually the network.
  private static let failuresAfterAcceptance = 3
  private static let failuresWithoutResponse = 10

  private enum State: Equatable {
    /// No compact update was accepted in this run; the number of failures so far.
    case untested(failures: Int)
    /// The next updates are plain until one is accepted; then the compact form is tried again after `wait`.
    /// `rejection`: the HTTP status of the compact update, if it may be due to the form.
    case comparing(rejection: Int?, wait: Duration)
    /// Updates are plain until this time.
    case plain(until: BootInstant)
    /// Compact updates are accepted; the number of failures since the last one.
    case compact(failures: Int)
  }

  /// How often the server has rejected the compact form of this release.
  private struct Record: Equatable {
    /// 0, 1, or 2; at 2 the negotiation has ended.
    var rejections = 0
    /// Of the last rejection; 0 if there is none.
    var httpStatus = 0
  }

  private var configuration: Configuration
  /// Scheme, host and port of Fleet Engine.
  private var server: String
  private var state = State.untested(failures: 0)
  private var record = Record()
  /// The number of consecutive changes to the plain form for reasons other than a rejection.
  private var fallbacks = 0

  /// - Parameter server: scheme, host and port of Fleet Engine.
  package init(_ configuration: Configuration, server: String) {
    self.configuration = configuration
    self.server = server
  }

  /// Applies new settings; for another server or release, the negotiation starts anew.
  mutating func configure(_ configuration: Configuration, server: String) {
    guard server == self.server, configuration.release == self.configuration.release else {
      self = UpdateFormNegotiation(configuration, server: server)
      return
    }
    self.configuration = configuration
  }

  /// Restores what a previous run has found out about the same server with the same release.
  ///
  /// - Parameter text: the contents of a file, not validated; without effect if it is damaged or about another server
  ///   or release.
  package mutating func restore(_ text: String) {
    let lines = text.split(separator: "\n")
    guard lines.count == 6, let rejections = lines[3].split(separator: " ").last.flatMap({ Int($0) }),
      let status = lines[4].split(separator: " ").last.flatMap({ Int($0) }),
      (0...UpdateFormNegotiation.pairsBeforeEnd).contains(rejections),
      rejections == 0 ? status == 0 : (100..<600).contains(status)
    else { return }
    let stored = Record(rejections: rejections, httpStatus: status)
    if self.text(of: stored) == text { record = stored }
  }

  /// What the next run needs to know, for a file: lines of a key and a value.
  private func text(of record: Record) -> String {
    "fleet-locationd update form 1\nserver \(server)\nrelease \(configuration.release)\n"
      + "refusals \(record.rejections)\nstatus \(record.httpStatus)\nend\n"
  }

  /// The form of the next update.
  func form(at now: BootInstant) -> UpdateForm {
    guard configuration.mode == .auto, !isRejected else { return .plain }
    return switch state {
    case .untested, .compact: .compact
    case .comparing: .plain
    case .plain(let end): now < end ? .plain : .compact
    }
  }

  private var isRejected: Bool { record.rejections >= UpdateFormNegotiation.pairsBeforeEnd }

  /// The result so far.
  package var summary: Summary {
    guard configuration.mode == .auto else { return .off }
    if isRejected { return .rejected(httpStatus: record.httpStatus) }
    return switch state {
    case .untested: .untested
    case .comparing: .fallback(until: nil)
    case .plain(let end): .fallback(until: end)
    case .compact: .accepted
    }
  }

  // MARK: - Outcomes

  /// An update of this form was accepted.
  ///
  /// - Returns: what to store for the next run; nil if that is unchanged.
  mutating func accepted(_ form: UpdateForm, at now: BootInstant) -> String? {
    guard configuration.mode == .auto, !isRejected else { return nil }
    switch (form, state) {
    case (.compact, _):
      state = .compact(failures: 0)
      fallbacks = 0
      guard record.rejections > 0 else { return nil }
      record = Record()
      return text(of: record)
    case (.plain, .comparing(let rejection, let wait)):
      state = .plain(until: now + wait)
      guard let rejection else { return nil }
      record = Record(rejections: record.rejections + 1, httpStatus: rejection)
      return text(of: record)
    case (.plain, _): return nil
    }
  }

  /// An update of this form was not accepted.
  ///
  /// - Returns: whether to send it again in the plain form at once, before this counts as a failure.
  mutating func failed(_ form: UpdateForm, _ failure: UpdateFailure) -> Bool {
    guard configuration.mode == .auto, !isRejected else { return false }
    if form == .plain, failure.httpStatus == 503, case .comparing(.some, let wait) = state {
      // The server fails with either form: that the plain one is accepted later proves nothing.
      state = .comparing(rejection: nil, wait: wait)
    }
    guard failure.isAboutRequest else { return false }
    let rejection = failure.mayBeDueToForm ? failure.httpStatus : nil
    if form == .plain {
      // Without a response nothing is known yet.
      if case .comparing(.some, _) = state, failure.httpStatus != nil {
        state = .comparing(rejection: nil, wait: UpdateFormNegotiation.waitAfterOtherCause)
      }
      return false
    }
    switch state {
    case .untested(let failures)
    where rejection == nil && failures + 1 < UpdateFormNegotiation.failuresBeforeAcceptance:
      state = .untested(failures: failures + 1)
      return false
    case .compact(let failures) where failures + 1 < UpdateFormNegotiation.limitAfterAcceptance(failure):
      state = .compact(failures: failures + 1)
      return false
    case .compact where UpdateFormNegotiation.isUnanswered(failure):
      // Most likely the network: the first plain update that is accepted ends this, before the backlog is sent.
      fallbacks += 1
      state = .comparing(rejection: nil, wait: .zero)
      return false
    case .untested, .compact, .plain, .comparing: break
    }
    guard let rejection else {
      fallBack()
      return false
    }
    state = .comparing(rejection: rejection, wait: UpdateFormNegotiation.wait)
    return true
  }

  private static func limitAfterAcceptance(_ failure: UpdateFailure) -> Int {
    isUnanswered(failure) ? failuresWithoutResponse : failuresAfterAcceptance
  }

  private static func isUnanswered(_ failure: UpdateFailure) -> Bool {
    failure.httpStatus == nil && !failure.isConnectionOpen
  }

  /// Changes to the plain form after failures that the form does not explain.
  private mutating func fallBack() {
    var wait = UpdateFormNegotiation.wait
    for _ in 0..<fallbacks { wait = min(wait + wait, UpdateFormNegotiation.maximumWait) }
    fallbacks += 1
    state = .comparing(rejection: nil, wait: wait)
  }
}
