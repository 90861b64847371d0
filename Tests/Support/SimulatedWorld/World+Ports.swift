// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
import Observability
import Vehicle
import Daemon
import SourceSelection
import ExternalInput
import FixSources
import Positioning
import Timekeeping

/// The settings of a source.
struct PortSettings: SourceIdentity, Equatable {
  let index: Int
}

/// The session of a source of any kind, which can also end, as a recording does.
struct PortSession: SourceSession {
  private var session: any SourceSession

  init(_ session: any SourceSession) {
    self.session = session
  }

  var nextDeadline: BootInstant? { session.nextDeadline }

  var isPausable: Bool { session.isPausable }

  mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
    input == .endOfInput && !(session is ReplaySession) ? [.report(.ended)] : session.handle(input, at: now)
  }

  mutating func receive(_ bytes: Span<UInt8>, from sender: SourceSender, at now: Moment) -> [SourceEffect] {
    session.receive(bytes, from: sender, at: now)
  }

  mutating func readyForNextFix(at now: BootInstant) { session.readyForNextFix(at: now) }
}

/// The receivers' bytes, from the line to the daemon.
extension World {
  /// The seed of the daemon's jitter, different in each of its runs.
  var programSeed: UInt64 { scenario.seed &+ runNumber &* 1_000_003 }

  /// The daemon starts, and has no source yet.
  func startPorts() {
    portsBySource = [:]
    (areFixesNeeded, neededSince) = (true, nil)
    for index in ports.indices {
      ports[index].modem = isModem(index) ? SimulatedModem() : nil
      ports[index].close()
    }
    useSources()
  }

  /// Whether this receiver is in a modem, also before the daemon has started.
  private func isModem(_ index: Int) -> Bool { scenario.hasModem && index == 0 }

  /// Passes the daemon the sources of the settings, as the shell does.
  ///
  /// - Parameter isVehicleInUse: whether another daemon has locked the vehicle of the settings.
  func useSources(isVehicleInUse: Bool = false) {
    let plan = daemon.plan(ports.indices.map { PortSettings(index: $0) }, isVehicleInUse: isVehicleInUse)
    pass(
      .sources(
        plan.enumerated().map { index, planned in
          portsBySource[planned.id] = index
          if planned.isNew {
            ports[index].id = planned.id
            ports[index].datelessSince = nil
            openRecording(index)
          }
          return Daemon.Source(
            PortSettings(index: index),
            SourceSelector.ConfiguredSource(
              id: planned.id, label: "/dev/gps\(index)", silenceTimeout: World.silenceTimeout,
              waitsAfterFix: ports[index].isFile),
            session: planned.isNew ? session(index, seed: programSeed &+ 3) : nil)
        }))
  }

  private func session(_ index: Int, seed: UInt64) -> PortSession {
    if ports[index].modem != nil {
      return PortSession(
        ModemSession(selection: ModemSelection(), silenceTimeout: World.silenceTimeout, seed: seed))
    }
    if ports[index].isNetwork {
      return PortSession(
        NMEANetworkSession(
          name: "udp", transport: .datagrams(isMulticast: false),
          allow: [AddressRange("192.168.0.0/24")].compactMap(\.self), silenceTimeout: World.silenceTimeout, seed: seed))
    }
    if ports[index].isGPSD {
      return PortSession(
        GPSDSession(address: "localhost:2947", device: nil, silenceTimeout: World.silenceTimeout, seed: seed))
    }
    if ports[index].recording != nil {
      return PortSession(
        ReplaySession(name: "the recording", pace: ports[index].isFile ? 0 : 1, shiftsTimes: false))
    }
    return PortSession(
      SerialSession(
        device: "/dev/gps\(index)", baud: scenario.isAutobaud ? nil : scenario.baud,
        silenceTimeout: World.silenceTimeout, seed: seed &+ UInt64(index)))
  }

  /// Closes the ports: the machine has no power, or the daemon is not running.
  func closePorts() {
    for index in ports.indices {
      ports[index].close()
      ports[index].fineSince = nil
    }
  }

  /// The daemon starts to read its receivers, or stops, which it may do only in a pause.
  func needFixes(_ areNeeded: Bool) {
    areFixesNeeded = areNeeded
    neededSince = now
    for index in ports.indices {
      ports[index].awaited = []
      if !areNeeded { coverSession(ports[index].id, .unneeded) }
    }
  }

