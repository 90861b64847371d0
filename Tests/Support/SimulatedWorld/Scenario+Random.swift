// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Timekeeping

extension Scenario {
  /// A run whose faults are drawn from a seed.
  init(random seed: UInt64) {
    var random = SplitMix64(seed: seed)
    self.init()
    self.seed = seed
    duration = Int.random(in: 150...700, using: &random)
    drive = [.steady(14), .city, .random, .random, .steady(0)].randomElement(using: &random) ?? .random
    tokenLife = [40, 120, 300, 600, 3600, 3600].randomElement(using: &random) ?? 3600
    wallError = [0, 0, 0, nil, 1_576_800_000, -86_400].randomElement(using: &random) ?? 0
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let from = Int.random(in: 0..<duration, using: &random)
      let kind = Scenario.kind(from: from, until: duration, using: &random)
      let length = Int.random(in: 1...(Bool.random(using: &random) ? 40 : 300), using: &random)
      let isMoment: Bool
      switch kind {
      case .ahead, .behind, .jump: isMoment = Int.random(in: 0..<3, using: &random) > 0
      default: isMoment = false
      }
      faults.append(Fault(kind, from..<(from + (isMoment ? 1 : length))))
    }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      acts.append((Int.random(in: 1..<duration, using: &random), .networkUp))
    }
    for fault in faults where fault.place == .network && Bool.random(using: &random) {
      acts.append((fault.until, .networkUp))
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      acts.append(
        (
          Int.random(in: 1..<duration, using: &random),
          .clockStep(Int64.random(in: -2_000_000_000...2_000_000_000, using: &random))
        ))
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let second = Int.random(in: 1..<duration, using: &random)
        let effects = Int.random(in: 0...12, using: &random)
        let seconds = Int.random(in: 6...90, using: &random)
        // In every third case, the daemon is killed instead.
        acts.append(
          (
            second,
            seconds % 3 == 0
              ? .kill(afterEffects: effects, seconds: seconds) : .powerCut(afterEffects: effects, seconds: seconds)
          ))
      }
    }
    if Int.random(in: 0..<6, using: &random) == 0 {
      acts.append(
        (Int.random(in: 1..<duration, using: &random), .suspend(Int.random(in: 1...200, using: &random))))
    }
    switch Int.random(in: 0..<8, using: &random) {
    case 0: acts.append((Int.random(in: 1..<duration, using: &random), .reload(vehicle: "truck-2")))
    case 1:
      acts.append((Int.random(in: 1..<duration, using: &random), .stop(within: Int.random(in: 0...20, using: &random))))
    case 2: acts.append((Int.random(in: 1..<duration, using: &random), .sourceEnded))
    case 3: settings = [.maxLocations(Int.random(in: 1...8, using: &random))]
    case 4: settings = [.interval(5)]
    case 5: settings = [.distance(100), .heading(30), .batch(3)]
    default: break
    }
    // In every fifth run the driver pauses, and some drivers do not resume.
    if seed % 5 == 2 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let from = Int.random(in: 1..<duration, using: &random)
        acts.append((from, .pause))
        acts.append((from + Int.random(in: 1...200, using: &random), .resume))
      }
    }
    // Every sixth receiver reports no date, and its machine's clock starts at any time and may be set later.
    if seed % 6 == 3 { removeDate(using: &random) }
    // Every fourth machine monitors its network, and sometimes suspends.
    if seed % 4 == 1 { addConnectivity(using: &random) }
    addLines()
    addRefusals()
    // Every third vehicle is one of on-demand trips.
    if seed / 3 % 3 == 1 { addDuty() }
    // In every fifth run, time sources are wrong, alone or together.
    if seed % 5 == 4 { addWrongClocks() }
    addBadConnections()
    addUnanswered()
    addUndatedProvider()
    addOtherDaemon()
    addFormRefusals()
    addRefusedBacklog()
    // In every eighth run, the settings contain the commit interval.
    if seed % 8 == 6 { settings.append(.commitInterval([1, 5, 20][Int(seed / 8 % 3)])) }
    if seed > Scenario.lastOfFirstRange { addInstallationFaults() }
  }

  /// Seeds after this one also have faults of settings, credentials and directories.
  static let lastOfFirstRange: UInt64 = 10_000_000

  /// A server that rejects past positions after an outage, from its own seed: other faults seldom coincide with a
  /// backlog.
  private mutating func addRefusedBacklog() {
    var random = SplitMix64(seed: seed ^ 0x6261_636B)
    guard Int.random(in: 0..<12, using: &random) == 0 else { return }
    // Half of these runs are long enough for the third rejection of a position.
    if Bool.random(using: &random) {
      duration = max(duration, 600)
      settings.append(.interval(5))
    }
    let from = Int.random(in: 10...60, using: &random)
    let until = from + Int.random(in: 60...120, using: &random)
    faults.append(Fault([.silent, .unreachable].randomElement(using: &random) ?? .silent, from..<until))
    let kinds: [Fault.Kind] = [
      .rejectsPositions(Set(from...until)), .rejectsPositions(Set(from + 20..<from + 30)),
      .rejectsPositions(Set(until - 20..<until - 10)),
      .rejectsPositions(Set((0..<20).map { _ in Int.random(in: from...until, using: &random) })),
      .rejectsLivePositions(Set(until..<(until + 15))), .mostPast(Int.random(in: 1...5, using: &random)),
      .mostBytes(1000), .deniesPast, .rejectsPast,
    ]
    let end = until + Int.random(in: 60...600, using: &random)
    faults.append(Fault(kinds.randomElement(using: &random) ?? .rejectsPast, max(until - 20, 0)..<end))
  }

  /// Servers that do not accept the compact form, or not always, from a seed of their own.
  private mutating func addFormRefusals() {
    var random = SplitMix64(seed: seed ^ 0x666F_726D)
    guard Int.random(in: 0..<4, using: &random) == 0 else { return }
    let refusals: [Fault.FormRefusal] = [
      .status(400, "INVALID_ARGUMENT"), .status(400, "INVALID_ARGUMENT"), .status(403, "PERMISSION_DENIED"),
      .status(500, "INTERNAL"), .status(501, "UNIMPLEMENTED"), .page(400), .page(403), .page(406), .page(413),
      .page(415), .page(502),
    ]
    let refusal = refusals.randomElement(using: &random) ?? .page(415)
    func add(_ part: Double, _ seconds: Range<Int>) {
      faults.append(Fault(.refusesCompact(part, refusal), seconds))
    }
    switch Int.random(in: 0..<5, using: &random) {
    case 0: add(0.1, 0..<duration)
    case 1:
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let from = Int.random(in: 0..<duration, using: &random)
        add(1, from..<(from + Int.random(in: 1...300, using: &random)))
      }
    case 2: faults.append(Fault(.answers(503, "UNAVAILABLE"), 0..<Int.random(in: 1..<duration, using: &random)))
    default: break
    }
    if faults.contains(where: { if case .refusesCompact = $0.kind { true } else { false } }) { return }
    add(1, 0..<duration)
  }

  /// A token provider without a `Date`, half of the time with a receiver that has no leap seconds, or a machine's
  /// clock with the same error, from a seed of their own.
  private mutating func addUndatedProvider() {
    var random = SplitMix64(seed: seed ^ 0x6973_7375)
    // Where other clocks are wrong as well, the provider may be the last correct reference.
    guard Int.random(in: 0..<6, using: &random) == 0, !hasCertificates, !isDateless else { return }
    let backdating: Int64 = [0, 0, 0, 2, 60].randomElement(using: &random) ?? 0
    let until = Int.random(in: 1...duration, using: &random)
    faults.append(Fault(.providerUndated(backdating: backdating), 0..<until))
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      let from = [0, 0, Int.random(in: 0..<duration, using: &random)].randomElement(using: &random) ?? 0
      let error = [18, 18, 18, 3600, 50_000_000].randomElement(using: &random) ?? 18
      faults.append(Fault(.ahead(error), from..<(from + Int.random(in: 1...200, using: &random))))
    case 1: wallError = [18, -18, 3600, -3600].randomElement(using: &random) ?? 18
    default: break
    }
  }

  /// Requests that the server receives although it closes their connections without a response, from a seed of their
  /// own.
  private mutating func addUnanswered() {
    var random = SplitMix64(seed: seed ^ 0x636C_6F73)
    guard Int.random(in: 0..<6, using: &random) == 0 else { return }
    let part = [0.1, 0.3, 0.6].randomElement(using: &random) ?? 0.3
    let seconds = Int.random(in: 1...14, using: &random)
    func add(_ range: Range<Int>) { faults.append(Fault(.closedUnanswered(part, appliedWithin: seconds), range)) }
    let from = Int.random(in: 0..<duration, using: &random)
    add(from..<(from + Int.random(in: 1...300, using: &random)))
    // The state of a vehicle matters when a driver goes off duty.
    for (second, act) in acts {
      switch act {
      case .pause, .goOffline: add(max(second - 8, 0)..<(second + 8))
      default: break
      }
    }
  }

  /// A second daemon with the same vehicle, from a seed of its own.
  private mutating func addOtherDaemon() {
    var random = SplitMix64(seed: seed ^ 0x6C6F_636B)
    guard Int.random(in: 0..<6, using: &random) == 0 else { return }
    // Most other daemons have the vehicle from the start. The rest get it when this daemon is killed, or when new
    // settings name it.
    let from = Int.random(in: 0..<3, using: &random) > 0 ? 0 : Int.random(in: 0..<duration, using: &random)
    let vehicle = Int.random(in: 0..<3, using: &random) > 0 ? "truck-1" : "truck-2"
    faults.append(Fault(.otherDaemon(vehicle: vehicle), from..<(from + Int.random(in: 1...300, using: &random))))
  }

  /// A load balancer with a bad backend, from a seed of its own.
  private mutating func addBadConnections() {
    var random = SplitMix64(seed: seed ^ 0x636F_6E6E)
    guard Int.random(in: 0..<6, using: &random) == 0 else { return }
    let from = Int.random(in: 0..<duration, using: &random)
    let length = Int.random(in: 1...400, using: &random)
    let kind = Fault.BadConnection.allCases.randomElement(using: &random) ?? .refused
    let every = [1, 2, 2, 3, 5].randomElement(using: &random) ?? 2
    faults.append(Fault(.badConnections(every: every, kind), from..<(from + length)))
  }

  /// Half of the vehicles of on-demand trips have a pause or two, and the state of some is set by another system, from
  /// a seed of their own.
  private mutating func addDuty() {
    var random = SplitMix64(seed: seed ^ 0x6475_7479)
    let reportsState = Int.random(in: 0..<8, using: &random) > 0
    settings.append(.trips(reportsState: reportsState, offlineOnStop: reportsState && Bool.random(using: &random)))
    addSwitches()
    guard Bool.random(using: &random) else { return }
    for _ in 0..<Int.random(in: 1...2, using: &random) {
      let from = Int.random(in: 1..<duration, using: &random)
      acts.append((from, .pause))
      if Bool.random(using: &random) {
        acts.append((from + Int.random(in: 1...300, using: &random), .resume))
      }
      // A power cut at any effect of the command.
      if Int.random(in: 0..<3, using: &random) == 0 {
        let effects = Int.random(in: 0...6, using: &random)
        acts.append((from, .powerCut(afterEffects: effects, seconds: Int.random(in: 6...60, using: &random))))
      }
    }
  }

  /// Drivers who go off and on duty at any moment, in a pause or not, from a seed of their own.
  private mutating func addSwitches() {
    var random = SplitMix64(seed: seed ^ 0x6F66_6600)
    guard Int.random(in: 0..<3, using: &random) > 0 else { return }
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let from = Int.random(in: 1..<duration, using: &random)
      let length = Int.random(in: 0...(Bool.random(using: &random) ? 20 : 300), using: &random)
      acts.append((from, .goOffline))
      if Int.random(in: 0..<4, using: &random) > 0 { acts.append((from + length, .goOnline)) }
      // A power cut at any effect of the command.
      if Int.random(in: 0..<3, using: &random) == 0 {
        let effects = Int.random(in: 0...6, using: &random)
        let at = Bool.random(using: &random) ? from : from + length
        acts.append((at, .powerCut(afterEffects: effects, seconds: Int.random(in: 6...60, using: &random))))
      }
      // The requests that set the state may get no response, or arrive late.
      switch Int.random(in: 0..<4, using: &random) {
      case 0: faults.append(Fault(.latency(6000), max(from - 5, 0)..<(from + length + 5)))
      case 1: faults.append(Fault(.closedUnanswered(1, appliedWithin: 12), from..<(from + 3)))
      case 2: acts.append((from + 1, .networkUp))
      default: break
      }
    }
  }

  /// Wrong clocks, from a seed of their own.
  private mutating func addWrongClocks() {
    var random = SplitMix64(seed: seed ^ 0x6C69_6172)
    hasCertificates = true
    if Int.random(in: 0..<4, using: &random) == 0 {
      wallError = [315_360_000, 946_080_000, -2_000_000, nil].randomElement(using: &random) ?? 0
    }
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let from = Int.random(in: 0..<duration, using: &random)
      let kinds: [Fault.Kind] = [
        .ahead(18), .ahead(18), .ahead(3600), .ahead(50_000_000), .ahead(1_650_000_000), .undated, .behind(86_400),
        .serverClock(3600), .serverClock(-3600), .serverClock(3_155_760_000), .serverClock(-3_155_760_000),
        .providerClock(1800), .providerClock(7200), .providerClock(-7200), .providerClock(3_155_760_000),
      ]
      let length = Int.random(in: 1...(Bool.random(using: &random) ? 20 : 200), using: &random)
      faults.append(Fault(kinds.randomElement(using: &random) ?? .undated, from..<(from + length)))
    }
  }

  /// Rejections and errors of Fleet Engine, most of them at random, from a seed of their own.
  private mutating func addRefusals() {
    var random = SplitMix64(seed: seed ^ 0x7265_6675)
    guard Int.random(in: 0..<5, using: &random) == 0 else { return }
    let kinds: [Fault.Kind] = [
      .answersSometimes(0.1, 400, "INVALID_ARGUMENT"), .answersSometimes(0.4, 400, "INVALID_ARGUMENT"),
      .answersSometimes(0.2, 403, "PERMISSION_DENIED"), .answersSometimes(0.3, 200, "UNAVAILABLE"),
      .answers(200, "INTERNAL"),
    ]
    let from = Int.random(in: 0..<duration, using: &random)
    let length = Int.random(in: 1...400, using: &random)
    faults.append(Fault(kinds.randomElement(using: &random) ?? .answers(200, "INTERNAL"), from..<(from + length)))
  }

  /// The receivers, their lines to the daemon and the faults of both, and faults of the disk, from a seed of their own.
  private mutating func addLines() {
    var random = SplitMix64(seed: seed ^ 0x6C69_6E65)
    // Longer dialects are rarer, because they take longer to simulate.
    switch Int.random(in: 0..<40, using: &random) {
    case 0: dialect = .own
    case 1...4: dialect = .usual
    case 5...16: dialect = .dateLast
    default: dialect = .brief
    }
    baud = [4800, 9600, 9600, 38_400, 115_200].randomElement(using: &random) ?? 9600
    isAutobaud = Int.random(in: 0..<6, using: &random) == 0
    if Int.random(in: 0..<10, using: &random) == 0 {
      let from = Int.random(in: 1..<duration, using: &random)
      acts.append((from, .reload(vehicle: "truck-2")))
      acts.append((from + Int.random(in: 1...200, using: &random), .reload(vehicle: "truck-1")))
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      secondReceiver =
        Int.random(in: 0..<3, using: &random) > 0
        ? SecondReceiver(lag: [400, 3000, 8000].randomElement(using: &random) ?? 0)
        : SecondReceiver(metresOff: [3, 60, 5000].randomElement(using: &random) ?? 0)
    }
    if Int.random(in: 0..<10, using: &random) == 0 {
      let from = Int.random(in: 0..<duration, using: &random)
      let length = Int.random(in: 1...200, using: &random)
      let kinds: [Fault.Kind] = [.diskFails, .diskDamaged, .diskDeleted]
      faults.append(Fault(kinds.randomElement(using: &random) ?? .diskFails, from..<(from + length)))
    }
    let count = Int.random(in: 0..<3, using: &random)
    for _ in 0..<(secondReceiver == nil ? max(count - 1, 0) : count + 1) {
      let from = Int.random(in: 0..<duration, using: &random)
      let length = Int.random(in: 1...(Bool.random(using: &random) ? 20 : 200), using: &random)
      let kinds: [Fault.Kind] = [
        .noise(0.0005), .noise(0.005), .noise(0.02), .noise(0.3), .bytesLost(0.01), .bytesLost(0.1), .unplugged,
        .unplugged, .mute, .speed(4800), .speed(38_400), .noFix,
      ]
      let source = secondReceiver == nil ? 0 : Int.random(in: 0..<2, using: &random)
      faults.append(Fault(kinds.randomElement(using: &random) ?? .mute, from..<(from + length), of: source))
    }
    let kind = Int.random(in: 0..<5, using: &random)
    (isNetworked, hasModem) = (kind == 0, kind == 1)
  }

  private mutating func removeDate(using random: inout SplitMix64) {
    isDateless = true
    let build = Scenario.buildDate.milliseconds - Scenario.boot.milliseconds
    wallError =
      switch Int.random(in: 0..<6, using: &random) {
      case 0: nil
      case 1: build / 1000 + Int64.random(in: -600...600, using: &random)
      case 2: build / 1000 + Int64.random(in: 0...86_400, using: &random)
      case 3: Int64.random(in: -90_000...90_000, using: &random)
      case 4: Int64.random(in: -1_796_083_200...1_796_083_200, using: &random)
      default: [-86_400, -43_200, 43_200, 86_400].randomElement(using: &random) ?? 0
      }
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let step = Int64.random(in: -100_000...100_000, using: &random)
      acts.append((Int.random(in: 1..<duration, using: &random), .clockStep(step)))
    }
    if Int.random(in: 0..<4, using: &random) > 0 {
      acts.append((Int.random(in: 1..<duration, using: &random), .clockSet))
    }
  }

  private mutating func addConnectivity(using random: inout SplitMix64) {
    acts.append((0, .network(true)))
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      let from = Int.random(in: 1..<duration, using: &random)
      let length = Int.random(in: 1...200, using: &random)
      faults.append(Fault(.unreachable, from..<(from + length)))
      acts.append((from, .network(false)))
      acts.append((from + length, .network(true)))
    }
    if Bool.random(using: &random) {
      acts.append(
        (Int.random(in: 1..<duration, using: &random), .suspend(Int.random(in: 1...4000, using: &random))))
    }
  }

  private static func kind(from: Int, until: Int, using random: inout SplitMix64) -> Fault.Kind {
    let kinds: [Fault.Kind] = [
      .nameServersDead, .unresolved, .unreachable, .unreachable, .silent, .silent, .loss(0.33), .loss(0.7),
      .answersLost,
      .captivePortal, .certificateNotYetValid, .latency(900), .latency(6000),
      .slow(3), .slow(14), .slow(20), .answers(503, "UNAVAILABLE"), .answers(503, "UNAVAILABLE", retryAfter: "30"),
      .answers(429, "RESOURCE_EXHAUSTED", retryAfter: "45"), .answers(429, "RESOURCE_EXHAUSTED", retryInfo: "12.5s"),
      .answers(401, "UNAUTHENTICATED"), .answers(403, "PERMISSION_DENIED"), .answers(404, "NOT_FOUND"),
      .answers(400, "INVALID_ARGUMENT"), .answers(500, "INTERNAL"), .deniesPast,
      .rejectsPositions(Set((0..<3).map { _ in Int.random(in: from...until, using: &random) })), .revoked,
      .providerDown, .providerDown, .providerAnswers(500), .providerAnswers(403), .providerWebPage, .providerForeign,
      .providerStale,
      .noFix, .noFix, .ahead(2), .ahead(90), .ahead(31_536_000), .behind(5), .behind(1000), .jump(5000), .jump(300),
      .twice, .swapped, .heldBack, .noTime, .answersLate, .answersLate, .answers(413, "INVALID_ARGUMENT"), .diskFull,
      .diskFull, .rejectsPast, .mostPast(Int.random(in: 1...12, using: &random)), .mostBytes(1500), .bandwidth(400),
      .rejectsLivePositions(Set((0..<4).map { _ in Int.random(in: from...until, using: &random) })),
    ]
    return kinds.randomElement(using: &random) ?? .silent
  }
}
