// SPDX-License-Identifier: Apache-2.0
import Delivery
import ExternalInput
import Positioning
import Timekeeping

/// The receivers' bytes, from the line to the agent.
extension World {
  /// The seed of the program's jitter: another one in each run of it.
  var programSeed: UInt64 { scenario.seed &+ runNumber &* 1_000_003 }

  /// The shell starts its sources.
  func startPorts() {
    for index in ports.indices where !isOff {
      ports[index].session = World.session(scenario, index: index, seed: programSeed &+ 3)
      ports[index].network = World.network(scenario, index: index, seed: programSeed &+ 3)
      ports[index].modem = World.modem(scenario, index: index, seed: programSeed &+ 3)
      ports[index].close()
      handlePort(index, .start)
    }
  }

  /// Nil for a serial port.
  private static func network(_ scenario: Scenario, index: Int, seed: UInt64) -> NMEANetworkSession? {
    guard scenario.isNetworked, index == 0 else { return nil }
    return NMEANetworkSession(
      name: "udp", transport: .datagrams(isGroup: false), allow: [AddressRange("192.168.0.0/24")].compactMap(\.self),
      silenceTimeout: World.silenceTimeout, seed: seed)
  }

  static func session(_ scenario: Scenario, index: Int, seed: UInt64) -> SerialSession {
    SerialSession(
      device: "/dev/gps\(index)", baud: scenario.isAutobaud ? nil : scenario.baud,
      silenceTimeout: World.silenceTimeout, seed: seed &+ UInt64(index))
  }

  /// The machine has no power, the program does not run, or its recordings are at their end.
  func closePorts() {
    for index in ports.indices {
      ports[index].close()
      ports[index].deadline = .distantFuture
      ports[index].fineSince = nil
    }
  }

  func endSources() {
    for index in ports.indices where !isOff {
      ports[index].hasEnded = true
      ports[index].close()
      ports[index].deadline = .distantFuture
      handle(.source(index, .ended))
    }
  }

  // MARK: - Once a second

  /// The receivers write where the vehicle is.
  func transmit(second: Int) {
    drive.advance(second: second)
    var isSound = false
    for index in ports.indices {
      replug(index, at: second)
      guard !isOff else {
        receivers[index].skip()
        continue
      }
      let output = receivers[index].output(second: second, of: drive, wallError: wallError)
      let speed = ports[index].receiverSpeed(at: second, otherwise: scenario.baud)
      let isGood = isGood(index, at: second, speed: speed)
      ports[index].soundFor = isGood && output.isSound ? ports[index].soundFor + 1 : 0
      // Of a modem's sentences the last are kept, whether they were read or not.
      if isGood, output.isSound, ports[index].modem == nil { ports[index].awaited.insert(second) }
      // Which of several is used is for the agent to decide; one that has been good for this time must be found.
      let isFound = ports[index].soundFor > (ports.count > 1 || ports[index].modem != nil ? World.electionTime : 0)
      if isFound { isSound = true }
      var bytes: [UInt8] = []
      for fix in output.fixes { bytes += scenario.dialect.epoch(of: fix) }
      if let stamp = output.voidAt { bytes += scenario.dialect.void(at: stamp, isDated: !scenario.isDateless) }
      checkPort(index, at: second, speed: speed, isTalking: !bytes.isEmpty)
      ports[index].transmit(bytes, at: second, receiverSpeed: speed)
    }
    track.append((isSound, drive.speed))
  }

  /// What is written in this second is lost: the machine is suspended.
  func skipTransmission(second: Int) {
    drive.advance(second: second)
    for index in receivers.indices {
      receivers[index].skip()
      ports[index].awaited = []
      ports[index].fineSince = nil
      ports[index].soundFor = 0
    }
    track.append((false, drive.speed))
  }

  /// Whether what goes into the line in this second comes out.
  private func isGood(_ index: Int, at second: Int, speed: Int) -> Bool {
    ports[index].speed == speed && ports[index].openedAt <= now && !ports[index].isDisturbed(at: second)
      && (ports[index].network == nil || isInOrder)
  }

