// SPDX-License-Identifier: Apache-2.0
import AgentTesting
import Authorization
import Connectivity
import Daemon
import Delivery
import FixSources
import FleetEngine
import HTTPMessages
import PositionBacklog
import Positioning
import Timekeeping
import Vehicle

/// A daemon and the part of a world that it needs, as one value: each order of events uses a copy.
struct SmallWorld {
  /// A request of the daemon to a server.
  private struct Request {
    var id: UInt64
    /// The body of an update; empty for a token request.
    var body = ""
    var endsBy: BootInstant
  }

  /// The update that only sets OFFLINE.
  private static let offline = #"{"vehicleState":"OFFLINE"}"#
  /// The longest wait of a `deadline` step.
  private static let maximumWait = Duration.seconds(120)
  /// The first violation; nil: none.
  private(set) var violation: String?
  private(set) var daemon: Daemon

  private let configuration: Daemon.Configuration
  private let seed: UInt64
  /// The time since the machine was created; `bootedAt` is when the daemon's clock was zero.
  private var now = BootInstant.boot
  private var bootedAt = BootInstant.boot
  private var update: Request?
  private var fetch: Request?
  private var isNetworkUp = true
  /// Whether the driver has paused.
  private var isPaused = false
  private var addresses: UInt8 = 1
  private var fixes = 0
  private var tokens = 0
  /// The longest wait that a failure since the last accepted update may cause, according to its category.
  private var longestBackoff = Duration.seconds(10)
  /// When the last updates of this boot were sent.
  private var attempts: [BootInstant] = []
  private var lastAcceptedAt: BootInstant?
  /// The times of the last fixes during pauses.
  private var pausedStamps: [Timestamp] = []
  // On disk.
  private var disk: [Backlog.ID: Backlog.Record] = [:]
  private var storedToken: Secret?
  private var storedUpdateForm: String?
  private var pauseRecord: PauseRecord?
  private var dutyRecord: DutyRecord?

  init(_ vehicle: VehicleAgent.Configuration, _ jitter: Jitter) {
    seed = jitter.seed
    configuration = Daemon.Configuration(vehicle: vehicle, store: StoreAgent.Configuration(), settingsText: "settings")
    daemon = Daemon(running: configuration, seed: seed)
    start()
  }

  private var moment: Moment {
    Moment(boot: .boot + (now - bootedAt), wall: AgentFixture.start + (now - .boot))
  }

  // MARK: - Steps

  /// Whether this step is possible now.
  func allows(_ step: Step) -> Bool {
    switch step {
    case .fix, .silence, .reload, .powerCut: true
    case .deadline: daemon.nextDeadline.map { $0 - moment.boot <= SmallWorld.maximumWait } ?? false
    case .accepted, .unavailable, .denied, .invalid, .lost: update != nil && (step == .lost || isNetworkUp)
    case .token: fetch != nil && isNetworkUp
    case .noToken: fetch != nil
    case .networkDown: isNetworkUp
    case .networkUp: !isNetworkUp
    case .pause: !isPaused
    case .resume: isPaused
    }
  }

  mutating func take(_ step: Step) {
    let before = daemon.run?.vehicle
    let removedBefore = before?.statistics.removed
    switch step {
    case .fix:
      wait(.seconds(1))
      passFix()
    case .silence: wait(.seconds(1))
    case .deadline:
      if let deadline = daemon.nextDeadline { wait(max(deadline - moment.boot, .milliseconds(1))) }
    case .accepted: answer(AgentFixture.accepted)
    case .unavailable: answer(AgentFixture.error(503, "UNAVAILABLE"), backoff: .seconds(30))
    case .denied: answer(AgentFixture.error(403, "PERMISSION_DENIED"), backoff: .seconds(300))
    case .invalid: answer(AgentFixture.error(400, "INVALID_ARGUMENT"), backoff: .seconds(300))
    case .lost:
      if let endsBy = update?.endsBy, endsBy > now { wait(endsBy - now) }
      if update != nil { answer(.failure(TransportFailure(.timedOut, "no response"))) }
    case .token: giveToken()
    case .noToken:
      guard let id = fetch?.id else { break }
      fetch = nil
      pass(.vehicle(.tokenEnded(id: id, .http(AgentFixture.unreachable))))
    case .networkDown: setNetwork(isUp: false)
    case .networkUp: setNetwork(isUp: true)
    case .pause:
      isPaused = true
      pass(.request(id: 1, .driverCommand(.pause)))
    case .resume:
      isPaused = false
      pass(.request(id: 1, .driverCommand(.resume)))
    case .reload: pass(.reload)
    case .powerCut: cutPower()
    }
    if step != .powerCut, let before, let removedBefore { checkBacklog(before, removedBefore, step) }
    if !daemon.isProgressing(at: moment.boot) { violate("the watchdog would restart the daemon") }
  }

  /// The world after these steps.
  func after(_ steps: [Step]) -> SmallWorld {
    var world = self
    for step in steps { world.take(step) }
    return world
  }