  /// The recordings are at their end. Modems never end, nor do lines that are not open because another daemon has
  /// locked the vehicle.
  func endSources() {
    for index in ports.indices where !isOff && (inUseSince == nil || ports[index].recording != nil) {
      ports[index].hasEnded = !isModem(index)
      if ports[index].recording != nil { readRecording(index) } else { handlePort(index, .endOfInput) }
    }
  }

  // MARK: - Once a second

  /// The receivers report the vehicle's position.
  func transmit(second: Int) {
    drive.advance(second: second)
    var isSound = false
    for index in ports.indices {
      replug(index, at: second)
      guard !isOff else {
        receivers[index].skip()
        continue
      }
      coverFaults(of: index, at: second)
      var output = receivers[index].output(second: second, of: drive, wallError: wallError)
      if scenario.isDateless, !ports[index].hasAwaitedDate(at: now) { output.isSound = false }
      let baud = ports[index].receiverBaudRate(at: second, otherwise: scenario.baud)
      let isGood = isGood(index, at: second, baud: baud)
      ports[index].soundFor = isGood && output.isSound ? ports[index].soundFor + 1 : 0
      // ModemManager stores a modem's last sentences, whether the daemon reads them or not. For 3 s after a pause, a
      // fix with an earlier time than expected is treated as one from the pause.
      let isNew = isInOrder || neededSince.map { now - $0 > .seconds(4) } ?? true
      let isRead = ports[index].modem == nil && areFixesNeeded && (isNew || ports[index].isNetwork)
      if isGood, output.isSound, isRead { ports[index].awaited.insert(second) }
      // With several sources, or a modem, a fix is required only after a source has been good for more than
      // `electionTime` seconds.
      let isFound = ports[index].soundFor > (ports.count > 1 || ports[index].modem != nil ? World.electionTime : 0)
      if isFound { isSound = true }
      var bytes: [UInt8] = []
      if ports[index].isGPSD {
        for fix in output.fixes { bytes += GPSDModel.report(of: fix) }
        if let stamp = output.voidAt { bytes += GPSDModel.void(at: stamp) }
      } else {
        for fix in output.fixes { bytes += scenario.dialect.epoch(of: fix) }
        if let stamp = output.voidAt { bytes += scenario.dialect.void(at: stamp, isDated: !scenario.isDateless) }
      }
      checkPort(index, at: second, baud: baud, isTalking: !bytes.isEmpty)
      ports[index].transmit(bytes, at: second, receiverBaudRate: baud)
    }
    track.append((isSound, drive.speed))
  }

  /// Data of this second is lost: the machine is suspended.
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