  /// Whether no receiver's time ever goes back: datagrams that are up to two seconds late are ignored.
  private var isInOrder: Bool {
    !scenario.faults.contains { fault in
      switch fault.kind {
      case .ahead, .behind, .undated, .swapped, .heldBack, .twice, .noTime: true
      default: false
      }
    }
  }

  /// A device that goes takes its port along; one that comes is announced.
  private func replug(_ index: Int, at second: Int) {
    let isThere = ports[index].isThere(at: second)
    guard isThere != ports[index].isPlugged else { return }
    ports[index].isPlugged = isThere
    guard !isOff, !ports[index].hasEnded else { return }
    if isThere {
      handlePort(index, .appeared)
    } else if ports[index].speed != nil {
      ports[index].close()
      handlePort(index, .ended("/dev/gps\(index) was unplugged"))
    }
  }

  /// What went in came out, and a port that can be read is read.
  private func checkPort(_ index: Int, at second: Int, speed: Int, isTalking: Bool) {
    for awaited in ports[index].awaited where awaited <= second - 2 {
      violate("the position of second \(awaited) went into a good line, and never came out of the decoder")
      ports[index].awaited.remove(awaited)
    }
    guard isTalking, !ports[index].isDisturbed(at: second), !ports[index].hasEnded else {
      ports[index].fineSince = nil
      return
    }
    let since = ports[index].fineSince ?? second
    ports[index].fineSince = since
    // The waits between tries grow to 10 s; all speeds are tried in 23 s, after a silence that may have to be noticed
    // first.
    if second - since > (scenario.isAutobaud ? 80 : 25), ports[index].speed != speed {
      violate("nothing has been wrong with port \(index) for \(second - since) s, and it is not read")
    }
  }

  // MARK: - The port

  /// The next read, or the session's deadline.
  func advancePort(_ index: Int) {
    if let read = ports[index].reads.first, read.at <= now {
      ports[index].reads.removeFirst()
      ports[index].unread += read.bytes
      if ports[index].isWatched { readPort(index) }
    } else {
      handlePort(index, .deadline)
    }
  }

  private func readPort(_ index: Int) {
    let bytes = ports[index].unread
    guard !bytes.isEmpty else { return }
    ports[index].unread = []
    if ports[index].modem != nil { ports[index].modem?.hear(bytes); return }
    if ports[index].network != nil {
      let router = IPAddress(v4: 0xC0A8_0001)
      return perform(
        ports[index].network?.receive(datagram: bytes.span, from: router, port: 5000, at: moment.boot) ?? [], of: index)
    }
    perform(ports[index].session.receive(bytes.span, at: moment.boot), of: index)
  }

  func handlePort(_ index: Int, _ input: SerialSession.Input) {
    if isTranscribing { note("> port \(index): \(input)") }
    if ports[index].modem != nil { return notifyModem(index, input) }
    guard ports[index].network != nil else {
      return perform(ports[index].session.handle(input, at: moment.boot), of: index)
    }
    let event: NMEANetworkSession.Input
    switch input {
    case .start: event = .start
    case .opened: event = .opened
    case .openFailed(let why): event = .openFailed(why)
    case .ended(let why): event = .ended(why)
    case .deadline: event = .deadline
    case .appeared, .speedRefused, .drained: return
    }
    perform(ports[index].network?.handle(event, at: moment.boot) ?? [], of: index)
  }

  private func perform(_ effects: [NMEANetworkSession.Effect], of index: Int) {
    for effect in effects where !isOff && finishedAt == nil {
      switch effect {
      case .open:
        guard ports[index].isPlugged else {
          handlePort(index, .openFailed("there is no such interface"))
          continue
        }
        ports[index].speed = scenario.baud
        ports[index].openedAt = now
        handlePort(index, .opened(isTerminal: false))
      case .close: ports[index].close()
      case .rejoin: break
      case .report(.fix(let fix)):
        evaluate(fix, from: index)
        handle(fix, from: index)
      case .report(let report): handle(.source(index, report))
      }
    }
    guard !isOff else { return }
    ports[index].deadline = ports[index].network?.nextDeadline.map { bootedAt + ($0 - .boot) } ?? .distantFuture
  }

