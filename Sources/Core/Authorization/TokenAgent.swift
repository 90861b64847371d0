// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// Keeps one vehicle's token: asks for it, caches it to its end, asks for its successor in good time, and never twice at
/// once.
///
/// Everything runs on the elapsed clock. A failed provider has a backoff of its own; while the old token lives, it serves.
package struct TokenAgent: Sendable {
  package enum Input: Sendable {
    /// An update wants to go out. With a valid token this only prefetches; without one it asks the provider.
    case needed
    /// A fetch ended. Answers to another fetch than the one under way are ignored.
    case answered(id: UInt64, HTTPOutcome)
    /// Fleet Engine answered 401 or 403 to this token.
    case refused(AccessToken)
    /// Fleet Engine accepted a request.
    case accepted
    /// Settings changed. The token is dropped when the vehicle did.
    case configured(AuthorizationContext?, TokenEndpoint)
    /// The network came up: a wait for the provider is cut short.
    case networkUp
    /// Connections that were open are most likely dead: a fetch under way is given up, and made again when it is needed.
    case connectionsLost
  }

  package enum Effect: Equatable, Sendable {
    case fetch(id: UInt64, HTTPRequest)
    case cancelFetch(id: UInt64)
    case obtained(AccessToken)
    /// No token came. `retry` is the wait before the next try.
    case failed(TokenFailure, retry: Duration)
    /// Fleet Engine refuses one fresh token after another: the configuration is wrong.
    case keepsBeingRefused(retry: Duration)
  }

  private struct Fetch {
    var id: UInt64
    var context: AuthorizationContext
    var deadline: BootInstant
  }

  private var context: AuthorizationContext?
  private var endpoint: TokenEndpoint
  private let buildDate: Timestamp
  private var random: SplitMix64
  private var cached: AccessToken?
  private var fetch: Fetch?
  private var lastID: UInt64 = 0
  private var backoff = Backoff()
  private var notBefore = BootInstant.boot
  private var limiter = AttemptLimiter()
  private var lastKickAt: BootInstant?
  /// Whether the provider itself has asked for the wait until `notBefore`.
  private var isAskedToWait = false
  private var isWanted = false
  /// Fresh tokens that Fleet Engine has refused, one after another.
  private var refusals = 0
  private var damping = Backoff()

  /// Why there is none, when the last fetch failed.
  package private(set) var lastFailure: TokenFailure?

  /// - Parameters:
  ///   - buildDate: a wall clock before it is not believed.
  ///   - seed: of the jitter.
  package init(context: AuthorizationContext?, endpoint: TokenEndpoint, buildDate: Timestamp, seed: UInt64) {
    self.context = context
    self.endpoint = endpoint
    self.buildDate = buildDate
    random = SplitMix64(seed: seed)
  }

  /// The token to send with, when there is a valid one.
  package func token(at now: BootInstant) -> AccessToken? {
    guard let cached, cached.isValid(at: now) else { return nil }
    return cached
  }

  /// Whether a fetch is under way.
  package var isFetching: Bool { fetch != nil }

  /// When `needed` is worth asking again: the end of the backoff, while an update waits for a token. Never for a prefetch,
  /// which only updates start.
  package func nextDeadline(at now: BootInstant) -> BootInstant? {
    guard isWanted, fetch == nil, token(at: now) == nil else { return nil }
    return earliest
  }

  private var earliest: BootInstant { max(notBefore, limiter.earliest) }

  /// The latest time at which the fetch under way must have ended.
  package var fetchDeadline: BootInstant? { fetch?.deadline }

  package mutating func handle(_ input: Input, at now: Moment) -> [Effect] {
    switch input {
    case .needed:
      return need(at: now)
    case .answered(let id, let outcome):
      return answer(id, outcome, at: now)
    case .refused(let token):
      return refuse(token, at: now)
    case .accepted:
      refusals = 0
      damping.reset()
      return []
    case .configured(let context, let endpoint):
      return configure(context, endpoint, at: now)
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
    let valid = token(at: now.boot)
    isWanted = valid == nil
    if let valid, now.boot < valid.prefetchFrom { return [] }
    guard fetch == nil, now.boot >= earliest else { return [] }
    return ask(at: now)
  }

  private mutating func ask(at now: Moment) -> [Effect] {
    let request: HTTPRequest
    do throws(TokenFailure) {
      request = try endpoint.request(for: context)
    } catch {
      return fail(error, at: now)
    }
    guard let context else { return [] }
    lastID += 1
    limiter.attempted(at: now.boot)
    fetch = Fetch(id: lastID, context: context, deadline: now.boot + request.deadline)
    return [.fetch(id: lastID, request)]
  }

  private mutating func answer(_ id: UInt64, _ outcome: HTTPOutcome, at now: Moment) -> [Effect] {
    guard let under = fetch, under.id == id else { return [] }
    fetch = nil
    switch outcome {
    case .failure(let failure):
      return fail(
        TokenFailure(.transport(failure.kind), "the token provider cannot be reached: \(failure.message)"), at: now)
    case .response(let response):
      do throws(TokenFailure) {
        let token = try endpoint.format.token(from: response, for: under.context, at: now, buildDate: buildDate)
        cached = token
        isWanted = false
        lastFailure = nil
        backoff.reset()
        isAskedToWait = false
        notBefore = now.boot
        return [.obtained(token)]
      } catch {
        let pushback = response.header("retry-after").flatMap { RetryAfter.delay($0, date: response.header("date")) }
        return fail(error, floor: pushback, at: now)
      }
    }
  }

  private mutating func fail(_ failure: TokenFailure, floor: Duration? = nil, at now: Moment) -> [Effect] {
    lastFailure = failure
    isAskedToWait = floor != nil
    // A provider that cannot be reached is cheap to try; one that answers nonsense is left alone for longer.
    let cap: Duration =
      switch failure.reason {
      case .transport: .seconds(10)
      case .status(let status) where status >= 500: .seconds(60)
      default: .seconds(300)
      }
    let wait = backoff.next(
      base: .seconds(2), cap: cap, floor: max(floor ?? .zero, AttemptLimiter.spacing), using: &random)
    notBefore = now.boot + wait
    return [.failed(failure, retry: wait)]
  }

  /// The network came up: at most once in 30 s, and never against the provider's or Fleet Engine's wish.
  private mutating func reset(at now: BootInstant) {
    if let lastKickAt, now - lastKickAt < .seconds(30) { return }
    guard refusals < 2, !isAskedToWait else { return }
    lastKickAt = now
    backoff.reset()
    notBefore = now
  }

  private mutating func refuse(_ token: AccessToken, at now: Moment) -> [Effect] {
    // A request that was under way with the token before says nothing about this one.
    guard cached == token else { return [] }
    cached = nil
    isWanted = true
    isAskedToWait = false
    refusals += 1
    guard refusals >= 2 else {
      notBefore = now.boot
      return []
    }
    let wait = damping.next(base: .seconds(120), cap: .seconds(900), floor: .seconds(60), using: &random)
    notBefore = now.boot + wait
    return [.keepsBeingRefused(retry: wait)]
  }

  private mutating func configure(
    _ context: AuthorizationContext?, _ endpoint: TokenEndpoint, at now: Moment
  ) -> [Effect] {
    let changed = context != self.context || endpoint != self.endpoint
    guard changed else { return [] }
    if context != self.context { cached = nil }
    self.context = context
    self.endpoint = endpoint
    backoff.reset()
    damping.reset()
    refusals = 0
    isAskedToWait = false
    notBefore = now.boot
    lastFailure = nil
    guard let fetch else { return [] }
    self.fetch = nil
    return [.cancelFetch(id: fetch.id)]
  }
}
