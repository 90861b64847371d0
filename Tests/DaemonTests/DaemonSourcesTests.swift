// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Daemon
import Expectations
import SourceSelection
import Vehicle
import HTTPMessages
import FixSources
import Positioning
import Testing
import Timekeeping

/// The daemon's handling of its sources' sessions and lines.
struct DaemonSourcesTests {
  private struct Settings: SourceIdentity, Equatable {
    var device: String
  }

  /// A source that reads at a deadline, and reports a fix whose time, in seconds, is the first byte.
  private struct Receiver: SourceSession {
    var nextDeadline: BootInstant?
    var lastRequest: ModemRequest?

    mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
      switch input {
      case .start: return [.line(.open())]
      // `senderDisconnected` sets the deadline of the next read, in milliseconds after boot.
      case .senderDisconnected(let time):
        nextDeadline = .boot + .milliseconds(time)
        return []
      case .deadline:
        nextDeadline = nil
        return [.line(.read)]
      case .endOfInput: return [.report(.ended)]
      default: return []
      }
    }

    mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
      guard let coordinate = Coordinate(latitude: 48 + Double(bytes[0]) / 10_000, longitude: 11) else { return [] }
      var fix = Fix(coordinate: coordinate, time: .utc(AgentFixture.start + .seconds(Int(bytes[0]))))
      fix.horizontalAccuracy = 3
      fix.satellites = 9
      fix.speed = 11
      fix.heading = 0
      return [.report(.fix(fix))]
    }
  }

  private var daemon: Daemon

  init() throws {
    daemon = Daemon(
      running: Daemon.Configuration(
        vehicle: try AgentFixture.configuration(), store: StoreAgent.Configuration(), settingsText: nil), seed: 1)
    _ = handle(.start)
  }

  private static func moment(_ milliseconds: Int) -> Moment {
    let elapsed = Duration.milliseconds(milliseconds)
    return Moment(boot: .boot + elapsed, wall: AgentFixture.start + elapsed)
  }

  private mutating func handle(_ input: Daemon.Input, at milliseconds: Int = 0) -> [Daemon.Effect] {
    daemon.handle(input, at: DaemonSourcesTests.moment(milliseconds))
  }

  private mutating func receive(_ second: UInt8, of id: Int = 1, at milliseconds: Int) -> [Daemon.Effect] {
    daemon.receive([second].span, of: id, at: DaemonSourcesTests.moment(milliseconds))
  }

  /// The sources of settings with these devices.
  private func sources(_ devices: String..., isVehicleInUse: Bool = false) -> [Daemon.Source] {
    let settings = devices.map { Settings(device: $0) }
    return zip(settings, daemon.plan(settings, isVehicleInUse: isVehicleInUse)).map { settings, planned in
      Daemon.Source(
        settings,
        SourceSelector.ConfiguredSource(id: planned.id, label: settings.device, silenceTimeout: .seconds(10)),
        session: planned.isNew ? Receiver() : nil)
    }
  }

  private func lines(_ effects: [Daemon.Effect]) -> [String] {
    effects.compactMap { if case .line(let id, let operation) = $0 { "\(id) \(operation)" } else { nil } }
  }

  private var names: [String]? {
    daemon.run?.vehicle.snapshot(at: DaemonSourcesTests.moment(0)).sources.sources.map(\.name)
  }

  @Test("if a read and a report are due at the same time, the report includes the data that was read")
  mutating func readFirst() throws {
    var fixture = try AgentFixture()
    _ = handle(.sources(sources("a")))
    _ = receive(0, at: 0)
    _ = handle(.vehicle(.tokenEnded(id: 1, fixture.token())), at: 100)
    _ = handle(.vehicle(.updateEnded(id: 1, AgentFixture.accepted)), at: 200)
    _ = receive(1, at: 1000)
    var due = try #require(daemon.nextDeadline)
    while due < .boot + .seconds(4) {
      _ = daemon.handle(.deadline, at: Moment(boot: due, wall: AgentFixture.start + (due - .boot)))
      due = try #require(daemon.nextDeadline)
    }
    let milliseconds = Int((due - .boot).inSeconds * 1000)
    try #require(due == .boot + .milliseconds(milliseconds), "\(due)")
    _ = handle(.line(1, .senderDisconnected(milliseconds)), at: 4000)
    expectEqual(handle(.deadline, at: milliseconds), [.line(1, .read)])
    // The report is still due.
    expectEqual(daemon.nextDeadline, due)
    let second = UInt8(milliseconds / 1000)
    let sent = receive(second, at: milliseconds).compactMap { effect in
      if case .sendUpdate(_, let request) = effect { String(decoding: request.body, as: UTF8.self) } else { nil }
    }
    expectEqual(sent.count, 1)
    expectEqual(sent.first?.contains("\(48 + Double(second) / 10_000)"), true)
  }

  @Test(
    "sources are opened in the order of the settings, and closed when new settings do not contain them")
  mutating func replaced() {
    expectEqual(lines(handle(.sources(sources("a", "b")))), ["1 open(baud: nil)", "2 open(baud: nil)"])
    expectEqual(names, ["a", "b"])
    // A remaining source keeps its session and ID, wherever it is in the list.
    expectEqual(lines(handle(.sources(sources("c", "b")))), ["1 end(after: nil)", "3 open(baud: nil)"])
    expectEqual(names, ["c", "b"])
    _ = handle(.line(2, .senderDisconnected(500)))
    expectEqual(handle(.deadline, at: 500), [.line(2, .read)])
    // Two sources with equal settings remain distinct.
    expectEqual(daemon.plan([Settings(device: "b"), Settings(device: "b")]).map(\.isNew), [false, true])
  }

  @Test("a source that has ended is closed at once, and is not opened again by a reload with equal settings")
  mutating func ended() {
    _ = handle(.sources(sources("a", "b")))
    expectEqual(lines(handle(.line(1, .endOfInput))), ["1 end(after: nil)"])
    expectEqual(lines(handle(.line(1, .senderDisconnected(500)))), [])
    expectEqual(lines(handle(.sources(sources("a", "b")))), [])
    expectEqual(lines(handle(.sources(sources("b")))), [])
  }

  @Test("while another process has locked the vehicle, no source is open; each is opened when the vehicle is free")
  mutating func inUse() {
    let holder = VehicleHolder(unit: "other", processID: 7)
    _ = handle(.vehicle(.vehicleLocked(by: holder)))
    expectEqual(lines(handle(.sources(sources("a")))), [])
    expectEqual(names, [])
    expectEqual(lines(handle(.vehicle(.vehicleLocked(by: holder)))), [])
    expectEqual(lines(handle(.vehicle(.vehicleLocked(by: nil)))), ["1 open(baud: nil)"])
    expectEqual(names, ["a"])
    expectEqual(lines(handle(.vehicle(.vehicleLocked(by: nil)))), [])
  }

  @Test("if another process has locked the vehicle of new settings, the sources are closed until the vehicle is free")
  mutating func inUseAfterReload() throws {
    _ = handle(.sources(sources("a")))
    let new = Daemon.Configuration(
      vehicle: try AgentFixture.configuration(vehicle: "truck-2"), store: StoreAgent.Configuration(), settingsText: nil)
    let list = sources("a", isVehicleInUse: true)
    expectEqual(list.map(\.configured.id), [2])
    let effects = handle(.settingsRead(.valid(new, lockedBy: VehicleHolder(unit: "other", processID: 7))))
    expect(effects.contains(.useSettings))
    expectEqual(lines(handle(.sources(list))), ["1 end(after: nil)"])
    // The lines of sources that were created but never opened are released too.
    expectEqual(lines(handle(.sources(sources("b")))), ["2 end(after: nil)"])
    expectEqual(lines(handle(.vehicle(.vehicleLocked(by: nil)))), ["3 open(baud: nil)"])
  }

  @Test("a stop first closes every line; a modem's line is closed after the request that restores the modem")
  mutating func stop() {
    var list = sources("a", "b")
    let request = ModemRequest.enable(path: "/modem", [])
    list[1].session = Receiver(lastRequest: request)
    _ = handle(.sources(list))
    let effects = handle(.vehicle(.stop(within: .seconds(5), signal: "SIGTERM")))
    expect(effects.starts(with: [.line(1, .end(after: nil)), .line(2, .end(after: request))]))
    expectEqual(daemon.run?.lines.isEmpty, true)
    expectEqual(receive(1, at: 100), [])
  }

  @Test("at pace 0, a recording whose fixes are all rejected is read one fix per call, and the next is due at once")
  mutating func rejected() throws {
    let session = ReplaySession(name: "a.nmea", pace: 0, shiftsTimes: false)
    var configured = SourceSelector.ConfiguredSource(id: 1, label: "a.nmea", silenceTimeout: .seconds(10))
    configured.waitsAfterFix = true
    let start = handle(.sources([Daemon.Source(Settings(device: "a.nmea"), configured, session: session)]))
    expectEqual(lines(start), ["1 read"])
    let recording = (0..<40).flatMap { second in
      // These fixes are far too inaccurate.
      let body = "GPGGA,0000\(second < 10 ? "0" : "")\(second),4500.0,N,00100.0,E,1,08,50.0,10,M,,M,,"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8)
    }
    _ = daemon.receive(recording.span, of: 1, at: DaemonSourcesTests.moment(0))
    for count in 1..<39 {
      expectEqual(daemon.run?.vehicle.statistics.fixes, count)
      expectEqual(daemon.nextDeadline, .boot)
      _ = handle(.deadline)
    }
    expectEqual(daemon.run?.vehicle.statistics.accepted, 0)
    expectEqual(daemon.run?.vehicle.statistics.rejected.values.reduce(0, +), daemon.run?.vehicle.statistics.fixes)
  }

  @Test("the watchdog detects a source that has missed its deadline")
  mutating func watchdog() {
    _ = handle(.sources(sources("a")))
    _ = handle(.line(1, .senderDisconnected(500)))
    expect(daemon.isProgressing(at: .boot + .seconds(1)))
    expect(!daemon.isProgressing(at: .boot + .seconds(31)))
  }

  @Test("bytes that complete no sentence do not cause a call of VehicleAgent")
  mutating func noReport() {
    let session = SerialSession(device: "/dev/gps0", baud: 9600, silenceTimeout: .seconds(10), seed: 1)
    let configured = SourceSelector.ConfiguredSource(id: 1, label: "/dev/gps0", silenceTimeout: .seconds(10))
    _ = handle(.sources([Daemon.Source(Settings(device: "a"), configured, session: session)]))
    expectEqual(daemon.run?.wasVehicleCalled, true)
    _ = handle(.line(1, .opened(isTerminal: true)))
    expectEqual(daemon.run?.wasVehicleCalled, false)
    expectEqual(daemon.receive([0x24].span, of: 1, at: DaemonSourcesTests.moment(1)), [.line(1, .pause)])
    expectEqual(daemon.run?.wasVehicleCalled, false)
  }
}