  /// Whether the data of this second passes through the line unchanged.
  private func isGood(_ index: Int, at second: Int, baud: Int) -> Bool {
    ports[index].baud == baud && ports[index].openedAt <= now && !ports[index].isDisturbed(at: second)
      && !(ports[index].recording != nil && ports[index].hasEnded)
      && (!ports[index].isNetwork || isInOrder)
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

  /// A device that disappears closes its port; one that appears is reported.
  private func replug(_ index: Int, at second: Int) {
    let isThere = ports[index].isThere(at: second)
    guard isThere != ports[index].isPlugged else { return }
    ports[index].isPlugged = isThere
    guard !isOff, !ports[index].hasEnded else { return }
    if ports[index].modem != nil { return replugModem(index, isThere: isThere) }
    if isThere {
      handlePort(index, .appeared)
    } else if ports[index].baud != nil {
      ports[index].close()
      handlePort(index, .ended("/dev/gps\(index) was unplugged"))
    }
  }

  /// The number of seconds by which a replay may be late: a burst is replayed at the pace of its times, and a wrong
  /// time delays what follows it.
  func replayDelay(of index: Int, at second: Int) -> Int {
    guard ports[index].recording != nil else { return 0 }
    let bursts = scenario.faults.filter { if case .heldBack = $0.kind { $0.from <= second } else { false } }
    return bursts.reduce(0) { $0 + $1.until - $1.from } + ports[index].replayDelay
  }

  /// Checks that every position that was transmitted was decoded, and that a port that can be read is read.
  private func checkPort(_ index: Int, at second: Int, baud: Int, isTalking: Bool) {
    // A recording has no pauses between epochs: an epoch may end only with the next one.
    let isRecording = ports[index].recording != nil
    let last = isRecording ? ports[index].lastWhole : second
    let longest = replayDelay(of: index, at: second)
    for awaited in ports[index].awaited where awaited <= second - 2 - longest && awaited < last {
      violate("the position of second \(awaited) went into a good line, and never came out of the decoder")
      ports[index].awaited.remove(awaited)
    }
    guard isTalking, !ports[index].isDisturbed(at: second), !ports[index].hasEnded, !ports[index].isReleased,
      inUseSince == nil, isRunning
    else {
      ports[index].fineSince = nil
      return
    }
    let since = ports[index].fineSince ?? second
    ports[index].fineSince = since
    // The waits between attempts grow to 10 s; all baud rates are tried in 23 s, but first a silence may have to be
    // noticed.
    if second - since > (scenario.isAutobaud ? 80 : 25), ports[index].baud != baud {
      violate("nothing has been wrong with port \(index) for \(second - since) s, and it is not read")
    }
    if !areFixesNeeded, pausedAt == nil { violate("the receivers are not read although there is no pause") }
    let isRest = !areFixesNeeded && neededSince.map { now - $0 > .seconds(25) } ?? false
    let isRead =
      if ports[index].modem != nil {
        // A receiver whose time goes back looks frozen, and is still polled.
        isInOrder && now - ports[index].askedAt < .seconds(2)
      } else {
        ports[index].isWatched && ports[index].lowWaterMark == 1
      }
    if isRest, second - since > (scenario.isAutobaud ? 80 : 25), isRead, ports[index].recording == nil {
      violate("port \(index) is read although no fix is needed")
    }
  }

  // MARK: - The port

  /// Data arrives.
  func advancePort(_ index: Int) {
    let read = ports[index].reads.removeFirst()
    ports[index].unread += read.bytes
    if ports[index].isWatched, ports[index].unread.count >= ports[index].lowWaterMark { readPort(index) }
  }

  /// Passes the daemon the data that has arrived; not called while the daemon's effects are performed.
  func readPort(_ index: Int) {
    if ports[index].recording != nil { return readRecording(index) }
    let bytes = ports[index].unread
    guard !bytes.isEmpty else { return }
    ports[index].unread = []
    if ports[index].modem != nil { ports[index].modem?.hear(bytes, at: Int(second)); return }
    let sender = SourceSender.datagram(IPAddress(v4: 0xC0A8_0001), port: 5000)
    receive(bytes, from: ports[index].isNetwork ? sender : .peer, of: ports[index].id)
  }

  func handlePort(_ index: Int, _ input: SourceInput) {
    pass(.line(ports[index].id, input))
  }

  func perform(_ operation: LineOperation, of id: Int) {
    guard let index = portsBySource[id] else { return violate("an operation on an unknown line: \(operation)") }
    switch operation {
    case .open where ports[index].modem != nil: handlePort(index, .opened())
    case .open(let baud):
      guard ports[index].isPlugged else {
        let why = ports[index].isNetwork ? "there is no such interface" : "/dev/gps\(index) is not there"
        return handlePort(index, .openFailed(why))
      }
      ports[index].isReleased = false
      ports[index].baud = baud ?? scenario.baud
      ports[index].openedAt = now
      handlePort(index, .opened(isTerminal: !ports[index].isNetwork && !ports[index].isGPSD))
    case .setBaud(let baud):
      if ports[index].baud != baud { ports[index].discardInput() }
      ports[index].baud = baud
      ports[index].openedAt = now
    case .close: ports[index].close()
    case .end:
      ports[index].isReleased = true
      ports[index].close()
    case .pause: ports[index].isWatched = false
    // Data is passed on after the effects, like the outcomes of other operations.
    case .read where ports[index].recording != nil: askRecording(index)
    case .read: pendRead(of: index, isDrain: true)
    case .watch:
      ports[index].isWatched = true
      pendRead(of: index, isDrain: false)
    case .awaitBytes(let count):
      ports[index].lowWaterMark = count
      if ports[index].unread.count >= count { pendRead(of: index, isDrain: false) }
    case .modem(let request): ask(request, of: index)
    case .send(let command):
      guard ports[index].isGPSD else { break }
      if command != GPSDSession.watchCommand(for: nil) { violate("gpsd is asked for something else") }
      ports[index].deliver(GPSDModel.greeting, at: now + .milliseconds(5))
    case .rejoin: break
    }
  }

  /// Every decoded fix was reported by the receiver, or is from a corrupted sentence with a valid checksum.
  func evaluate(_ fix: Fix, from index: Int) {
    ports[index].noteDate(of: fix, at: now)
    let second = Int(self.second)
    // A modem's sentences are up to a second old, and after a suspend those from before it are the newest.
    let age = ports[index].modem == nil ? 0 : 1
    let hasJustResumed = now - resumedAt <= .seconds(1)
    let asleep = age > 0 && hasJustResumed ? Int(suspendedFor.wholeSeconds) : 0
    // In datagrams, an epoch that was overtaken may have given its date to the epoch that overtook it.
    let isOvertaken =
      ports[index].isNetwork
      && scenario.faults.contains {
        if case .swapped = $0.kind { $0.source == index && $0.from <= second && second <= $0.until } else { false }
      }
    // In a burst of several epochs without a time, only the first sentence of an epoch shows where the epoch begins.
    // Fixes without a time are not used.
    let isRunTogether =
      fix.time == nil
      && scenario.faults.contains {
        if case .heldBack = $0.kind { $0.source == index && $0.from <= second && second <= $0.until } else { false }
      }
    // In a recording, an epoch may end seconds later, with the next epoch that can be read; and a modem stores an epoch
    // until it receives another.
    let isLasting = ports[index].recording != nil || ports[index].modem != nil
    let stamped = isLasting ? fix.timestamp.map { Int(($0 - Scenario.boot).wholeSeconds) } : nil
    let epoch = min(stamped ?? second, second)
    // Which kinds of sentences a modem has is known from what it received before. If that was damaged, an epoch may be
    // used before all of its sentences have arrived.
    let disturbable = [epoch, second, second - age, second - age - asleep] + (ports[index].modem?.epochs ?? [])
    // The epoch before this one may be older than a second: a suspend, or data that is held back, lies between them.
    let isOfLastWriting = ports[index].lastWritten.map { $0 == second || hasJustResumed && $0 == second - 1 } ?? false
    let previous = isOfLastWriting ? ports[index].writtenBefore : nil
    let isDisturbed = (disturbable + [previous].compactMap(\.self)).contains { ports[index].isDisturbed(at: $0) }
    let isWhole = !isOvertaken && !isRunTogether && !isDisturbed
    let reported = receivers[index].second(of: fix, isWhole: isWhole, at: trueTime, wallError: wallError)
    if let reported {
      ports[index].awaited.remove(reported)
      if ports[index].recording != nil { ports[index].decodedAt[reported] = now }
    } else if isFromCollision(at: second, epoch: epoch, of: ports[index]) {
      fixesOfCollisions += 1
      let stamp =
        switch fix.time {
        case .utc(let stamp): stamp
        case .ofDay(let milliseconds): trueTime.nearest(millisecondsOfDay: milliseconds)
        case nil: trueTime
        }
      receivers[index].noteCollision(fix, at: stamp, second: second)
    } else {
      violate("port \(index) gives a fix that the receiver never reported: \(fix)")
    }
  }

  /// Whether a fix that was decoded in `second`, and whose time is in `epoch`, may be from a corrupted sentence with a
  /// valid checksum.
  private func isFromCollision(at second: Int, epoch: Int, of port: Port) -> Bool {
    // A recorded fix is replayed when it is due. A wrong time delays that, and may be the time of any second.
    let (seconds, delay) = (port.collisions.seconds, port.replayDelay)
    if delay > 0 { return seconds.contains { $0 <= second && second <= $0 + delay } }
    return [epoch, second].contains { port.isDisturbed(at: $0) }
      && seconds.contains { abs(epoch - $0) <= 2 || abs(second - $0) <= 2 }
  }

  /// If the machine's clock differs from the receiver's time by less than half a day, a fix without a date gets the
  /// right date: the first fixes of a source after `FixFilter.dateDelay`, others at once.
  /// - Parameters:
  ///   - index: the port that it came from.
  ///   - before: the vehicle's state before the fix.
  ///   - after: the vehicle's state after the fix.
  func checkDate(of fix: Fix, from index: Int, _ before: VehicleState, to after: VehicleState) {
    guard case .ofDay(let milliseconds) = fix.time else { return }
    let truth = trueTime.nearest(millisecondsOfDay: milliseconds)
    guard abs((truth - trueTime).wholeSeconds - wallError) <= 11 * 3600 else { return }
    // A receiver's time takes precedence over the machine's clock until the receiver has contradicted it twice.
    let clock = events.last { [.clockWrong, .clockRight].contains($0.event.kind) }
    if case .clockWrong(let error)? = clock?.event, error.reference == .gnss { return }
    let (newest, before, after) = (after.newestTime, before.statistics, after.statistics)
    guard after.fixes == before.fixes + 1, after.held == before.held else { return }
    if after.rejected[.noDate] != before.rejected[.noDate], ports[index].hasAwaitedDate(at: now) {
      violate("a fix is rejected for its date, and the clock is right")
    }
    // A confirmed server time takes precedence over the machine's clock.
    let truths = [trueTime] + clockErrors(until: self.second).map { trueTime + .seconds($0) }
    // A receiver's clock that jumped before a server's first response is corrected by that response, and late by at
    // most its delay; delayed data is late by its own delay. Until the fifth fix, the previous error of a clock still
    // applies.
    let held = scenario.faults.map { fault in
      if case .heldBack = fault.kind { fault.until - fault.from } else { 0 }
    }
    // A modem may have stored the last fix from before a suspend.
    let asleep = scenario.hasModem && now - resumedAt <= .seconds(1) ? suspendedFor : .zero
    let errors = (0...10).map { clockOffset(at: self.second - Double($0)) }
    let lead = (errors.max() ?? 0) - errors[0]
    let late = Duration.seconds(5 + (held.max() ?? 0) + lead) + slowestResponse + asleep
    let isCorrected =
      newest.map { newest in truths.contains { newest - $0 < .seconds(5) && $0 - newest < late } } ?? true
    // Without a server's time, leap seconds are not corrected, but the error of a lone response still is.
    let uncorrected = [truth] + clockErrors(until: self.second).map { truth + .seconds($0) }
    if after.rejected == before.rejected, !isCorrected, let newest, !uncorrected.contains(newest) {
      violate("a fix of \(truth.rfc3339) is dated \(newest.rfc3339), and the clock is right")
    }
  }

  /// The number of seconds by which the first receiver's clock is ahead.
  private func clockOffset(at second: Double) -> Int {
    scenario.faults.reduce(0) { offset, fault in
      guard fault.source == 0, fault.isActive(at: second) else { return offset }
      return switch fault.kind {
      case .ahead(let seconds): offset + seconds
      case .behind(let seconds): offset - seconds
      default: offset
      }
    }
  }

  var trueTime: Timestamp { trueTime(at: now) }

  func trueTime(at instant: BootInstant) -> Timestamp { Scenario.boot + .nanoseconds(instant.nanoseconds) }

  /// The reported positions of all receivers that this timestamp may belong to.
  /// - Parameter late: the time by which a corrected timestamp may be late.
  func reported(at stamp: Timestamp, late: Duration = .zero) -> [Receiver.ReportedFix] {
    let late = Int(late.wholeSeconds)
    let reported =
      receivers.count == 1
      ? receivers[0].reported(at: stamp, late: late) : receivers.flatMap { $0.reported(at: stamp, late: late) }
    // The wrong time of one receiver may be the time that a server's wrong clock gave to another position.
    guard reported.allSatisfy(\.isFaulty) else { return reported }
    return reported
      + clockErrors(until: .infinity).flatMap { error in
        receivers.flatMap { $0.reported(at: stamp, late: late, wrongBy: error) }
      }
  }

  /// The errors of servers' clocks in seconds, for faults that began before this second.
  func clockErrors(until second: Double) -> [Int64] {
    scenario.faults.compactMap { fault in
      switch fault.kind {
      case .serverClock(let error), .providerClock(let error): Double(fault.from) <= second ? error : nil
      default: nil
      }
    }
  }
}
