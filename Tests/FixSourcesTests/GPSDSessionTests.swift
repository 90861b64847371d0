// SPDX-License-Identifier: Apache-2.0
import Expectations
import GPSDTesting
import FixSources
import Testing
import Timekeeping

struct GPSDSessionTests {
  private func connected(isLocal: Bool = true, device: String? = nil) -> GPSDSession {
    var session = GPSDSession(
      address: "localhost:2947", isLocal: isLocal, device: device, silenceTimeout: .seconds(10), seed: 1)
    _ = session.handle(.start, at: .boot)
    _ = session.handle(.opened(), at: .boot)
    return session
  }

  private func loss(_ effects: [SourceEffect]) -> String {
    for case .report(.lost(let why)) in effects { return why }
    return ""
  }

  @Test("The session connects, requests reports, names the receiver, and reports fixes")
  func conversation() {
    var session = GPSDSession(address: "localhost:2947", device: nil, silenceTimeout: .seconds(10), seed: 1)
    expectEqual(session.handle(.start, at: .boot), [.line(.open())])
    expectNil(session.nextDeadline)
    expectEqual(
      session.handle(.opened(), at: .boot), [.line(.send(Array("?WATCH={\"enable\":true,\"json\":true};\n".utf8)))])
    expect(session.receive(GPSDTranscript.greeting, at: .boot).isEmpty)
    let first = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot)
    expectEqual(first.first, .report(.reading("gpsd at localhost:2947, receiver /dev/a, NMEA0183")))
    expectEqual(first.count, 2)
    expectEqual(session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot).count, 1)
  }

  @Test("satellites in view are reported while there is no fix")
  func sky() {
    var session = connected()
    func sky(_ count: Int, _ device: String = "/dev/a") -> [String] {
      [#"{"class":"SKY","device":"\#(device)","nSat":\#(count),"satellites":[]}"#]
    }
    expectEqual(session.receive(sky(7), at: .boot), [.report(.sky(inView: 7))])
    expectEqual(session.receive(sky(7), at: .boot), [])
    _ = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot)
    expectEqual(session.receive(sky(8), at: .boot), [])
    // The satellites of an ignored receiver are not reported.
    expectEqual(session.receive(sky(3, "/dev/b"), at: .boot + .seconds(20)), [])
    expect(session.receive(sky(8), at: .boot + .seconds(20)).contains(.report(.sky(inView: 8))))
  }

  @Test(
    "A receiver is requested by name if its name is safe and short enough for a command",
    arguments: [
      ("/dev/ttyUSB0", #"?WATCH={"enable":true,"json":true,"device":"/dev/ttyUSB0"};"#),
      (
        "/dev/serial/by-id/usb-u-blox_AG_-_www.u-blox.com_u-blox_GNSS_receiver-if00",
        #"?WATCH={"enable":true,"json":true};"#
      ),
      (#"/dev/"};?DEVICES"#, #"?WATCH={"enable":true,"json":true};"#),
    ])
  func command(device: String, command: String) {
    var session = GPSDSession(address: "localhost:2947", device: device, silenceTimeout: .seconds(10), seed: 1)
    _ = session.handle(.start, at: .boot)
    expectEqual(session.handle(.opened(), at: .boot), [.line(.send(Array((command + "\n").utf8)))])
    expect(command.utf8.count <= 80)
  }

  @Test("Connecting to a gpsd that is not running is retried with a backoff, which a working connection resets")
  func retries() {
    var session = GPSDSession(address: "localhost:2947", device: nil, silenceTimeout: .seconds(10), seed: 1)
    var now = BootInstant.boot
    _ = session.handle(.start, at: now)
    var waits: [Duration] = []
    for _ in 0..<6 {
      expectEqual(session.handle(.openFailed("no"), at: now), [.report(.lost("no"))])
      let deadline = session.nextDeadline ?? now
      waits.append(deadline - now)
      expect(session.handle(.deadline, at: now).isEmpty)
      now = deadline
      expectEqual(session.handle(.deadline, at: now), [.line(.open())])
    }
    for (wait, bound) in zip(waits, [1, 2, 4, 8, 10, 10]) {
      expect(wait > .milliseconds(500 * bound) && wait < .seconds(bound))
    }
    _ = session.handle(.opened(), at: now)
    _ = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: now)
    expectEqual(session.handle(.ended("gone"), at: now), [.report(.lost("gone"))])
    expectEqual(session.nextDeadline.map { $0 - now <= .seconds(1) }, true)
  }

  @Test(
    "A connection that gives no reports of the receiver is closed, and the reason is reported",
    arguments: [
      ([], nil, "may not be gpsd"), (["SSH-2.0-OpenSSH_9.2"], nil, "not as gpsd does"),
      (
        [
          #"{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}"#,
          #"{"class":"DEVICES","devices":[]}"#,
        ], nil, "gpsdctl add"
      ),
      (GPSDTranscript.greeting, nil, "check the receiver"),
      (
        GPSDTranscript.greeting + [GPSDTranscript.tpv("/dev/a", 1)], "/dev/b",
        "has had no receiver /dev/b for 10 s; it has /dev/a; check source.device"
      ),
    ] as [([String], String?, String)])
  func silence(lines: [String], device: String?, word: String) {
    var session = connected(device: device)
    expect(session.receive(lines, at: .boot).isEmpty)
    expect(session.handle(.deadline, at: .boot + .seconds(9)).isEmpty)
    let effects = session.handle(.deadline, at: .boot + .seconds(10))
    expectEqual(effects.first, .line(.close))
    expect(loss(effects).hasPrefix("gpsd at localhost:2947 "))
    expect(loss(effects).contains(word), "\(loss(effects))")
  }

  @Test("The connection is closed if the receiver is silent, but not if it has no fix")
  func receiverGone() {
    var session = connected()
    _ = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot)
    for second in 1...60 {
      let now = BootInstant.boot + .seconds(second)
      expect(session.receive([#"{"class":"TPV","device":"/dev/a","mode":1}"#], at: now).isEmpty)
      expect(session.handle(.deadline, at: now).isEmpty)
    }
    let effects = session.handle(.deadline, at: .boot + .seconds(70))
    expectEqual(effects.first, .line(.close))
    expect(loss(effects).contains("may be unplugged"), "\(loss(effects))")
  }

  @Test(
    "while no fix is needed, data is read only once 48 kB have arrived, and discarded when a fix is needed again")
  func unneeded() {
    var session = connected()
    let tpv = GPSDTranscript.tpv("/dev/a", 1)
    // The receiver is not known yet.
    expectEqual(session.handle(.needed(false), at: .boot), [])
    let first = session.receive([tpv], at: .boot + .seconds(1))
    expectEqual(first.last, .line(.awaitBytes(49_152)))
    expectNil(session.nextDeadline)
    expectEqual(session.receive(Array(repeating: tpv, count: 450), at: .boot + .seconds(450)), [])
    expectEqual(session.handle(.needed(true), at: .boot + .seconds(500)), [.line(.read)])
    expectEqual(session.receive([tpv, tpv], at: .boot + .seconds(500)), [])
    expectEqual(session.handle(.drained, at: .boot + .seconds(500)), [.line(.awaitBytes(1))])
    expectEqual(session.receive([tpv], at: .boot + .seconds(501)).count, 1)
    expectEqual(session.handle(.deadline, at: .boot + .seconds(510)), [])
    // The receiver is known now, so the low-water mark is raised at once; the end of the connection is noticed.
    expectEqual(session.handle(.needed(false), at: .boot + .seconds(510)), [.line(.awaitBytes(49_152))])
    expectEqual(session.handle(.ended("gone"), at: .boot + .seconds(520)), [.report(.lost("gone"))])
    expect(session.nextDeadline != nil)
    expectEqual(session.handle(.needed(true), at: .boot + .seconds(521)), [])
  }

  @Test("the used receiver remains in use after a pause in which another one was read first")
  func twoReceiversUnneeded() {
    var session = connected()
    func time(_ second: Int) -> BootInstant { .boot + .seconds(second) }
    func reports(_ names: [String], _ second: Int) -> [SourceEffect] {
      session.receive(names.map { GPSDTranscript.tpv($0, Double(second)) }, at: time(second)).filter {
        if case .report = $0 { true } else { false }
      }
    }
    expectEqual(reports(["/dev/a"], 1).count, 2)
    _ = session.handle(.needed(false), at: time(2))
    expectEqual(reports(["/dev/b", "/dev/a"], 20), [])
    _ = session.handle(.needed(true), at: time(40))
    expectEqual(reports(["/dev/b"], 40), [])
    _ = session.handle(.drained, at: time(40))
    expectEqual(reports(["/dev/b"], 41), [])
    expectEqual(reports(["/dev/a"], 42).count, 1)
  }

  @Test("a receiver that stopped while no fix was needed is reported when a fix is needed again")
  func stoppedUnneeded() {
    var session = connected()
    _ = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot)
    _ = session.handle(.needed(false), at: .boot)
    let time = BootInstant.boot + .seconds(500)
    expectEqual(session.handle(.deadline, at: time), [])
    _ = session.handle(.needed(true), at: time)
    _ = session.handle(.drained, at: time)
    expect(loss(session.handle(.deadline, at: time)).contains("has sent no report of its receiver"))
  }

  @Test(
    "after a suspend, a connection to gpsd on another machine is kept if it still has data, and closed if it is silent",
    arguments: [true, false])
  func suspended(isAlive: Bool) {
    var session = connected(isLocal: false)
    let tpv = GPSDTranscript.tpv("/dev/a", 1)
    for second in 1...3 { _ = session.receive([tpv], at: .boot + .seconds(second)) }
    var effects = session.handle(.resumed, at: .boot + .seconds(3600))
    effects += session.handle(.deadline, at: .boot + .seconds(3600))
    expectEqual(loss(effects), "")
    if isAlive { _ = session.receive([tpv], at: .boot + .seconds(3601)) }
    effects = session.handle(.deadline, at: .boot + .seconds(3603))
    expectEqual(effects.contains(.line(.close)), !isAlive)
    expectEqual(loss(effects).isEmpty, isAlive)
  }

  @Test("after a suspend, a connection to a gpsd on this machine is kept until the receiver is silent for the timeout")
  func suspendedLocal() {
    var session = connected()
    for second in 1...3 { _ = session.receive([GPSDTranscript.tpv("/dev/a", 1)], at: .boot + .seconds(second)) }
    _ = session.handle(.resumed, at: .boot + .seconds(3600))
    expectEqual(loss(session.handle(.deadline, at: .boot + .seconds(3609))), "")
    expect(session.handle(.deadline, at: .boot + .seconds(3610)).contains(.line(.close)))
  }

  @Test("An unsupported protocol version is reported, and its data is ignored")
  func otherVersion() {
    var session = connected()
    let effects = session.receive(
      [#"{"class":"VERSION","release":"4.1","proto_major":4,"proto_minor":0}"#, GPSDTranscript.tpv("/dev/a", 1)],
      at: .boot)
    expectEqual(effects.first, .line(.close))
    expectEqual(effects.count, 2)
    expect(loss(effects).contains("version 4 of its protocol"))
    expectEqual(session.nextDeadline.map { $0 > .boot && $0 <= .boot + .seconds(1) }, true)
  }

  @Test("A command that gpsd refuses is reported with the device, but without gpsd's text")
  func refused() {
    var session = connected(device: "/dev/b")
    let effects = session.receive([#"{"class":"ERROR","message":"Do nothing: no such device"}"#], at: .boot)
    expectEqual(effects.first, .line(.close))
    expectEqual(
      loss(effects), "gpsd at localhost:2947 refuses its receiver /dev/b; check source.device")
  }
}

extension GPSDSession {
  mutating func receive(_ lines: [String], at now: BootInstant) -> [SourceEffect] {
    guard !lines.isEmpty else { return [] }
    let bytes = Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
    return receive(bytes.span, at: now)
  }
}
