// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Reads the receiver of a modem that ModemManager has: finds the modem, switches its receiver on where it is off, and asks for
/// its position once a second.
///
/// ModemManager sends no positions by itself (unless to every user of the machine), and answers with what it has, however old.
/// `ModemSentences` decides what is new by the times in it.
package struct ModemSession: Sendable {
  /// What happens on the bus.
  package enum Input: Equatable, Sendable {
    case start
    case connected
    /// There is no bus; the text says why and what to do.
    case connectFailed(String)
    /// The connection to the bus has ended by itself.
    case ended(String)
    /// Answers `list`.
    case modems([Modem])
    /// Answers `enable`.
    case enabled
    /// Answers `locate`.
    case position(ModemPosition)
    /// Answers any of the three.
    case refused(Refusal)
    /// A modem has come, gone or changed, or ModemManager itself has.
    case changed
    case deadline
  }

  /// Why ModemManager does not do what it is asked.
  package enum Refusal: Equatable, Sendable {
    /// It does not run.
    case absent
    /// It has no such modem any more.
    case gone
    /// polkit, or the policy of the bus.
    case unauthorized
    /// The modem is not enabled.
    case wrongState
    /// No answer came in time.
    case silent
    /// Anything else, without its words: every local user reads STATUS=.
    case other
  }

  /// What the shell is to do, or to report. After `list`, `enable` and `locate` comes an answer.
  package enum Effect: Equatable, Sendable {
    case connect
    /// Ask for all modems.
    case list
    /// Have the modem gather these, and nothing else; no signals.
    case enable(path: String, Modem.LocationSources)
    /// Ask for the position.
    case locate(path: String)
    case report(SourceReport)
  }

  private enum State: Equatable, Sendable {
    /// There is no connection; the next try is when the gate allows.
    case closed
    case connecting
    case asking(Question)
    /// The next question is due then; nil when only news can bring one.
    case waiting(until: BootInstant?)
  }

  private enum Question: Equatable, Sendable {
    case list
    case enable(Modem, Modem.LocationSources)
    case locate
  }

  /// The modem whose receiver is being switched on or was, and what of it is on by this program's doing.
  private struct Enabled: Equatable, Sendable {
    var path: String
    var sources: Modem.LocationSources
    var own: Modem.LocationSources
  }

  /// The time between questions while there are fixes.
  private static let period = Duration.seconds(1)
  /// The same while there is none.
  private static let searchPeriod = Duration.seconds(2)
  /// The same while the modem repeats itself or says nothing.
  private static let frozenPeriod = Duration.seconds(5)
  /// When an answer came in the middle of an epoch, or just before the next: a little later is the better moment, from then on too.
  private static let shift = Duration.milliseconds(250)
  /// No signal reports that a right was granted.
  private static let rightsPeriod = Duration.seconds(60)
  private static let retry = Backoff.Bounds.atLeastHalf(.seconds(1), cap: .seconds(10))

  private let selection: ModemSelection
  private let silenceTimeout: Duration
  private var state = State.closed
  private var gate: RetryGate
  /// That which is read.
  private var modem: Modem?
  private var switchedOn: Enabled?
  private var hasNews = false
  private var sentences = ModemSentences()
  private var lastRawTime: String?
  private var decoder = NMEADecoder()
  private var sky = SkyNotice()
  private var askedAt = BootInstant.boot
  /// When the modem last said something new; at first, when it was first asked.
  private var newsAt = BootInstant.boot
  private var repeats = 0
  private var isPartial = false
  private var isReading = false
  /// It has been reported that nothing new comes.
  private var isStuck = false
  private var trouble: String?

  /// - Parameters:
  ///   - selection: which modem is meant.
  ///   - silenceTimeout: how long a modem may repeat itself or say nothing.
  ///   - seed: of the jitter of retries.
  package init(selection: ModemSelection, silenceTimeout: Duration, seed: UInt64) {
    self.selection = selection
    self.silenceTimeout = silenceTimeout
    gate = RetryGate(seed: seed)
  }

  /// When `deadline` is due; nil while an answer, a connection or news are waited for.
  package var nextDeadline: BootInstant? {
    switch state {
    case .closed: gate.notBefore
    case .waiting(let time): time
    case .connecting, .asking: nil
    }
  }

  /// What is to be switched back at the end: what was switched on by this program, and nothing else.
  package var release: Effect? {
    guard let switchedOn, !switchedOn.own.isEmpty else { return nil }
    return .enable(path: switchedOn.path, switchedOn.sources.subtracting(switchedOn.own))
  }

  /// Takes what happened, and returns what is to be done, in this order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    switch (input, state) {
    case (.start, .closed):
      state = .connecting
      return [.connect]
    case (.deadline, .closed):
      guard now >= gate.notBefore else { return [] }
      state = .connecting
      return [.connect]
    case (.connected, .connecting):
      gate.reset()
      return ask(.list, at: now)
    case (.connectFailed(let why), .connecting): return close(why, at: now)
    case (.ended(let why), _) where state != .closed: return close(why, at: now)
    case (.changed, .waiting): return ask(.list, at: now)
    case (.changed, .asking):
      hasNews = true
      return []
    case (.deadline, .waiting(let time?)) where now >= time: return ask(modem == nil ? .list : .locate, at: now)
    case (.modems(let modems), .asking(.list)): return choose(among: modems, at: now)
    case (.enabled, .asking(.enable(let modem, _))): return read(modem, at: now)
    case (.position(let position), .asking(.locate)): return take(position, at: now)
    case (.refused(let refusal), .asking(let question)): return refused(refusal, question, at: now)
    default: return []
    }
  }

  private mutating func ask(_ question: Question, at now: BootInstant) -> [Effect] {
    state = .asking(question)
    switch question {
    case .list:
      hasNews = false
      return [.list]
    case .enable(let modem, let sources):
      let before = modem.location?.enabled ?? []
      let own = (switchedOn?.path == modem.path ? switchedOn?.own ?? [] : []).union(sources.subtracting(before))
      // From now on: the end may come, or the answer be lost, before it is known to be on.
      switchedOn = Enabled(path: modem.path, sources: before.union(sources), own: own)
      return [.enable(path: modem.path, before.union(sources))]
    case .locate:
      askedAt = now
      return [.locate(path: modem?.path ?? "")]
    }
  }

  /// The answer is dealt with, and the next question is due then.
  private mutating func wait(until time: BootInstant?, at now: BootInstant) -> [Effect] {
    state = .waiting(until: time)
    return hasNews ? ask(.list, at: now) : []
  }

  private mutating func choose(among modems: [Modem], at now: BootInstant) -> [Effect] {
    gate.reset()
    if let known = switchedOn {
      let enabled = modems.first { $0.path == known.path }?.location?.enabled
      switchedOn = enabled.map { Enabled(path: known.path, sources: $0, own: known.own.intersection($0)) }
    }
    switch selection.step(among: modems, keeping: modem?.path) {
    case .read(let modem): return read(modem, at: now)
    case .enable(let modem, let sources): return ask(.enable(modem, sources), at: now)
    case .wait(let trouble): return lose(trouble.text, forget: true, at: now) + wait(until: nil, at: now)
    }
  }

  private mutating func read(_ modem: Modem, at now: BootInstant) -> [Effect] {
    defer { self.modem = modem }
    guard self.modem?.path == modem.path else {
      forget()
      self.modem = modem
      newsAt = now
      return ask(.locate, at: now)
    }
    // It was asked for news in between.
    return wait(until: max(askedAt + ModemSession.period, now), at: now)
  }

  private mutating func take(_ position: ModemPosition, at now: BootInstant) -> [Effect] {
    guard let modem else { return wait(until: nil, at: now) }
    gate.reset()
    var fixes: [Fix] = []
    switch examine(position) {
    case .first:
      (repeats, isStuck, newsAt) = (0, false, now)
      return wait(until: askedAt + ModemSession.period, at: now)
    case .partial:
      isPartial = true
      return wait(until: now + ModemSession.shift, at: now)
    case .empty: return stay(.silent(modem, for: now - newsAt), at: now)
    case .repeated: return stay(.frozen(modem, for: now - newsAt), at: now)
    case .epoch(let bytes):
      decoder.decode(bytes.span, at: now) { fixes.append($0) }
      decoder.finish { fixes.append($0) }
    case .untimed(let bytes):
      // Nothing says how old they are: of use for the satellites in view only.
      decoder.decode(bytes.span, at: now) { _ in }
      decoder.finish { _ in }
    case .raw(let fix): fixes.append(fix)
    }
    (repeats, isPartial, newsAt) = (0, false, now)
    var effects = isReading ? [] : [Effect.report(.reading("\(modem.name), of ModemManager"))]
    (isReading, isStuck, trouble) = (true, false, nil)
    if !fixes.isEmpty { sky.hasFix(at: now) }
    effects += fixes.map { .report(.fix($0)) }
    if let report = sky.satellites(inView: decoder.satellitesInView, at: now) { effects.append(.report(report)) }
    let period = fixes.isEmpty ? ModemSession.searchPeriod : ModemSession.period
    return effects + wait(until: max(askedAt + period, now), at: now)
  }

  /// An answer brought nothing new.
  private mutating func stay(_ trouble: ModemTrouble, at now: BootInstant) -> [Effect] {
    repeats += 1
    guard now - newsAt >= silenceTimeout else {
      let pause = repeats == 1 && isReading ? ModemSession.shift : ModemSession.period
      return wait(until: max(askedAt + pause, now), at: now)
    }
    defer { isStuck = true }
    return (isStuck ? [] : lose(trouble.text, forget: false, at: now))
      + wait(until: now + ModemSession.frozenPeriod, at: now)
  }

  private enum News {
    case first
    case partial
    case empty
    case repeated
    case epoch([UInt8])
    case untimed([UInt8])
    case raw(Fix)
  }

  private mutating func examine(_ position: ModemPosition) -> News {
    if let bytes = position.sentences {
      switch sentences.examine(bytes.span, isComplete: isPartial) {
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

  private mutating func refused(_ refusal: Refusal, _ question: Question, at now: BootInstant) -> [Effect] {
    switch (refusal, question) {
    case (.absent, _):
      switchedOn = nil
      return lose(ModemTrouble.noModemManager.text, forget: true, at: now) + wait(until: nil, at: now)
    case (.gone, _):
      forget()
      return wait(until: now + gate.failed(ModemSession.retry, at: now), at: now)
    case (.unauthorized, .enable(let modem, _)):
      switchedOn = nil
      if modem.location?.enabled.contains(.raw) == true { return read(modem, at: now) }
      return lose(ModemTrouble.mayNotEnable(modem).text, forget: true, at: now)
        + wait(until: now + ModemSession.rightsPeriod, at: now)
    case (.unauthorized, _):
      return lose(ModemTrouble.mayNotRead.text, forget: true, at: now)
        + wait(until: now + ModemSession.rightsPeriod, at: now)
    case (.wrongState, _):
      if case .enable = question { switchedOn = nil }
      let modem = if case .enable(let modem, _) = question { Optional(modem) } else { self.modem }
      let text = modem.map { ModemTrouble.wrongState($0).text } ?? "the modem is not enabled"
      return lose(text, forget: true, at: now) + wait(until: now + ModemSession.rightsPeriod, at: now)
    case (.silent, _):
      return retry("ModemManager does not answer: systemctl status ModemManager", at: now)
    case (.other, .enable(let modem, _)): return retry(ModemTrouble.cannotEnable(modem).text, at: now)
    case (.other, _): return retry("ModemManager refuses to answer; see fleet-locationctl doctor", at: now)
    }
  }

  private mutating func retry(_ why: String, at now: BootInstant) -> [Effect] {
    lose(why, forget: true, at: now) + wait(until: now + gate.failed(ModemSession.retry, at: now), at: now)
  }

  private mutating func close(_ why: String, at now: BootInstant) -> [Effect] {
    state = .closed
    switchedOn = nil
    _ = gate.failed(ModemSession.retry, at: now)
    return lose(why, forget: true, at: now)
  }

  /// - Parameter forget: whether the modem is looked for anew.
  private mutating func lose(_ why: String, forget isGone: Bool, at now: BootInstant) -> [Effect] {
    if isGone { forget() }
    isReading = false
    guard trouble != why else { return [] }
    trouble = why
    return [.report(.lost(why))]
  }

  private mutating func forget() {
    modem = nil
    sentences = ModemSentences()
    lastRawTime = nil
    decoder = NMEADecoder()
    sky = SkyNotice()
    (repeats, isPartial, isReading, isStuck) = (0, false, false, false)
  }
}
