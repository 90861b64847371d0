// SPDX-License-Identifier: Apache-2.0
package import ExternalInput
import HTTPMessages
package import Timekeeping

/// Keeps the token of one authorization context: asks for it, caches it to its end, asks for its successor in good time, and never twice at
/// once.
///
/// Everything runs on the elapsed clock. A failed provider has a backoff of its own; while the old token lives, it serves.
package struct TokenAgent: Sendable {
  /// What happens to it: a need, an answer, a refusal, other settings.
  package enum Input: Sendable {
    /// An update wants to go out. With a valid token this only prefetches; without one it asks the provider.
    case needed
    /// A fetch ended. Answers to another fetch than the one under way are ignored.
    case answered(id: UInt64, TokenOutcome)
    /// Fleet Engine answered 401 or 403 to this token.
    case refused(AccessToken)
    /// Fleet Engine accepted a request.
    case accepted
    /// Settings changed. The token is dropped when whom it is for did.
    case configured(AuthorizationContext?, TokenProvider)
    /// The network came up: a wait for the provider is cut short.
    case networkUp
    /// Connections that were open are most likely dead: a fetch under way is given up, and made again when it is needed.
    case connectionsLost
    /// A token that an earlier run of the program has kept.
    case restored(AccessToken)
    /// What the provider keeps for us, a file, has changed: it is read again, whatever the wait.
    case renewed
  }

  /// What the shell is to do, or the vehicle's agent to know.
  package enum Effect: Equatable, Sendable {
    case fetch(id: UInt64, TokenRequest)
    case cancelFetch(id: UInt64)
    /// A new token. `after` is the time since the first failure before it; nil when there was none.
    case obtained(AccessToken, after: Duration?)
    /// A token of an earlier run serves on.
    case restored(AccessToken)
    /// Fleet Engine has refused the token that is in use: whoever keeps it is to forget it.
    case forget
    /// No token came; there is no other fetch before `earliest`.
    case failed(TokenFailure)
    /// What the provider's program says beside its answer.
    case remarked([ExternalText])
    /// Fleet Engine refuses one fresh token after another: the configuration is wrong. The token is the last of them.
    case keepsBeingRefused(AccessToken, retry: Duration)
  }

  /// Fetches have failed, and none has gone well since.
  private struct Outage {
    /// The last failure.
    var failure: TokenFailure
    var since: BootInstant
    /// Whether the provider itself has asked for the wait.
    var isAskedToWait: Bool
  }

  /// Fresh tokens that Fleet Engine has refused, one after another.
  private struct Refusals {
    var count = 0
    var backoff = Backoff()
    /// The last of them, until the provider has been given time to make another.
    var token: Secret?

    /// Whether it is the configuration that is wrong, rather than one token.
    var isOfConfiguration: Bool { count >= 2 }
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
  /// From when the next update asks for a successor of it.
  private var prefetchFrom = BootInstant.boot
  private var random: SplitMix64
  private var fetch: Fetch?
  private var lastID: UInt64 = 0
  private var outage: Outage?
  private var refusals = Refusals()
  /// What the provider keeps has changed since it was read.
  private var isRenewed = false

  /// - Parameters:
  ///   - buildDate: a wall clock before it is not believed.
  ///   - seed: of the jitter.
  package init(context: AuthorizationContext?, provider: TokenProvider, buildDate: Timestamp, seed: UInt64) {
    self.context = context
    self.provider = provider
    self.buildDate = buildDate
    gate = RetryGate(seed: seed)
    random = SplitMix64(seed: seed &+ 1)
  }

  /// The token to send with, when there is a valid one.
  package func token(at now: BootInstant) -> AccessToken? { hasToken(at: now) ? cached : nil }

  /// Whether there is a token to send with.
  package func hasToken(at now: BootInstant) -> Bool {
    cached?.context == context && cached?.isValid(at: now) == true
  }

  /// Why the last fetch has failed; nil when it has not.
  package var lastFailure: TokenFailure? { outage?.failure }

  /// When the first of the failures before now was; nil when the last fetch has not failed.
  package var failingSince: BootInstant? { outage?.since }

  /// Whether a fetch is under way.
  package var isFetching: Bool { fetch != nil }

  /// The earliest time of the next fetch.
  package var earliest: BootInstant { gate.earliest }

  /// When the fetch under way began; nil when there is none.
  package var fetchSentAt: BootInstant? { fetch?.sentAt }

  /// The latest time at which the fetch under way must have ended.
  package var fetchDeadline: BootInstant? { fetch?.deadline }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    switch input {
    case .needed:
      return need(at: now)
    case .answered(let id, let outcome):
      return answer(id, outcome, at: now)
    case .refused(let token):
      return refuse(token, at: now)
    case .accepted:
      refusals = Refusals()
      return []
    case .configured(let context, let provider):
      return configure(context, provider, at: now)
    case .renewed:
      return renew(at: now)
    case .restored(let token):
      // What this run has got itself is newer.
      guard cached == nil, token.context == context, token.isValid(at: now.boot) else { return [] }
      use(token)
      return [.restored(token)]
    case .networkUp:
      reset(at: now.boot)
      return []
    case .connectionsLost:
      guard let fetch else { return [] }
      self.fetch = nil
      return [.cancelFetch(id: fetch.id)]
    }
  }

  private mutating func need(at now: Moment) -> [Effect] {
    if hasToken(at: now.boot), now.boot < prefetchFrom, !isRenewed { return [] }
    guard fetch == nil, now.boot >= earliest else { return [] }
    return ask(at: now)
  }

  private mutating func ask(at now: Moment) -> [Effect] {
    let request: TokenRequest
    do throws(TokenFailure) {
      request = try provider.request(for: context)
    } catch {
      return fail(error, at: now)
    }
    guard let context else { return [] }
    lastID += 1
    isRenewed = false
    gate.attempted(at: now.boot)
    fetch = Fetch(id: lastID, context: context, sentAt: now.boot, deadline: now.boot + request.deadline)
    return [.fetch(id: lastID, request)]
  }

  private mutating func answer(_ id: UInt64, _ outcome: TokenOutcome, at now: Moment) -> [Effect] {
    guard let under = fetch, under.id == id else { return [] }
    fetch = nil
    var effects: [Effect] = outcome.remarks.isEmpty ? [] : [.remarked(outcome.remarks)]
    do throws(TokenFailure) {
      let token = try provider.token(from: outcome, for: under.context, at: now, buildDate: buildDate)
      effects += take(token, at: now)
    } catch {
      effects += fail(error, pushback: outcome.pushback, at: now)
    }
    return effects
  }

  private mutating func take(_ token: AccessToken, at now: Moment) -> [Effect] {
    if token.secret == refusals.token {
      // The next time it is accepted all the same: a refusal can be a mistake, and a provider may have no other to give.
      refusals.token = nil
      let failure = TokenFailure(
        .unchanged,
        "the token provider gives the same token again that Fleet Engine has just refused: it caches too long")
      _ = waitAfterRefusal(at: now.boot)
      return note(failure, isAskedToWait: outage?.isAskedToWait ?? false, at: now.boot)
    }
    let outage = outage
    self.outage = nil
    if let cached, cached.secret == token.secret, cached.isValid(at: now.boot) {
      // It has no successor to give yet. The token's end stays where it was first known to be.
      _ = gate.failed(.seconds(10, cap: 60), floor: .seconds(5), at: now.boot)
      return []
    }
    use(token)
    gate.reset()
    return [.obtained(token, after: outage.map { now.boot - $0.since })]
  }

  /// A fleet whose tokens end in the same second does not ask for their successors in the same second.
  private mutating func use(_ token: AccessToken) {
    cached = token
    let (first, last) = token.prefetch
    prefetchFrom = first + .nanoseconds(Int64.random(in: 0...(last - first).nanoseconds, using: &random))
  }

  private mutating func fail(_ failure: TokenFailure, pushback: Duration? = nil, at now: Moment) -> [Effect] {
    let age = outage.map { now.boot - $0.since } ?? .zero
    _ = gate.failed(
      provider.backoff(after: failure, failingFor: age), floor: AttemptLimiter.spacing, after: pushback ?? .zero,
      at: now.boot)
    return note(failure, isAskedToWait: pushback != nil, at: now.boot)
  }

  private mutating func note(_ failure: TokenFailure, isAskedToWait: Bool, at now: BootInstant) -> [Effect] {
    outage = Outage(failure: failure, since: outage?.since ?? now, isAskedToWait: isAskedToWait)
    return [.failed(failure)]
  }

  /// - Returns: the wait before the next fetch, which grows from refusal to refusal.
  private mutating func waitAfterRefusal(at now: BootInstant) -> Duration {
    gate.failed(.seconds(120, cap: 900), floor: .seconds(60), growing: &refusals.backoff, at: now)
  }

  /// The longest wait after a change of what the provider keeps. A file that is written in pieces may have held half a token
  /// twice: it has three parts, and Fleet Engine refuses it. The whole one must not wait as long as a wrong configuration.
  private static let renewalTimeout = Duration.seconds(10)

  /// A file is cheap to read, and its change is the best reason to; one that changes all the time is read by updates only.
  private mutating func renew(at now: Moment) -> [Effect] {
    isRenewed = true
    if !refusals.isOfConfiguration {
      gate.reset()
    } else if gate.notBefore - now.boot > TokenAgent.renewalTimeout {
      gate.hold(for: TokenAgent.renewalTimeout, at: now.boot)
    }
    guard fetch == nil, now.boot >= earliest, context != nil else { return [] }
    return ask(at: now)
  }

  /// The network came up: at most once in 30 s, and never against the provider's or Fleet Engine's wish.
  private mutating func reset(at now: BootInstant) {
    guard !refusals.isOfConfiguration, outage?.isAskedToWait != true else { return }
    gate.kick(at: now)
  }

  private mutating func refuse(_ token: AccessToken, at now: Moment) -> [Effect] {
    // A request that was under way with the token before says nothing about this one.
    guard cached == token else { return [] }
    cached = nil
    outage?.isAskedToWait = false
    refusals.token = token.secret
    refusals.count += 1
    guard refusals.isOfConfiguration else {
      gate.allow()
      return [.forget]
    }
    return [.keepsBeingRefused(token, retry: waitAfterRefusal(at: now.boot)), .forget]
  }

  private mutating func configure(
    _ context: AuthorizationContext?, _ provider: TokenProvider, at now: Moment
  ) -> [Effect] {
    let changed = context != self.context || provider != self.provider
    guard changed else { return [] }
    if context != self.context { cached = nil }
    self.context = context
    self.provider = provider
    gate.reset()
    refusals = Refusals()
    outage = nil
    isRenewed = false
    guard let fetch else { return [] }
    self.fetch = nil
    return [.cancelFetch(id: fetch.id)]
  }
}
