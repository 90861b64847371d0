// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import NMEATesting
import Positioning
import Testing
import Timekeeping

struct ModemSessionTests {
  private static let path = "/org/freedesktop/ModemManager1/Modem/0"

  private func modem(enabled: Modem.LocationSources = .nmea, offered: Modem.LocationSources = [.raw, .nmea]) -> Modem {
    var modem = Modem(path: Self.path)
    (modem.manufacturer, modem.model, modem.state) = ("Quectel", "EC25", .enabled)
    modem.location = Modem.Location(offered: offered, enabled: enabled)
    return modem
  }

  private func session(_ selection: ModemSelection = ModemSelection()) -> ModemSession {
    var session = ModemSession(selection: selection, silenceTimeout: .seconds(10), seed: 1)
    expectEqual(session.handle(.start, at: .boot), [.open])
    expectEqual(session.handle(.opened, at: .boot), [.list])
    return session
  }

  /// A session that polls for the first position.
  private func reading() -> ModemSession {
    var session = session()
    expectEqual(session.handle(.modems([modem()]), at: .boot), [.locate(path: Self.path)])
    return session
  }

  /// The sentences of a second, in the arbitrary order in which ModemManager returns them.
  private func sentences(_ second: Int, gga: Int? = nil, valid: Bool = true) -> [String] {
    func time(_ second: Int) -> String { "1200" + (second < 10 ? "0" : "") + "\(second).00" }
    let lines = [
      "GPGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.5,0.9,1.2",
      "GPGGA,\(time(gga ?? second)),4807.038,N,01131.000,E,\(valid ? 1 : 0),08,0.9,545.4,M,46.9,M,,",
      "GPGSV,1,1,03,01,40,083,46,02,17,308,41,12,07,344,39",
      "GPRMC,\(time(second)),\(valid ? "A" : "V"),4807.038,N,01131.000,E,022.4,084.4,230326,,,A",
    ]
    return lines.map(sentence)
  }

  private func answer(_ second: Int, gga: Int? = nil, valid: Bool = true) -> ModemSession.Input {
    .position(ModemPosition(sentences: Array(sentences(second, gga: gga, valid: valid).joined().utf8)))
  }

  private func fixes(_ effects: [ModemSession.Effect]) -> [Fix] {
    effects.compactMap { if case .report(.fix(let fix)) = $0 { fix } else { nil } }
  }

  private func loss(_ effects: [ModemSession.Effect]) -> String? {
    for case .report(.lost(let why)) in effects { return why }
    return nil
  }

  @Test("the position is polled once a second, and the first response, whose age is unknown, is not a fix")
  func poll() throws {
    var session = reading()
    expectNil(session.nextDeadline)
    expectEqual(session.handle(answer(10), at: .boot + .milliseconds(5)), [])
    var now = BootInstant.boot + .seconds(1)
    expectEqual(session.nextDeadline, now)
    expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
    let first = session.handle(answer(11), at: now)
    expectEqual(first.first, .report(.reading("modem 0, Quectel EC25, of ModemManager")))
    let fix = try #require(fixes(first).first)
    expectEqual(fix.timestamp?.rfc3339, "2026-03-23T12:00:11.000Z")
    expectEqual(fix.mode, .threeD)
    expectEqual(fix.altitude, 545.4)
    expectEqual(fix.satellites, 8)
    for second in 12..<15 {
      now = try #require(session.nextDeadline)
      expectEqual(now, .boot + .seconds(second - 10))
      expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
      let effects = session.handle(answer(second), at: now)
      expect(effects.count == 1 && fixes(effects).count == 1)
    }
  }