  /// Time passes, and the daemon is called at its deadlines.
  mutating func wait(_ duration: Duration) {
    let end = now + duration
    var calls = 0
    while let deadline = daemon.nextDeadline.map({ bootedAt + ($0 - .boot) }), deadline <= end {
      now = max(now, deadline)
      pass(.deadline)
      calls += 1
      guard calls < 500 else { return violate("the daemon is called \(calls) times in \(duration)") }
    }
    now = end
    for request in [update, fetch] where request.map({ $0.endsBy < now }) == true { endOverdue() }
  }

  /// A transport ends each request at its deadline.
  private mutating func endOverdue() {
    if let request = update, request.endsBy < now { answer(.failure(TransportFailure(.timedOut, "no response"))) }
    if let request = fetch, request.endsBy < now {
      fetch = nil
      pass(.vehicle(.tokenEnded(id: request.id, .http(.failure(TransportFailure(.timedOut, "no response"))))))
    }
  }

  /// The vehicle drives north, 14 m from fix to fix.
  private static func latitude(after fixes: Int) -> Double { 48 + Double(fixes) * 14 / 111_200 }

  private mutating func passFix() {
    fixes += 1
    guard let coordinate = Coordinate(latitude: SmallWorld.latitude(after: fixes), longitude: 11) else { return }
    var fix = Fix(coordinate: coordinate, time: .utc(moment.wall))
    fix.speed = 14
    fix.horizontalAccuracy = 3
    fix.satellites = 9
    if isPaused { pausedStamps = pausedStamps.suffix(7) + [moment.wall] }
    pass(.vehicle(.source(0, .fix(fix))))
  }

