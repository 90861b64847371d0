// SPDX-License-Identifier: Apache-2.0
import NMEA
import Positioning
import ExternalInput
package import Timekeeping

/// Reads the receiver of a modem from ModemManager: finds the modem, enables its receiver if necessary, and polls its
/// position once a second.
///
/// ModemManager does not send positions on its own initiative (except to all users of the machine); when asked, it
/// returns the last known ones, whatever their age. `ModemSentences` detects new positions by the times in them. While
/// no fix is needed, ModemManager is not asked.
package struct ModemSession: Sendable {
  /// Events on the bus.
  package enum Input: Equatable, Sendable {
    case start
    /// The connection is established.
    case opened
    /// The connection failed; the text has the cause and the remedy.
    case openFailed(String)
    /// The connection to the bus was closed.
    case ended(String)
    /// Response to `list`.
    case modems([Modem])
    /// Response to `enable`.
    case enabled
    /// Response to `locate`.
    case position(ModemPosition)
    /// An error response to any of the three.
    case refused(Refusal)
    /// A modem was added, removed or changed, or ModemManager was started or stopped.
    case changed
    case deadline
  }

  /// Why ModemManager rejected a request.
  package enum Refusal: Equatable, Sendable {
    /// It is not running.
    case absent
    /// The modem no longer exists.
    case gone
    /// polkit, or the policy of the bus.
    case unauthorized
    /// The modem is not enabled.
    case wrongState
    /// Timeout.
    case silent
    /// Anything else, without ModemManager's text: every local user can read STATUS=.
    case other
  }

  /// What the shell has to do or report. `list`, `enable` and `locate` have a response.
  package enum Effect: Equatable, Sendable {
    /// Connect to the bus.
    case open
    /// List all modems.
    case list
    /// Enable exactly these sources; no signals.
    case enable(path: String, Modem.LocationSources)
    /// Get the position.
    case locate(path: String)
    case report(SourceReport)
  }

  private enum State: Equatable, Sendable {
    /// Not connected; the next attempt is when the gate allows.
    case closed
    case connecting
    case asking(Request)
    /// The next request is due at this time; nil if only a change can cause one.
    case waiting(until: BootInstant?)
  }

  private enum Request: Equatable, Sendable {
    case list
    case enable(Modem, Modem.LocationSources)
    case locate
  }

  /// The modem whose receiver was enabled or is being enabled, its sources, and those that this program enabled.
  private struct EnabledReceiver: Equatable, Sendable {
    var path: String
    var sources: Modem.LocationSources
    var ownSources: Modem.LocationSources
  }

  /// The minimum time between two lists: one change of a modem causes several signals.
  private static let listPeriod = Duration.seconds(1)
  /// The polling period with fixes.
  private static let pollPeriod = Duration.seconds(1)
  /// The polling period without a fix.
  private static let searchPeriod = Duration.seconds(2)
  /// How long no time may be new before new sentences without a time mean that there is no fix: more than a polling
  /// period, and less than the one without a fix.
  private static let untimedDelay = Duration.milliseconds(1500)
  /// How long a receiver without a fix may repeat its sentences: without satellites they may not change.
  private static let untimedTimeout = Duration.seconds(300)
  /// The polling period while the modem is frozen or silent.
  private static let frozenPollPeriod = Duration.seconds(5)
  /// Polling is shifted by this if a response came in the middle of an epoch or just before the next one.
  private static let pollShift = Duration.milliseconds(250)
  /// How often polling is shifted at most while the first position after a suspension of polling is awaited.
  private static let maximumShifts = 8
  /// Retry period without permission: no signal reports that permission was granted.
  private static let permissionRetryPeriod = Duration.seconds(60)
  private static let retryBackoff = Backoff.Bounds.equalJitter(.seconds(1), cap: .seconds(10))

  private let selection: ModemSelection
  private let silenceTimeout: Duration
  private var state = State.closed
  private var gate: RetryGate
  /// The modem that is read.
  private var modem: Modem?
  private var enabledReceiver: EnabledReceiver?
  /// Whether a change was signalled since the last list, which was requested at `listedAt`.
  private var hasUnlistedChange = false
  private var listedAt: BootInstant?
  private var sentences = ModemSentences()
  private var lastRawTime: String?
  private var decoder = NMEADecoder(hasMarkedEnds: true)
  private var sky = SatelliteCountReporter()
  private var askedAt = BootInstant.boot
  /// The time of the last new position, or of a resume after it; initially of the first request.
  private var newPositionAt = BootInstant.boot
  private var repeats = 0
  private var isNeeded = true
  /// Whether no new position has arrived since fixes became needed again.
  private var isCatchingUp = false
  private var wasPartial = false
  /// Whether the last new sentences had no new time.
  private var wasUntimed = false
  private var isReading = false
  /// Whether it was reported that there is no new position.
  private var isStuck = false
  private var problem: String?

  /// - Parameters:
  ///   - selection: the modem to use.
  ///   - silenceTimeout: how long a modem may be frozen or silent.
  ///   - seed: for the jitter of retries.
  package init(selection: ModemSelection, silenceTimeout: Duration, seed: UInt64) {
    self.selection = selection
    self.silenceTimeout = silenceTimeout
    gate = RetryGate(seed: seed)
  }

  /// When to handle `deadline`; nil while waiting for a response, a connection or a change.
  package var nextDeadline: BootInstant? {
    switch state {
    case .closed: gate.notBefore
    case .waiting(let time): hasUnlistedChange ? min(time ?? nextList, nextList) : time
    case .connecting, .asking: nil
    }
  }

  /// At the end: disables what this program enabled, and nothing else.
  package var releaseEffect: Effect? {
    guard let enabledReceiver, !enabledReceiver.ownSources.isEmpty else { return nil }
    return .enable(path: enabledReceiver.path, enabledReceiver.sources.subtracting(enabledReceiver.ownSources))
  }

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch (input, state) {
    case (.start, .closed):
      state = .connecting
      return [.open]
    case (.deadline, .closed):
      guard now >= gate.notBefore else { return [] }
      state = .connecting
      return [.open]
    case (.opened, .connecting): return ask(.list, at: now)
    case (.openFailed(let why), .connecting): return close(why, at: now)
    case (.ended(let why), _) where state != .closed: return close(why, at: now)
    case (.changed, .waiting):
      hasUnlistedChange = true
      return listIfDue(at: now) ?? []
    case (.changed, .asking):
      hasUnlistedChange = true
      return []
    case (.deadline, .waiting(let time)):
      if let effects = listIfDue(at: now) { return effects }
      guard let time, now >= time else { return [] }
      return ask(modem == nil ? .list : .locate, at: now)
    case (.modems(let modems), .asking(.list)): return choose(among: modems, at: now)
    case (.enabled, .asking(.enable(let modem, _))): return read(modem, at: now)
    case (.position(let position), .asking(.locate)): return handlePosition(position, at: now)
    case (.refused(let refusal), .asking(let request)): return handleRefusal(refusal, request, at: now)
    default: return []
    }
  }

  /// Whether polling is suspended, because the receiver is known and no fix is needed. Changes of the modem are still
  /// noticed.
  private var isPollingSuspended: Bool { !isNeeded && isReading }

  /// The first position after a suspension of polling may be from before it, and only serves to recognize the first new
  /// one.
  package mutating func setNeeded(_ isNeeded: Bool, at now: BootInstant) -> [Effect] {
    let wasSuspended = isPollingSuspended
    self.isNeeded = isNeeded
    guard case .waiting = state else {
      if wasSuspended, isNeeded { expectNewPosition() }
      return []
    }
    if isPollingSuspended { state = .waiting(until: nil) }
    guard wasSuspended, isNeeded else { return [] }
    expectNewPosition()
    return ask(.locate, at: now)
  }

  /// The machine was suspended and has resumed: the time without a new position is counted from now on.
  mutating func resumed(at now: BootInstant) { newPositionAt = now }

  private mutating func expectNewPosition() {
    sentences.forgetTimes()
    (lastRawTime, isCatchingUp) = (nil, true)
  }

  private mutating func ask(_ request: Request, at now: BootInstant) -> [Effect] {
    state = .asking(request)
    switch request {
    case .list:
      hasUnlistedChange = false
      listedAt = now
      return [.list]
    case .enable(let modem, let sources):
      let before = modem.location?.enabled ?? []
      let ownSources = (enabledReceiver?.path == modem.path ? enabledReceiver?.ownSources ?? [] : []).union(
        sources.subtracting(before))
      // Recorded before the response: the program may end, or the response may be lost.
      enabledReceiver = EnabledReceiver(path: modem.path, sources: before.union(sources), ownSources: ownSources)
      return [.enable(path: modem.path, before.union(sources))]
    case .locate:
      askedAt = now
      return [.locate(path: modem?.path ?? "")]
    }
  }

  /// Schedules the next request.
  private mutating func wait(until time: BootInstant?, at now: BootInstant) -> [Effect] {
    state = .waiting(until: isPollingSuspended ? nil : time)
    return listIfDue(at: now) ?? []
  }

  /// When the next list may be requested.
  private var nextList: BootInstant { listedAt.map { $0 + ModemSession.listPeriod } ?? .boot }

  /// - Returns: nil unless there was a change, and the last list was long enough ago.
  private mutating func listIfDue(at now: BootInstant) -> [Effect]? {
    hasUnlistedChange && now >= nextList ? ask(.list, at: now) : nil
  }

  private mutating func choose(among modems: [Modem], at now: BootInstant) -> [Effect] {
    gate.reset()
    if let known = enabledReceiver {
      let enabled = modems.first { $0.path == known.path }?.location?.enabled
      enabledReceiver = enabled.map {
        EnabledReceiver(path: known.path, sources: $0, ownSources: known.ownSources.intersection($0))
      }
    }
    switch selection.step(among: modems, keeping: modem?.path) {
    case .read(let modem): return read(modem, at: now)
    case .enable(let modem, let sources): return ask(.enable(modem, sources), at: now)
    case .wait(let problem): return lose(problem.withAdvice.text, forget: true) + wait(until: nil, at: now)
    }
  }

  private mutating func read(_ modem: Modem, at now: BootInstant) -> [Effect] {
    defer { self.modem = modem }
    guard self.modem?.path == modem.path else {
      forget()
      self.modem = modem
      newPositionAt = now
      return ask(.locate, at: now)
    }
    // The modem was already being polled, and was listed again because of a change.
    return wait(until: max(askedAt + ModemSession.pollPeriod, now), at: now)
  }

  private mutating func handlePosition(_ position: ModemPosition, at now: BootInstant) -> [Effect] {
    guard let modem else { return wait(until: nil, at: now) }
    gate.reset()
    var fixes: [Fix] = []
    var isUntimed = false
    switch examine(position, at: now) {
    case .first:
      // After a pause without a fix the first sentences may be the old ones.
      (repeats, isStuck, wasUntimed, newPositionAt) = (0, false, wasUntimed && isCatchingUp, now)
      return wait(until: askedAt + (isCatchingUp ? ModemSession.pollShift : ModemSession.pollPeriod), at: now)
    case .partial:
      wasPartial = true
      return wait(until: now + ModemSession.pollShift, at: now)
    case .empty: return awaitNewPosition(.silent(modem, for: now - newPositionAt), at: now)
    case .repeated where wasUntimed && now - newPositionAt < ModemSession.untimedTimeout:
      return reportSky(at: now) + wait(until: max(askedAt + ModemSession.searchPeriod, now), at: now)
    case .repeated: return awaitNewPosition(.frozen(modem, for: now - newPositionAt), at: now)
    case .epoch(let bytes):
      decoder.decode(bytes.span, at: now) { fixes.append($0) }
      decoder.finish { fixes.append($0) }
    case .untimed(let bytes):
      // Their age is unknown: only use the satellites in view.
      isUntimed = true
      decoder.decode(bytes.span, at: now) { _ in }
      decoder.finish { _ in }
    case .raw(let fix): fixes.append(fix)
    }
    (repeats, wasPartial, wasUntimed, newPositionAt) = (0, false, isUntimed, now)
    var effects = isReading ? [] : [Effect.report(.reading("\(modem.name), of ModemManager"))]
    (isReading, isStuck, isCatchingUp, problem) = (true, false, false, nil)
    if !fixes.isEmpty { sky.noteFix(at: now) }
    effects += fixes.map { .report(.fix($0)) }
    effects += reportSky(at: now)
    let period = fixes.isEmpty ? ModemSession.searchPeriod : ModemSession.pollPeriod
    return effects + wait(until: max(askedAt + period, now), at: now)
  }

  /// Reports the satellites in view, if their number is new.
  private mutating func reportSky(at now: BootInstant) -> [Effect] {
    sky.report(inView: decoder.satellitesInView, at: now).map { [.report($0)] } ?? []
  }

  /// A response without anything new.
  private mutating func awaitNewPosition(_ problem: ModemProblem, at now: BootInstant) -> [Effect] {
    repeats += 1
    guard now - newPositionAt >= silenceTimeout else {
      let isShifted = isReading && repeats <= (isCatchingUp ? ModemSession.maximumShifts : 1)
      let pause = isShifted ? ModemSession.pollShift : ModemSession.pollPeriod
      return wait(until: max(askedAt + pause, now), at: now)
    }
    defer { isStuck = true }
    return (isStuck ? [] : lose(problem.withAdvice.text, forget: false))
      + wait(until: now + ModemSession.frozenPollPeriod, at: now)
  }

  private enum ResponseKind {
    case first
    case partial
    case empty
    case repeated
    case epoch([UInt8])
    case untimed([UInt8])
    case raw(Fix)
  }

  private mutating func examine(_ position: ModemPosition, at now: BootInstant) -> ResponseKind {
    if let bytes = position.sentences {
      let acceptsUntimed = now - newPositionAt >= ModemSession.untimedDelay
      switch sentences.examine(bytes.span, acceptsPartial: wasPartial, acceptsUntimed: acceptsUntimed) {
      case .first: return .first
      case .repeated: return .repeated
      case .partial: return .partial
      case .epoch(let bytes): return .epoch(bytes)
      case .untimed(let bytes): return .untimed(bytes)
      case .empty: break
      }
    }
    guard let raw = position.raw, let fix = raw.fix else { return .empty }
    defer { lastRawTime = raw.time }
    guard let lastRawTime else { return .first }
    return lastRawTime == raw.time ? .repeated : .raw(fix)
  }

  private mutating func handleRefusal(_ refusal: Refusal, _ request: Request, at now: BootInstant) -> [Effect] {
    switch (refusal, request) {
    case (.absent, _):
      enabledReceiver = nil
      return lose(ModemProblem.noModemManager.withAdvice.text, forget: true) + wait(until: nil, at: now)
    case (.gone, _):
      forget()
      return wait(until: now + gate.failed(ModemSession.retryBackoff, at: now), at: now)
    case (.unauthorized, .enable(let modem, _)):
      enabledReceiver = nil
      if modem.location?.enabled.contains(.raw) == true { return read(modem, at: now) }
      return lose(ModemProblem.mayNotEnable(modem).withAdvice.text, forget: true)
        + wait(until: now + ModemSession.permissionRetryPeriod, at: now)
    case (.unauthorized, _):
      return lose(ModemProblem.mayNotRead.withAdvice.text, forget: true)
        + wait(until: now + ModemSession.permissionRetryPeriod, at: now)
    case (.wrongState, _):
      if case .enable = request { enabledReceiver = nil }
      let modem = if case .enable(let modem, _) = request { Optional(modem) } else { self.modem }
      let text = modem.map { ModemProblem.wrongState($0).withAdvice.text } ?? "the modem is not enabled"
      return lose(text, forget: true) + wait(until: now + ModemSession.permissionRetryPeriod, at: now)
    case (.silent, _):
      return retry("ModemManager does not answer: systemctl status ModemManager", at: now)
    case (.other, .enable(let modem, _)): return retry(ModemProblem.cannotEnable(modem).withAdvice.text, at: now)
    case (.other, _): return retry("ModemManager refuses to answer; see fleet-locationctl doctor", at: now)
    }
  }

  private mutating func retry(_ why: String, at now: BootInstant) -> [Effect] {
    lose(why, forget: true) + wait(until: now + gate.failed(ModemSession.retryBackoff, at: now), at: now)
  }

  private mutating func close(_ why: String, at now: BootInstant) -> [Effect] {
    state = .closed
    enabledReceiver = nil
    _ = gate.failed(ModemSession.retryBackoff, at: now)
    return lose(why, forget: true)
  }

  /// - Parameter forget: whether to select a modem again.
  private mutating func lose(_ why: String, forget forgetsModem: Bool) -> [Effect] {
    if forgetsModem { forget() }
    isReading = false
    guard problem != why else { return [] }
    problem = why
    return [.report(.lost(why))]
  }

  private mutating func forget() {
    modem = nil
    sentences = ModemSentences()
    lastRawTime = nil
    decoder = NMEADecoder(hasMarkedEnds: true)
    sky = SatelliteCountReporter()
    (repeats, wasPartial, wasUntimed, isReading, isStuck, isCatchingUp) = (0, false, false, false, false, false)
  }
}