  @Test("while no fix is needed, the modem is not polled, and its first response afterwards is ignored as outdated")
  func unneeded() throws {
    var session = reading()
    var now = BootInstant.boot
    func need(_ isNeeded: Bool) -> [SourceEffect] {
      session.handle(.needed(isNeeded), at: Moment(boot: now, wall: Timestamp(seconds: 1_800_000_000)))
    }
    // Until its receiver is known, the modem is polled as usual.
    expectEqual(need(false), [])
    _ = session.handle(answer(10), at: now)
    now = try #require(session.nextDeadline)
    _ = session.handle(.deadline, at: now)
    _ = session.handle(answer(11), at: now)
    expectNil(session.nextDeadline)
    // A change of the modem is noticed.
    expectEqual(session.handle(.changed, at: now), [.list])
    expectEqual(session.handle(.modems([modem()]), at: now), [])
    expectNil(session.nextDeadline)

    now = now + .seconds(30)
    expectEqual(need(true), [.line(.modem(.locate(path: Self.path)))])
    let resumed = now
    for second in [41, 41, 41, 42] {
      let effects = session.handle(answer(second), at: now)
      expectEqual(fixes(effects).count, (second == 42 ? 1 : 0))
      now = try #require(session.nextDeadline)
      if second == 41 { expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)]) }
    }
    // The modem is polled 250 ms after each outdated response, and once a second again after the first new one.
    expectEqual(now, resumed + .milliseconds(1750))
  }

  @Test("the response to a request that was sent before a fix was needed again is ignored as outdated")
  func askedUnneeded() throws {
    var session = reading()
    var now = BootInstant.boot
    func need(_ isNeeded: Bool) -> [SourceEffect] {
      session.handle(.needed(isNeeded), at: Moment(boot: now, wall: Timestamp(seconds: 1_800_000_000)))
    }
    for second in 10...11 {
      _ = session.handle(answer(second), at: now)
      now = try #require(session.nextDeadline)
      _ = session.handle(.deadline, at: now)
    }
    expectEqual(need(false), [])
    expectEqual(need(true), [])
    expectEqual(session.handle(answer(12), at: now), [])
    now = try #require(session.nextDeadline)
    _ = session.handle(.deadline, at: now)
    expectEqual(fixes(session.handle(answer(13), at: now)).count, 1)
  }

  @Test(
    "a repeated response does not give a fix twice, and the modem is reported as frozen after the silence timeout"
  )
  func frozen() throws {
    var session = reading()
    _ = session.handle(answer(10), at: .boot)
    var now = BootInstant.boot + .seconds(1)
    _ = session.handle(.deadline, at: now)
    expectEqual(fixes(session.handle(answer(11), at: now)).count, 1)
    var losses: [String] = []
    while now < .boot + .seconds(40) {
      now = try #require(session.nextDeadline)
      expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
      let effects = session.handle(answer(11), at: now)
      expect(fixes(effects).isEmpty)
      if let why = loss(effects) { losses.append(why) }
    }
    expectEqual(losses.count, 1)
    expectEqual(losses.first?.contains("has frozen: ModemManager has repeated the same sentences for 1"), true)
    // The modem is polled less often, and used again as soon as its response changes.
    let pause = try #require(session.nextDeadline) - now
    expectEqual(pause, .seconds(5))
    now = now + pause
    _ = session.handle(.deadline, at: now)
    let back = session.handle(answer(40), at: now)
    expectEqual(back.first, .report(.reading("modem 0, Quectel EC25, of ModemManager")))
    expectEqual(fixes(back).count, 1)
  }

  @Test("after a suspend, the time without a new position is counted from the resume")
  func suspended() throws {
    var session = reading()
    _ = session.handle(answer(10), at: .boot)
    var now = BootInstant.boot + .seconds(1)
    _ = session.handle(.deadline, at: now)
    expectEqual(fixes(session.handle(answer(11), at: now)).count, 1)
    now = now + .seconds(28_800)
    expectEqual(session.handle(.resumed, at: Moment(boot: now, wall: Timestamp(seconds: 1_800_000_000))), [])
    expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
    expectNil(loss(session.handle(answer(11), at: now)))
  }

  @Test("a position that ModemManager stored before the start is never used as a fix")
  func frozenFromTheStart() throws {
    var session = reading()
    var now = BootInstant.boot
    _ = session.handle(answer(10), at: now)
    var effects: [ModemSession.Effect] = []
    while now < .boot + .seconds(12) {
      now = try #require(session.nextDeadline)
      _ = session.handle(.deadline, at: now)
      effects += session.handle(answer(10), at: now)
    }
    expect(fixes(effects).isEmpty)
    expectEqual(loss(effects)?.contains("frozen"), true)
  }

  @Test("an incomplete epoch is requested again after 250 ms, and then used even if it is still incomplete")
  func partial() throws {
    var session = reading()
    _ = session.handle(answer(10), at: .boot)
    var now = BootInstant.boot + .seconds(1)
    _ = session.handle(.deadline, at: now)
    _ = session.handle(answer(11), at: now)
    now = now + .seconds(1)
    _ = session.handle(.deadline, at: now)
    expectEqual(session.handle(answer(12, gga: 11), at: now), [])
    now = now + .milliseconds(250)
    expectEqual(session.nextDeadline, now)
    _ = session.handle(.deadline, at: now)
    let whole = fixes(session.handle(answer(12), at: now))
    expect(whole.count == 1 && whole.first?.satellites == 8)
    // From now on the modem is polled at this moment of each second.
    now = now + .seconds(1)
    expectEqual(session.nextDeadline, now)
    _ = session.handle(.deadline, at: now)
    expectEqual(session.handle(answer(13, gga: 12), at: now), [])
    now = now + .milliseconds(250)
    _ = session.handle(.deadline, at: now)
    expectEqual(
      fixes(session.handle(answer(13, gga: 12), at: now)).map(\.timestamp?.rfc3339), ["2026-03-23T12:00:13.000Z"])
  }

  @Test("a complete epoch is used with all its sentences, even after incomplete epochs")
  func wholeAfterPartial() throws {
    func answer(_ second: Int, motionOf other: Int) -> ModemSession.Input {
      let lines = [
        "GPGGA,1200\(second).00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
        "GPRMC,1200\(other).00,A,4807.038,N,01131.000,E,022.4,084.4,230326,,,A",
      ]
      return .position(ModemPosition(sentences: Array(lines.map(sentence).joined().utf8)))
    }
    var session = reading()
    _ = session.handle(answer(10, motionOf: 10), at: .boot)
    var hasSpeed: [Bool] = []
    for (second, other) in [(11, 10), (12, 10), (13, 10), (14, 10), (15, 15)] {
      let now = try #require(session.nextDeadline)
      _ = session.handle(.deadline, at: now)
      hasSpeed += fixes(session.handle(answer(second, motionOf: other), at: now)).map { $0.speed != nil }
    }
    // The rest of the first incomplete epoch was awaited, but did not arrive.
    expectEqual(hasSpeed, [false, false, false, true])
  }

  @Test("a stored sentence without a time is not used together with a timed epoch")
  func untimedBesideEpoch() throws {
    func answer(_ second: Int) -> ModemSession.Input {
      let lines = [
        "GPGGA,1200\(second).00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
        "GNGGA,,4907.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,",
      ]
      return .position(ModemPosition(sentences: Array(lines.map(sentence).joined().utf8)))
    }
    var session = reading()
    _ = session.handle(answer(10), at: .boot)
    for second in 11..<16 {
      let now = try #require(session.nextDeadline)
      _ = session.handle(.deadline, at: now)
      let fixes = fixes(session.handle(answer(second), at: now))
      expect(fixes.count == 1 && fixes.allSatisfy { $0.time != nil && $0.coordinate.latitude < 49 })
    }
  }

  @Test(
    "a modem that loses its fix is not reported as frozen because ModemManager still has an old sentence with a time",
    arguments: ["GN", "GP"])
  func lostFix(talkerWithoutFix: String) throws {
    func answer(_ lines: [String]) -> ModemSession.Input {
      .position(ModemPosition(sentences: Array(lines.map(sentence).joined().utf8)))
    }
    func motion(_ second: Int, _ talker: String) -> String {
      "\(talker)RMC,1200\(second).00,A,4807.038,N,01131.000,E,022.4,084.4,230326,,,A"
    }
    var session = reading()
    var now = BootInstant.boot
    var effects: [ModemSession.Effect] = []
    var pauses: [Duration] = []
    func respond(_ lines: [String]) throws {
      effects += session.handle(answer(lines), at: now)
      let next = try #require(session.nextDeadline)
      pauses.append(next - now)
      now = next
      expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
    }
    let old = motion(11, "GP")
    try respond([motion(10, "GP")])
    try respond([old])
    // An epoch with fewer types of sentences is requested again.
    for second in [12, 12, 13] { try respond([old, motion(second, "GN")]) }
    expectEqual(fixes(effects).count, 3)

    // In a garage.
    (effects, pauses) = ([], [])
    var start = now
    let kept = talkerWithoutFix == "GN" ? old : motion(13, "GN")
    let void = ["GNGSA,A,1,,,,,,,,,,,,,,,", kept, "\(talkerWithoutFix)RMC,,V,,,,,,,,,,N"]
    while now < start + .seconds(60) {
      // The signals fade; then only an azimuth changes now and then.
      let (azimuth, signal) = (10 + pauses.count / 16, max(20 - 5 * pauses.count, 0))
      try respond(void + ["GPGSV,1,1,02,01,40,0\(azimuth),\(signal),02,17,308,"])
    }
    expectNil(loss(effects))
    expect(fixes(effects).isEmpty)
    expect(effects.contains(.report(.sky(inView: 2))))
    expect(pauses.dropFirst(2).allSatisfy { $0 == .seconds(2) }, "\(pauses)")

    // After a pause, although nothing changes.
    effects = session.setNeeded(false, at: now) + session.setNeeded(true, at: now)
    start = now
    while now < start + .seconds(60) { try respond(void) }
    expectNil(loss(effects))

    // A modem that has frozen without a fix.
    effects = []
    start = now
    while now < start + .seconds(600) { try respond(void) }
    let losses = effects.compactMap { loss([$0]) }
    expectEqual(losses.count, 1)
    expectEqual(losses.first?.contains("has frozen: ModemManager has repeated the same sentences for 30"), true)
  }

  @Test("without a fix the modem is polled less often, and its satellites in view are reported")
  func void() {
    var session = reading()
    _ = session.handle(answer(10, valid: false), at: .boot)
    let now = BootInstant.boot + .seconds(1)
    _ = session.handle(.deadline, at: now)
    expectEqual(
      session.handle(answer(11, valid: false), at: now),
      [
        .report(.reading("modem 0, Quectel EC25, of ModemManager")), .report(.sky(inView: 3)),
      ])
    expectEqual(session.nextDeadline, now + .seconds(2))
  }

  @Test(
    "a receiver that is off is switched on, and off again at the end; the modem's other location sources stay unchanged"
  )
  func enable() {
    let cells = Modem.LocationSources(rawValue: 1)
    var session = session()
    expectNil(session.releaseEffect)
    expectEqual(
      session.handle(.modems([modem(enabled: cells, offered: [cells, .raw, .nmea])]), at: .boot),
      [
        .enable(path: Self.path, [cells, .raw, .nmea])
      ])
    expectEqual(session.handle(.enabled, at: .boot), [.locate(path: Self.path)])
    expectEqual(session.releaseEffect, .enable(path: Self.path, cells))
    // The modem is gone, so there is no receiver to switch off.
    _ = session.handle(answer(1), at: .boot)
    expectEqual(session.handle(.changed, at: .boot + .seconds(1)), [.list])
    _ = session.handle(.modems([]), at: .boot)
    expectNil(session.releaseEffect)
  }

  @Test("a receiver is switched off at the end even if the response to switching it on is pending or lost")
  func unanswered() {
    var session = session()
    _ = session.handle(.modems([modem(enabled: [])]), at: .boot)
    let off = ModemSession.Effect.enable(path: Self.path, [])
    expectEqual(session.releaseEffect, off)
    expectEqual(loss(session.handle(.refused(.silent), at: .boot))?.contains("does not answer"), true)
    expectEqual(session.releaseEffect, off)
    expectEqual(session.handle(.deadline, at: .boot + .seconds(1)), [.list])
    _ = session.handle(.modems([modem(enabled: [.raw, .nmea])]), at: .boot + .seconds(1))
    expectEqual(session.releaseEffect, off)
  }

  @Test("a receiver that ModemManager refuses to switch on is not switched off at the end", arguments: [false, true])
  func refusedToEnable(isUnauthorized: Bool) {
    var session = session()
    _ = session.handle(.modems([modem(enabled: [])]), at: .boot)
    let effects = session.handle(.refused(isUnauthorized ? .unauthorized : .wrongState), at: .boot)
    expectEqual(loss(effects)?.contains(isUnauthorized ? "may not switch it on" : "is not enabled; enable it"), true)
    expectNil(session.releaseEffect)
  }

  @Test("if ModemManager fails to switch on a receiver, this is retried, and the message says where to find the cause")
  func cannotEnable() throws {
    var session = session()
    _ = session.handle(.modems([modem(enabled: [])]), at: .boot)
    let why = loss(session.handle(.refused(.other), at: .boot))
    expectEqual(
      why?.contains("cannot switch the receiver of modem 0, Quectel EC25 on; see why: sudo fleet-locationctl"), true)
    expect(try #require(session.nextDeadline) <= .boot + .seconds(1))
  }

  @Test("a position without a time is not a fix, because its age is unknown")
  func untimed() throws {
    var session = reading()
    let body = "GPRMC,,A,4807.038,N,01131.000,E,022.4,084.4,230326,,,A"
    for _ in 0..<3 {
      let effects = session.handle(
        .position(ModemPosition(sentences: Array(sentence(body).utf8))), at: session.nextDeadline ?? .boot)
      expect(fixes(effects).isEmpty)
      _ = session.handle(.deadline, at: try #require(session.nextDeadline))
    }
  }

  @Test("a modem without any sentence is reported as silent, not as frozen")
  func silent() throws {
    var session = reading()
    _ = session.handle(answer(10), at: .boot)
    var effects: [ModemSession.Effect] = []
    for _ in 0..<12 {
      let now = try #require(session.nextDeadline)
      _ = session.handle(.deadline, at: now)
      effects += session.handle(.position(ModemPosition(sentences: [])), at: now)
    }
    expectEqual(loss(effects)?.contains("has sent no sentence for 10 s"), true)
  }

  @Test("a receiver that another program has switched on stays on")
  func notOurs() {
    var session = reading()
    _ = session.handle(answer(1), at: .boot)
    expectNil(session.releaseEffect)
  }

  @Test(
    "if polkit forbids switching the receiver on, this is reported once, and retried every minute and on changes")
  func polkitDenial() throws {
    var session = session()
    _ = session.handle(.modems([modem(enabled: [])]), at: .boot)
    let effects = session.handle(.refused(.unauthorized), at: .boot)
    expectEqual(
      loss(effects)?.contains(
        "is off, and this user may not switch it on; switch it on: sudo fleet-locationctl modem enable"), true)
    expectEqual(session.nextDeadline, .boot + .seconds(60))
    expectEqual(session.handle(.deadline, at: .boot + .seconds(60)), [.list])
    _ = session.handle(.modems([modem(enabled: [])]), at: .boot + .seconds(60))
    expectEqual(session.handle(.refused(.unauthorized), at: .boot + .seconds(60)), [])
    // Root has switched it on.
    expectEqual(session.handle(.changed, at: .boot + .seconds(70)), [.list])
    expectEqual(session.handle(.modems([modem()]), at: .boot + .seconds(70)), [.locate(path: Self.path)])
    // The right to read positions is missing too.
    let refused = session.handle(.refused(.unauthorized), at: .boot + .seconds(70))
    expectEqual(loss(refused)?.contains("ModemManager1.Location"), true)
  }

  @Test("while ModemManager or a modem is missing, nothing is polled, and each signal causes a new list of modems")
  func absent() {
    var session = session()
    expectEqual(loss(session.handle(.refused(.absent), at: .boot))?.contains("ModemManager is not running"), true)
    expectNil(session.nextDeadline)
    expectEqual(session.handle(.changed, at: .boot + .seconds(1)), [.list])
    expectEqual(loss(session.handle(.modems([]), at: .boot + .seconds(1)))?.contains("ModemManager has no modem"), true)
    expectNil(session.nextDeadline)
    expectEqual(session.handle(.changed, at: .boot + .seconds(2)), [.list])
    expectEqual(session.handle(.modems([modem()]), at: .boot + .seconds(2)), [.locate(path: Self.path)])
    // A signal during a call is handled after its response.
    expectEqual(session.handle(.changed, at: .boot + .seconds(2)), [])
    expectEqual(session.handle(answer(1), at: .boot + .seconds(3)), [.list])
    // No position was read yet, so there is nothing new to report.
    expectEqual(session.handle(.modems([]), at: .boot + .seconds(3)), [])
  }

  @Test("a storm of signals causes one listing of modems per second, and the last change is noticed")
  func storm() throws {
    var session = session()
    var lists: [BootInstant] = []
    _ = session.handle(.modems([]), at: .boot)
    for step in 0...10_000 {
      let now = BootInstant.boot + .milliseconds(step)
      var effects: [ModemSession.Effect] = []
      if let deadline = session.nextDeadline, deadline <= now { effects += session.handle(.deadline, at: now) }
      effects += session.handle(.changed, at: now)
      guard effects.contains(.list) else { continue }
      lists.append(now)
      _ = session.handle(.modems([]), at: now)
    }
    expectEqual(lists, (1...10).map { .boot + .seconds($0) })
    let last = try #require(session.nextDeadline)
    expectEqual(last, .boot + .seconds(11))
    expectEqual(session.handle(.deadline, at: last), [.list])
    _ = session.handle(.modems([]), at: last)
    expectNil(session.nextDeadline)
  }

  @Test("signals do not delay the polling of a modem")
  func stormWhilePolling() {
    var session = reading()
    _ = session.handle(answer(1), at: .boot)
    var (lists, positions) = (0, 0)
    for step in 0...10_000 {
      let now = BootInstant.boot + .milliseconds(step)
      var effects: [ModemSession.Effect] = []
      if let deadline = session.nextDeadline, deadline <= now { effects += session.handle(.deadline, at: now) }
      effects += session.handle(.changed, at: now)
      while !effects.isEmpty {
        switch effects.removeFirst() {
        case .list:
          lists += 1
          effects += session.handle(.modems([modem()]), at: now)
        case .locate:
          positions += 1
          effects += session.handle(answer(positions), at: now)
        default: break
        }
      }
    }
    expect((9...11).contains(lists) && (9...11).contains(positions), "\(lists) lists, \(positions) positions")
  }

  @Test("if a modem disappears between two calls, the modems are listed again")
  func gone() throws {
    var session = reading()
    expectEqual(session.handle(.refused(.gone), at: .boot), [])
    let retry = try #require(session.nextDeadline)
    expect(retry <= .boot + .seconds(1))
    expectEqual(session.handle(.deadline, at: retry), [.list])
  }

  @Test("a bus connection that closes is reopened, with growing waits of at most 10 s between attempts")
  func bus() throws {
    var session = reading()
    expectEqual(loss(session.handle(.ended("closed"), at: .boot)), "closed")
    var now = try #require(session.nextDeadline)
    var waits: [Duration] = []
    for _ in 0..<8 {
      expectEqual(session.handle(.deadline, at: now), [.open])
      _ = session.handle(.openFailed("no bus"), at: now)
      let next = try #require(session.nextDeadline)
      waits.append(next - now)
      now = next
    }
    expect(waits.allSatisfy { $0 > .zero && $0 <= .seconds(10) })
    expect(waits[0] <= .seconds(2) && waits[7] >= .seconds(5))
  }

  @Test("a bus that accepts each connection and closes it is reconnected with growing waits")
  func closingBus() throws {
    var session = session()
    var now = BootInstant.boot
    var waits: [Duration] = []
    for _ in 0..<8 {
      _ = session.handle(.ended("closed"), at: now)
      let next = try #require(session.nextDeadline)
      waits.append(next - now)
      now = next
      expectEqual(session.handle(.deadline, at: now), [.open])
      expectEqual(session.handle(.opened, at: now), [.list])
    }
    expect(waits[0] <= .seconds(2) && waits[7] >= .seconds(5), "\(waits)")
  }

  @Test("for a modem without NMEA sentences, its numeric position is used, once for each timestamp")
  func raw() throws {
    var session = session()
    _ = session.handle(.modems([modem(enabled: .raw, offered: .raw)]), at: .boot)
    func answer(_ time: String, altitude: Double? = 500) -> ModemSession.Input {
      .position(ModemPosition(raw: .init(time: time, latitude: 48, longitude: 11, altitude: altitude)))
    }
    expectEqual(session.handle(answer("120000.00"), at: .boot), [])
    var now = BootInstant.boot + .seconds(1)
    _ = session.handle(.deadline, at: now)
    let fix = try #require(fixes(session.handle(answer("120001.00"), at: now)).first)
    expectEqual(fix.time, .ofDay(milliseconds: 43_201_000))
    expectEqual(fix.altitude, 500)
    now = try #require(session.nextDeadline)
    _ = session.handle(.deadline, at: now)
    expect(fixes(session.handle(answer("120001.00"), at: now)).isEmpty)
    // ModemManager writes this number for an unknown altitude.
    now = try #require(session.nextDeadline)
    _ = session.handle(.deadline, at: now)
    let flat = fixes(session.handle(answer("120002.00", altitude: -1.7976931348623157e308), at: now))
    expect(flat.count == 1 && flat.first?.altitude == nil)
  }

  @Test("a malformed response neither crashes the session nor gives a fix", arguments: 0..<200)
  func noise(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var session = reading()
    var now = BootInstant.boot
    for second in 10..<30 {
      // Each sentence has a wrong byte or more; with none this would be a fix a second.
      let bytes = sentences(second).flatMap { sentence in
        var bytes = Array(sentence.utf8)
        for _ in 0...Int.random(in: 0...15, using: &random) {
          bytes[Int.random(in: 0..<bytes.count - 2, using: &random)] ^= UInt8.random(in: 1 ... .max, using: &random)
        }
        return bytes
      }
      let raw = ModemPosition.Raw(
        time: "999999999999999999999", latitude: .infinity, longitude: 1e308, altitude: .nan)
      let effects = session.handle(.position(ModemPosition(sentences: bytes, raw: raw)), at: now)
      expect(fixes(effects).isEmpty)
      now = try #require(session.nextDeadline)
      expectEqual(session.handle(.deadline, at: now), [.locate(path: Self.path)])
    }
  }
}