  private func perform(_ effects: [SerialSession.Effect], of index: Int) {
    for effect in effects where !isOff && finishedAt == nil {
      switch effect {
      case .open(let baud):
        guard ports[index].isPlugged else {
          handlePort(index, .openFailed("/dev/gps\(index) is not there"))
          continue
        }
        ports[index].speed = baud
        ports[index].openedAt = now
        handlePort(index, .opened(isTerminal: true))
      case .setSpeed(let baud):
        ports[index].speed = baud
        ports[index].openedAt = now
      case .close: ports[index].close()
      case .pause: ports[index].isWatched = false
      case .read:
        readPort(index)
        handlePort(index, .drained)
      case .watch:
        ports[index].isWatched = true
        readPort(index)
      case .report(.fix(let fix)):
        evaluate(fix, from: index)
        handle(fix, from: index)
      case .report(let report): handle(.source(index, report))
      }
    }
    guard !isOff else { return }
    ports[index].deadline = ports[index].session.nextDeadline.map { bootedAt + ($0 - .boot) } ?? .distantFuture
  }

  /// A fix of the decoder was reported by the receiver, or is of a sentence that was corrupted and has the right
  /// checksum.
  func evaluate(_ fix: Fix, from index: Int) {
    let second = Int(self.second)
    // A modem's sentences are up to a second old.
    let isWhole =
      !ports[index].isDisturbed(at: second)
      && (ports[index].modem == nil || !ports[index].isDisturbed(at: second - 1))
    let reported = receivers[index].second(of: fix, isWhole: isWhole, at: trueTime, wallError: wallError)
    if let reported {
      ports[index].awaited.remove(reported)
    } else if let collision = ports[index].collisions.last, ports[index].isDisturbed(at: second),
      second - collision <= 2
    {
      fixesOfCollisions += 1
      let stamp = fix.timestamp ?? trueTime.nearest(millisecondsOfDay: trueTime.millisecondsOfDay)
      receivers[index].note(fix, at: stamp, second: second)
    } else {
      violate("port \(index) gives a fix that the receiver never reported: \(fix)")
    }
  }

  /// With a clock that is right within half a day, a fix without a date gets the right one at once.
  func handle(_ fix: Fix, from index: Int) {
    guard case .ofDay(let milliseconds) = fix.time, abs(wallError) <= 11 * 3600 else {
      return handle(.source(index, .fix(fix)))
    }
    let before = agent.statistics
    handle(.source(index, .fix(fix)))
    let after = agent.statistics
    guard !isOff, after.fixes == before.fixes + 1, after.held == before.held else { return }
    if after.rejected[.noDate] != before.rejected[.noDate] {
      violate("a fix is rejected for its date, and the clock is right")
    }
    let truth = trueTime.nearest(millisecondsOfDay: milliseconds)
    // A server's time that was confirmed has priority over the clock.
    let truths = [trueTime] + clockErrors(until: self.second).map { trueTime + .seconds($0) }
    let isCorrected =
      agent.newestTime.map { newest in truths.contains { max(newest - $0, $0 - newest) < .seconds(5) } } ?? true
    if after.rejected == before.rejected, !isCorrected, let newest = agent.newestTime, newest != truth {
      violate("a fix of \(truth.rfc3339) is dated \(newest.rfc3339), and the clock is right")
    }
  }

  var trueTime: Timestamp { Scenario.boot + .nanoseconds(now.nanoseconds) }

  /// What that stamp stands for, whichever receiver reported it.
  func reported(at stamp: Timestamp) -> [Receiver.ReportedFix] {
    let reported =
      receivers.count == 1 ? receivers[0].reported(at: stamp) : receivers.flatMap { $0.reported(at: stamp) }
    guard reported.isEmpty else { return reported }
    return clockErrors(until: .infinity).flatMap { error in receivers.flatMap { $0.reported(at: stamp, wrongBy: error) }
    }
  }

  /// By how many seconds servers' clocks have been wrong, of the faults that began before a second.
  private func clockErrors(until second: Double) -> [Int64] {
    scenario.faults.compactMap { fault in
      switch fault.kind {
      case .serverClock(let error), .providerClock(let error): Double(fault.from) <= second ? error : nil
      default: nil
      }
    }
  }
}