  private mutating func giveToken() {
    guard let id = fetch?.id else { return }
    fetch = nil
    tokens += 1
    // Base64url of {"authorization":{"deliveryvehicleid":"truck-1","vehicleid":"truck-1"}}.
    let claims = "eyJhdXRob3JpemF0aW9uIjp7ImRlbGl2ZXJ5dmVoaWNsZWlkIjoidHJ1Y2stMSIsInZlaGljbGVpZCI6InRydWNrLTEifX0"
    let body = [UInt8](#"{"token":"e30.\#(claims).s\#(tokens)","seconds":3600}"#.utf8)
    pass(.vehicle(.tokenEnded(id: id, .http(.response(HTTPResponse(status: 200, body: body))))))
  }

  private mutating func answer(_ outcome: HTTPOutcome, backoff: Duration = .seconds(10)) {
    guard let request = update else { return }
    update = nil
    longestBackoff = max(longestBackoff, backoff)
    // The minimum interval does not apply to OFFLINE without a position.
    if outcome == AgentFixture.accepted, request.body != SmallWorld.offline {
      if let last = lastAcceptedAt, now - last < .seconds(5) { violate("two accepted updates in \(now - last)") }
      (lastAcceptedAt, longestBackoff) = (now, .seconds(10))
    }
    pass(.vehicle(.updateEnded(id: request.id, outcome)))
  }

  private mutating func setNetwork(isUp: Bool) {
    isNetworkUp = isUp
    var state = NetworkState()
    if isUp {
      addresses &+= 1
      state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, addresses])]
      state.routes = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [], priority: 0)]
      state.linkNames = ["wwan0"]
    }
    pass(.vehicle(.network(state)))
  }

  private mutating func cutPower() {
    now = now + .seconds(20)
    bootedAt = now
    (update, fetch, attempts, lastAcceptedAt) = (nil, nil, [], nil)
    daemon = Daemon(running: configuration, seed: seed)
    start()
  }

  private mutating func start() {
    if let storedUpdateForm { pass(.vehicle(.updateFormFound(storedUpdateForm))) }
    if let storedToken { pass(.vehicle(.tokenFound(storedToken))) }
    if pauseRecord != nil || dutyRecord != nil {
      pass(.driverRecordsFound(DriverRecords(pause: pauseRecord, duty: dutyRecord)))
    }
    pass(.start)
    setNetwork(isUp: isNetworkUp)
    pass(.request(id: 0, .monitorPositions))
    pass(.vehicle(.sources([AgentFixture.source])))
    pass(.vehicle(.source(0, .reading("/dev/gps0"))))
  }

  /// The state that decides how the world continues.
  ///
  /// - Parameter isListed: whether to record its values.
  func projection(isListed: Bool = false) -> Projection {
    var projection = Projection(at: moment, latitude: SmallWorld.latitude(after: fixes), isListed: isListed)
    // Adds instants of the world, converted to the daemon's clock.
    func add(_ instants: [BootInstant], _ name: String) {
      projection.add(instants.map { .boot + ($0 - bootedAt) } as [BootInstant], name)
    }
    projection.add(update.map { $0.body == SmallWorld.offline } as Any, "update")
    add([update, fetch].compactMap { $0?.endsBy }, "endsBy")
    add(lastAcceptedAt.map { [$0] } ?? [], "lastAcceptedAt")
    add(attempts, "attempts")
    projection.add(isNetworkUp, "isNetworkUp")
    projection.add(isPaused, "isPaused")
    projection.add(longestBackoff, "longestBackoff")
    projection.add(pausedStamps, "pausedStamps")
    projection.add(storedToken != nil, "storedToken")
    projection.add(storedUpdateForm as Any, "storedUpdateForm")
    projection.add(pauseRecord as Any, "pauseRecord")
    projection.add(dutyRecord as Any, "dutyRecord")
    projection.add(disk.values.sorted { $0.id < $1.id }, "disk")
    if let run = daemon.run { projection.add(run, "run") }
    return projection
  }

  // MARK: - Effects

  private mutating func pass(_ input: Daemon.Input) {
    var inputs = [input]
    while !inputs.isEmpty {
      for effect in daemon.handle(inputs.removeFirst(), at: moment) { perform(effect, &inputs) }
    }
  }

  private mutating func perform(_ effect: Daemon.Effect, _ inputs: inout [Daemon.Input]) {
    switch effect {
    case .sendUpdate(let id, let request): send(id, request)
    case .cancelUpdate(let id): if update?.id == id { update = nil }
    case .fetchToken(let id, let request):
      if fetch != nil { violate("two token fetches at once") }
      if isPaused, daemon.run?.vehicle.dutyRefusal != nil { violate("a token fetch during a pause") }
      fetch = Request(id: id, endsBy: now + .seconds(30))
      if case .http(let request) = request { fetch?.endsBy = now + request.deadline }
    case .cancelToken(let id): if fetch?.id == id { fetch = nil }
    case .storeToken(let token): storedToken = token
    case .removeStoredToken: storedToken = nil
    case .storeUpdateForm(let text): storedUpdateForm = text
    case .storePause(let record):
      pauseRecord = record
      inputs.append(.pauseStored(nil))
    case .storeDuty(let record):
      dutyRecord = record
      inputs.append(.dutyStored(nil))
    case .lockVehicle: inputs.append(.vehicle(.vehicleLocked(by: nil)))
    case .readSettings: inputs.append(.settingsRead(.valid(configuration)))
    case .position: if isPaused { violate("a position of a pause is reported to a program") }
    case .store(let operation): if let outcome = run(operation) { inputs.append(.storeEnded(outcome)) }
    default: break
    }
  }

  private mutating func run(_ operation: StoreAgent.Operation) -> StoreAgent.Outcome? {
    switch operation {
    case .open, .replace: return .opened(nil)
    case .commit(let writes):
      for write in writes { disk[write.key.id] = write.record }
      return .committed
    case .makeRoom: return .madeRoom(dropped: 0)
    case .read: return .read(disk.values.sorted { $0.id < $1.id })
    case .forgetOthers: return .forgotten
    case .close: return nil
    }
  }

  private mutating func send(_ id: UInt64, _ request: HTTPRequest) {
    if update != nil { violate("two updates in flight") }
    if let last = attempts.last, now - last < .seconds(1) { violate("two updates within a second") }
    attempts = attempts.filter { now - $0 < .seconds(60) } + [now]
    if attempts.count > 12 { violate("\(attempts.count) updates in a minute") }
    let body = String(decoding: request.body, as: UTF8.self)
    if isPaused, body != SmallWorld.offline { violate("an update in a pause") }
    for stamp in pausedStamps.map(\.canonicalJSON) where body.contains(stamp) {
      violate("the position of \(stamp), which is from a pause")
    }
    update = Request(id: id, body: body, endsBy: now + request.deadline)
  }

  // MARK: - Invariants

  /// Checks that each position that has left the backlog is counted, and as delivered only after an accepted update.
  private mutating func checkBacklog(
    _ before: VehicleAgent, _ removedBefore: [Backlog.Removal: Int], _ step: Step
  ) {
    guard let vehicle = daemon.run?.vehicle else { return violate("there are no settings any more") }
    let kept = Set(vehicle.delivery.backlog.records.map(\.id))
    let gone = before.delivery.backlog.records.count { !kept.contains($0.id) }
    guard gone > 0 else { return }
    let removed = vehicle.statistics.removed
    let counted = removed.values.reduce(0, +) - removedBefore.values.reduce(0, +)
    if counted < gone { violate("\(gone) positions have left the backlog, and \(counted) are counted") }
    if removed[.delivered, default: 0] > removedBefore[.delivered, default: 0], step != .accepted {
      violate("positions count as delivered without a response")
    }
  }

  /// Continues without further faults until Fleet Engine has the next position.
  ///
  /// - Returns: the time until then; nil if it is longer than the last failure allows, or if there is a violation.
  mutating func recover() -> Duration? {
    let start = now
    if !isNetworkUp { take(.networkUp) }
    if isPaused { take(.resume) }
    // At most twelve updates are sent in a minute, and requests in flight end at their deadline.
    let limit = longestBackoff + .seconds(60 + 15)
    while now - start <= limit {
      if fetch != nil { take(.token) }
      if let body = update?.body, body != SmallWorld.offline {
        take(.accepted)
        return violation == nil ? now - start : nil
      }
      if update != nil { take(.accepted) }
      take(.fix)
      guard violation == nil else { return nil }
    }
    violate("no update within \(limit) although everything works")
    return nil
  }

  private mutating func violate(_ what: String) {
    violation = violation ?? what
  }
}
