// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
import HTTPMessages
package import Timekeeping

/// Manages the token of one authorization context: requests it, caches it until it expires, requests the next one
/// before that, and never makes two requests at once.
///
/// All times are on the clock of elapsed time. Failures of the provider have their own backoff; the old token is used
/// until it expires.
package struct TokenAgent: Sendable {
  /// What happened: a token is needed, a fetch ended, Fleet Engine rejected the token, the settings changed.
  package enum Input: Sendable {
    /// An update is about to be sent. With a valid token this only prefetches; without one it starts a fetch.
    case needed
    /// A fetch ended. Ignored unless it is the current one.
    case ended(id: UInt64, TokenOutcome)
    /// Fleet Engine answered 401 or 403 to this token.
    case rejected(AccessToken)
    /// Fleet Engine accepted a request.
    case accepted
    /// The settings changed. The token is dropped if the context or the provider changed.
    case configured(AuthorizationContext?, TokenProvider)
    /// The network came up: the wait for the provider may end early.
    case networkUp
    /// Cancel the current fetch: connections are dead, or a pause begins. The fetch is repeated when a token is needed.
    case cancel
    /// A token that a previous run stored.
    case restored(AccessToken)
    /// The provider's file has changed: it is read again, regardless of the wait.
    case fileChanged
  }

  /// What the shell has to do, or the vehicle's agent has to know.
  package enum Effect: Equatable, Sendable {
    case fetch(id: UInt64, TokenRequest)
    case cancelFetch(id: UInt64)
    /// A new token. `afterOutage` is the time since the first failure before it; nil if there was none.
    case obtained(AccessToken, afterOutage: Duration?)
    /// The token of a previous run is used.
    case restored(AccessToken)
    /// Fleet Engine rejected the current token: the stored copy must be removed.
    case discardStored
    /// A fetch failed; the next starts at `earliestFetch` or later.
    case failed(TokenFailure)
    /// Lines that the token command wrote to standard error.
    case commandErrorLines([ExternalText])
    /// Fleet Engine rejects one new token after another: the configuration is wrong.
    case repeatedlyRejected(retry: Duration)
  }

  /// Consecutive failed fetches.
  private struct Outage {
    /// The last failure.
    var failure: TokenFailure
    var since: BootInstant
    /// Whether the provider asked for the wait (`Retry-After`).
    var hasPushback: Bool
  }

  /// Consecutive new tokens that Fleet Engine rejected.
  private struct Rejections {
    var count = 0
    var backoff = Backoff()
    /// The last of these tokens, until the provider has had time to issue another.
    var token: Secret?

    /// Whether the configuration is probably wrong, rather than just one token.
    var suggestMisconfiguration: Bool { count >= 2 }
  }

  private struct Fetch {
    var id: UInt64
    var context: AuthorizationContext
    var sentAt: BootInstant
    var deadline: BootInstant
  }

  private var context: AuthorizationContext?
  private var provider: TokenProvider
  private let buildDate: Timestamp
  private var gate: RetryGate
  private var cached: AccessToken?
  /// From this time on, the next update requests the next token.
  private var prefetchFrom = BootInstant.boot
  private var random: SplitMix64
  private var fetch: Fetch?
  private var lastID: UInt64 = 0
  private var outage: Outage?
  private var rejections = Rejections()
  /// Which requests use a new connection.
  private var connections = ReconnectPolicy()
  /// The provider's file has changed since it was read.
  private var isFileChanged = false
  /// When the provider in use last returned a valid token in this run; nil before the first.
  package private(set) var obtainedAt: BootInstant?

  /// - Parameters:
  ///   - buildDate: the wall clock is ignored if it is before this.
  ///   - seed: for the jitter.
  package init(context: AuthorizationContext?, provider: TokenProvider, buildDate: Timestamp, seed: UInt64) {
    self.context = context
    self.provider = provider
    self.buildDate = buildDate
    gate = RetryGate(seed: seed)
    random = SplitMix64(seed: seed &+ 1)
  }

  /// The token to send with; nil if there is no valid one.
  package func token(at now: BootInstant) -> AccessToken? { hasToken(at: now) ? cached : nil }

  /// Whether there is a token to send with.
  package func hasToken(at now: BootInstant) -> Bool {
    cached?.context == context && cached?.isValid(at: now) == true
  }

  /// Why the last fetch failed; nil if it succeeded.
  package var lastFailure: TokenFailure? { outage?.failure }

  /// The time of the first of the current series of failures; nil if the last fetch succeeded.
  package var failingSince: BootInstant? { outage?.since }

  /// Whether a fetch is in progress.
  package var isFetching: Bool { fetch != nil }

  /// The earliest time of the next fetch.
  package var earliestFetch: BootInstant { gate.earliest }

  /// When the current fetch began; nil if there is none.
  package var fetchSentAt: BootInstant? { fetch?.sentAt }

  /// The deadline of the current fetch.
  package var fetchDeadline: BootInstant? { fetch?.deadline }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    switch input {
    case .needed:
      return fetchIfNeeded(at: now)
    case .ended(let id, let outcome):
      if case .http(let exchange) = outcome { connections.ended(exchange) }
      return end(id, outcome, at: now)
    case .rejected(let token):
      return reject(token, at: now)
    case .accepted:
      rejections = Rejections()
      return []
    case .configured(let context, let provider):
      return configure(context, provider)
    case .fileChanged:
      return fileChanged(at: now)
    case .restored(let token):
      // A token that this run fetched is newer.
      guard cached == nil, token.context == context, token.isValid(at: now.boot) else { return [] }
      use(token)
      return [.restored(token)]
    case .networkUp:
      resetBackoff(at: now.boot)
      return []
    case .cancel:
      guard let fetch else { return [] }
      self.fetch = nil
      return [.cancelFetch(id: fetch.id)]
    }
  }

  private mutating func fetchIfNeeded(at now: Moment) -> [Effect] {
    if hasToken(at: now.boot), now.boot < prefetchFrom, !isFileChanged { return [] }
    guard fetch == nil, now.boot >= earliestFetch else { return [] }
    return startFetch(at: now)
  }

  private mutating func startFetch(at now: Moment) -> [Effect] {
    let request: TokenRequest
    do throws(TokenFailure) {
      request = try provider.request(for: context)
    } catch {
      return fail(error, at: now)
    }
    guard let context else { return [] }
    lastID += 1
    isFileChanged = false
    gate.attempted(at: now.boot)
    fetch = Fetch(id: lastID, context: context, sentAt: now.boot, deadline: now.boot + request.deadline)
    return [.fetch(id: lastID, request.onNewConnection(connections.claimNewConnection(at: now.boot)))]
  }

  private mutating func end(_ id: UInt64, _ outcome: TokenOutcome, at now: Moment) -> [Effect] {
    guard let current = fetch, current.id == id else { return [] }
    fetch = nil
    var effects: [Effect] = outcome.errorLines.isEmpty ? [] : [.commandErrorLines(outcome.errorLines)]
    do throws(TokenFailure) {
      let token = try provider.token(from: outcome, for: current.context, at: now, buildDate: buildDate)
      effects += receive(token, at: now)
    } catch {
      effects += fail(error, pushback: outcome.pushback, at: now)
    }
    return effects
  }

  private mutating func receive(_ token: AccessToken, at now: Moment) -> [Effect] {
    if token.secret == rejections.token {
      // The token is accepted the next time it is returned: the rejection may have been a mistake, and the provider may
      // have no other token.
      rejections.token = nil
      let failure = TokenFailure(
        .unchanged,
        "the token provider returns the same token again that Fleet Engine has just rejected: it caches too long")
      _ = waitAfterRejection(at: now.boot)
      return recordFailure(failure, hasPushback: outage?.hasPushback ?? false, at: now.boot)
    }
    let outage = outage
    self.outage = nil
    obtainedAt = now.boot
    if let cached, cached.secret == token.secret, cached.isValid(at: now.boot) {
      // The provider has no newer token yet. The known expiry of this one does not change.
      if now.boot < cached.prefetchWindow.first {
        // It was asked early, because its settings have changed.
        use(cached)
        gate.reset()
        return []
      }
      _ = gate.failed(.seconds(10, cap: 60), minimum: .seconds(5), at: now.boot)
      // When this token expires, a provider that caches it has another.
      if gate.notBefore > cached.deadline { gate.hold(for: cached.deadline - now.boot, at: now.boot) }
      return []
    }
    use(token)
    gate.reset()
    connections.accepted()
    return [.obtained(token, afterOutage: outage.map { now.boot - $0.since })]
  }

  /// Caches a token, and chooses a random time for its prefetch: vehicles of a fleet whose tokens expire in the same
  /// second do not request new ones in the same second.
  private mutating func use(_ token: AccessToken) {
    cached = token
    let (first, last) = token.prefetchWindow
    prefetchFrom = first + .nanoseconds(Int64.random(in: 0...(last - first).nanoseconds, using: &random))
  }

  private mutating func fail(_ failure: TokenFailure, pushback: Duration? = nil, at now: Moment) -> [Effect] {
    let age = outage.map { now.boot - $0.since } ?? .zero
    _ = gate.failed(
      provider.backoff(after: failure, failingFor: age), minimum: AttemptLimiter.spacing, after: pushback ?? .zero,
      at: now.boot)
    return recordFailure(failure, hasPushback: pushback != nil, at: now.boot)
  }

  private mutating func recordFailure(_ failure: TokenFailure, hasPushback: Bool, at now: BootInstant) -> [Effect] {
    outage = Outage(failure: failure, since: outage?.since ?? now, hasPushback: hasPushback)
    return [.failed(failure)]
  }

  /// - Returns: the wait before the next fetch, which grows with each rejection.
  private mutating func waitAfterRejection(at now: BootInstant) -> Duration {
    gate.failed(.seconds(120, cap: 900), minimum: .seconds(60), growing: &rejections.backoff, at: now)
  }

  /// The maximum wait after the file has changed. If a file is not written atomically, a truncated token may be read
  /// twice: it still has three parts, so only Fleet Engine rejects it. The complete token must then not wait as long as
  /// after a configuration mistake.
  private static let fileChangeMaximumWait = Duration.seconds(10)

  /// Reads the file at once, whatever the backoff. If the rate limit does not allow this, the file is read with the
  /// next update.
  private mutating func fileChanged(at now: Moment) -> [Effect] {
    isFileChanged = true
    if !rejections.suggestMisconfiguration {
      gate.reset()
    } else if gate.notBefore - now.boot > TokenAgent.fileChangeMaximumWait {
      gate.hold(for: TokenAgent.fileChangeMaximumWait, at: now.boot)
    }
    guard fetch == nil, now.boot >= earliestFetch, context != nil else { return [] }
    return startFetch(at: now)
  }

  /// The network came up: resets the backoff, at most once in 30 s, but never ends a wait that the provider asked for,
  /// or the wait after Fleet Engine has rejected several tokens.
  private mutating func resetBackoff(at now: BootInstant) {
    guard !rejections.suggestMisconfiguration, outage?.hasPushback != true else { return }
    gate.resetUnlessRecent(at: now)
  }

  private mutating func reject(_ token: AccessToken, at now: Moment) -> [Effect] {
    // A request that was in progress with the previous token says nothing about this one.
    guard cached == token else { return [] }
    cached = nil
    outage?.hasPushback = false
    rejections.token = token.secret
    rejections.count += 1
    guard rejections.suggestMisconfiguration else {
      gate.endWait()
      return [.discardStored]
    }
    return [.repeatedlyRejected(retry: waitAfterRejection(at: now.boot)), .discardStored]
  }

  private mutating func configure(
    _ context: AuthorizationContext?, _ provider: TokenProvider
  ) -> [Effect] {
    let changed = context != self.context || provider != self.provider
    guard changed else {
      // A token of the previous run does not show whether the provider works with these settings.
      if obtainedAt == nil { prefetchFrom = .boot }
      return []
    }
    if context != self.context { cached = nil }
    // A changed provider is asked with the next update, so that a mistake shows before the token expires.
    (prefetchFrom, obtainedAt) = (.boot, nil)
    self.context = context
    self.provider = provider
    gate.reset()
    rejections = Rejections()
    outage = nil
    isFileChanged = false
    guard let fetch else { return [] }
    self.fetch = nil
    return [.cancelFetch(id: fetch.id)]
  }
}
