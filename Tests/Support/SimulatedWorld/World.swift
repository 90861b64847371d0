// SPDX-License-Identifier: Apache-2.0
import Authorization
import Connectivity
import FleetEngine
import HTTPMessages
import FixSources
import Positioning
import Daemon
@testable import Reporting
import PositionBacklog
import Delivery
@testable import Vehicle
import Timekeeping

/// The vehicle's counters, and the time of its newest position.
struct VehicleState {
  var statistics: Statistics
  var newestTime: Timestamp?
}

/// The state of the vehicle that the world checks after each call. Reading one of these properties through the daemon
/// would first copy all of its state.
struct SettledVehicle {
  var plan: Plan
  var tokenFailures: [String: Int]
  var pendingCount: Int
  var backlogCount: Int
  var isParked: Bool
  /// The timestamp of the last reported position (sent or queued), and whether Fleet Engine has accepted it, or has
  /// rejected it as the live position, so that the previous one was sent.
  var reported: (time: Timestamp, isAnswered: Bool)?
}

// Methods and not initializers, which would copy the vehicle.
extension VehicleAgent {
  var state: VehicleState { VehicleState(statistics: statistics, newestTime: newestTime) }

  func settled(at now: BootInstant) -> SettledVehicle {
    let reported = policy.lastReported.map { last in
      let time = last.location.time
      return (time, time == delivery.delivered?.time || !delivery.mayBeLive(last.location))
    }
    return SettledVehicle(
      plan: plan(at: now), tokenFailures: statistics.tokenFailures, pendingCount: delivery.pendingCount,
      backlogCount: delivery.backlog.count, isParked: isParked, reported: reported)
  }
}

/// Simulates a day in a fraction of a second: one `Daemon`, and its environment in virtual time.
///
/// The world performs the daemon's effects, calls it at its deadlines, and checks the invariants throughout; violations
/// are in `violations`.
final class World {
  enum TimedEvent {
    case tick(second: Int)
    case act(Scenario.Act)
    case requestArrives(id: UInt64)
    case updateEnds(id: UInt64, HTTPOutcome)
    case tokenRequestArrives(id: UInt64)
    case tokenEnds(id: UInt64, HTTPOutcome)
    /// A response to a request that was cancelled before.
    case lateAnswer(id: UInt64, HTTPOutcome)
    case powerReturns
    /// The result of an attempt to lock the vehicle.
    case lockAttempted(runNumber: UInt64)
    /// The daemon notices that the store's directory was deleted.
    case deletionNoticed(runNumber: UInt64)
  }

  struct Flight {
    var request: HTTPRequest
    var sentAt: BootInstant
    var vehicle: String
    /// The latest time at which the request ends.
    var endsBy: BootInstant
    /// The connection's fault; nil if the connection is good.
    var badConnection: Fault.BadConnection?
    /// Whether its connection has already carried a request that was answered.
    var isOnReusedConnection = false
  }

  struct Attempt {
    var id: UInt64
    var at: BootInstant
    var vehicle: String
    /// When the settings began to name the vehicle.
    var vehicleSince: BootInstant
    var endedAt: BootInstant?
    var isAccepted = false
    /// The status of the response; nil while there is none.
    var status: Int?
    /// The number of the daemon's restarts before this run.
    var runNumber: UInt64
    var boots: Int
    /// Whether no connection was established for it.
    var isUnsent = false
    /// Whether the server refused it unread.
    var isUnprocessed = false
    /// The wait that the response asked for; nil if none.
    var askedWait: Duration?
  }

  let scenario: Scenario
  private(set) var daemon: Daemon
  /// Whether the daemon has settings, and with them a vehicle.
  private(set) var isRunning = false
  /// The vehicle after the last call; nil before the first.
  private(set) var settled: SettledVehicle?
  /// The daemon's vehicle, once there are settings.
  var agent: VehicleAgent {
    guard let run = daemon.run else { preconditionFailure("there are no settings yet") }
    return run.vehicle
  }
  var now = BootInstant.boot
  var drive: PlannedDrive
  var receivers: [Receiver]
  var ports: [Port]
  /// Per second since boot: whether a valid position is available, and the speed.
  var track: [(hasFix: Bool, speed: Double)] = []
  /// The number of fixes from corrupted sentences with a valid checksum.
  var fixesOfCollisions = 0
  var server = FleetEngineServer()
  var provider = TokenProviderServer()
  /// The connection through the daemon's own HTTP/2, which every third run uses for updates; nil in the others.
  var line: VirtualLine?
  /// When connections to Fleet Engine were established, and whether the last is open.
  var connections: [Double] = []
  var isConnected = false
  /// Whether the open connection has carried a request that was answered.
  var hasConnectionAnswered = false
  var attempts: [Attempt] = []
  var fetches: [BootInstant] = []
  /// The fetches with settings that name a wrong token provider.
  var wrongFetches: [BootInstant] = []
  var events: [(at: BootInstant, event: Event)] = []
  /// When token fetches failed.
  var tokenFailures: [BootInstant] = []
  /// When the machine knew that it had no network.
  var disconnectedSpans: [ClosedRange<BootInstant>] = []
  /// The times in which the machine was suspended.
  var suspendedSpans: [ClosedRange<BootInstant>] = []
  /// When the agent dropped the open connections.
  var drops: [BootInstant] = []
  var finishedAt: BootInstant?
  var ending: Lifecycle.Ending?
  var violations: [String] = []
  /// The backlog, computed from the effects alone.
  var copy: [Backlog.ID: Backlog.Record] = [:]
  /// Stored positions by vehicle: of the machine's other vehicles, and of the current one until they are restored.
  var unrestored: [String: [Backlog.ID: Backlog.Record]] = [:]
  var disk = Disk()
  var openFile = OpenFile()
  /// Inputs that have not been passed to the daemon yet: some arise while effects are performed, such as the outcome of
  /// an operation on the disk.
  private var inputs: [Pending] = []
  private var isStepping = false
  /// Whether the vehicle has had an input since the published data was last checked.
  private var hasCalledVehicle = false
  /// The vehicle that the settings files name.
  var settingsVehicle = "truck-1"
  /// Whether the daemon may read the settings: it is starting, or a reload was requested.
  var mayReadSettings = false
  /// Whether the daemon has used settings since its start.
  private var hasSettings = false
  /// Settings, credentials and directories.
  var installation = Installation()
  /// The settings that were read and are not in use yet.
  private var nextConfiguration: VehicleAgent.Configuration?
  /// Whether another process has locked the vehicle of the settings that were read.
  private var isNextVehicleInUse = false
  /// The data that the daemon has published.
  var published = Published()
  /// The messages between the daemon's parts in the last step; the vehicle's state before each, recorded from the first
  /// fix without a date on; and whether the vehicle was parked at that moment.
  private(set) var messages: [(message: Daemon.Message, before: VehicleState?, isParked: Bool)] = []
  /// The indices of the ports, by the IDs of the daemon's sources.
  var portsBySource: [Int: Int] = [:]
  /// The starts of the faults that have damaged or deleted the store's file: each does so only once.
  var damages: Set<Int> = []
  var removals: [(record: Backlog.Record, reason: Backlog.Removal, vehicle: String, at: BootInstant)] = []
  /// Every position that was ever queued: when, whether in a long outage, and its place.
  var recorded: [Disk.Key: (at: BootInstant, isInOutage: Bool, place: Coordinate)] = [:]
  /// Whether the daemon considers servers reachable.
  var reach = Reach()
  /// The position of a stop in a long outage, until all effects of its step are performed.
  var newStop: Backlog.ID?
  /// Whether the vehicle was parked at the last report of this run; nil before the first.
  var wasParked: Bool?
  /// Positions that were lost in a power cut, or with the store's file.
  var lostInCuts: Set<Disk.Key> { Set(lostAt.keys) }
  /// When each of these positions was lost.
  private(set) var lostAt: [Disk.Key: BootInstant] = [:]
  /// Positions that the store has dropped because they expired while another vehicle was configured.
  var forgotten: Set<Disk.Key> = []
  /// The number of times that a power cut has restored a position that had been removed, because its removal was not on
  /// disk yet.
  var revived: [Disk.Key: Int] = [:]
  /// The largest reported error of thinning in metres, over all runs.
  var thinnedWithin = 0.0
  var transcript: [TranscriptLine] = []
  /// The state in each second, for the picture of a transcribed run.
  var pictured: [PictureSecond] = []
  var hasFixSinceTick = false
  var lastCause: CauseCase?
  /// The cases that the run has covered.
  var coverage = Coverage()
  /// A checksum of all requests so far.
  var requestChecksum = RunChecksum()
  /// The vehicle of the settings that were read last; and the vehicle of the settings in force, with the time since
  /// which they name it.
  var vehicle = "truck-1"
  private var vehicleInForce = (name: "truck-1", since: BootInstant.boot)
  /// The number of pending positions at each second in which the machine was not suspended.
  var waiting: [Int] = []
  /// The number of calls of the agent.
  var calls = 0
  var isTranscribing = false
  /// What the agent planned at its last call.
  var lastPlan: Plan?
  /// Determines the calls at which the plan is verified in advance.
  let phase: Int
  /// Whether the plan is verified again before the next call.
  var looksAhead = false

  var configuration: VehicleAgent.Configuration
  var queue = EventQueue<TimedEvent>()
  var random: SplitMix64
  var update: (id: UInt64, flight: Flight)?
  var fetch: (id: UInt64, flight: Flight)?
  var received: [String: BootInstant] = [:]
  /// How long the request of each received token took: its `iat` is as imprecise as that.
  private(set) var requestTimes: [String: Duration] = [:]
  /// The longest time from a request to its response, of all responses received: a timestamp that was corrected only by
  /// their times may be late by this.
  private(set) var slowestResponse = Duration.zero
  var deadline: BootInstant?
  var wallError: Int64
  /// The number of the daemon's restarts; and when the machine was booted, as the daemon sees it.
  var runNumber: UInt64 = 0
  var bootedAt = BootInstant.boot
  var isOff = false
  /// When the last suspend ended, and its duration.
  var resumedAt = BootInstant.boot
  var suspendedFor = Duration.zero
  /// The number of effects until the power is cut or the daemon is killed, and for how many seconds.
  var cut: (effects: Int, seconds: Int, isOfPower: Bool)?
  /// When the power was cut or the daemon was killed: later than the act, by the number of effects that it names.
  var cutAt: [BootInstant] = []
  /// The number of reboots. The stored token survives them in the simulation: the daemon has to detect that it is from
  /// another boot.
  var boots = 0
  var storedToken: Secret?
  /// The stored run state, in memory until the machine loses power.
  var storedRunState: String?
  /// The stored update form, on disk.
  var storedUpdateForm: String?
  /// The number of consecutive compact updates that were rejected for their form, since the daemon's start; and its
  /// maximum.
  var formRefusals = 0
  var mostFormRefusals = 0
  /// When the running daemon was started.
  var startedAt = BootInstant.boot
  /// When the daemon was started, by the number of the run.
  var starts: [UInt64: BootInstant] = [:]
  /// Requests that were cancelled, and may still arrive.
  var abandoned: [UInt64: Flight] = [:]
  var abandonedIDs: Set<UInt64> = []
  /// The number of addresses that the machine has had.
  var addresses: UInt8 = 0
  var suspendedUntil: BootInstant?
  /// The stored pause, and its beginning.
  var pauseNote: PauseRecord?
  var pausedAt: BootInstant?
  /// The stored record of the time off duty; nil on duty.
  var dutyNote: DutyRecord?
  /// The time since which the vehicle has to be OFFLINE because of a pause or the duty; nil if it does not have to be.
  var offlineSince: BootInstant?
  /// When the daemon recorded, after `offlineSince`, that OFFLINE is final; nil if it has not.
  var offlineSettledAt: BootInstant?
  /// The vehicle that the daemon has locked.
  var lockedVehicle: String?
  /// When another daemon locked the vehicle; nil if none has locked it.
  var inUseSince: BootInstant?
  /// Whether the daemon needs fixes.
  var areFixesNeeded = true
  /// When `areFixesNeeded` last changed; nil: not since the start.
  var neededSince: BootInstant?
  /// Pauses that have ended, and times in which another daemon had the vehicle.
  var inactiveSpans: [ClosedRange<BootInstant>] = []
  var absentSince: BootInstant?

  init(_ scenario: Scenario) throws {
    self.scenario = scenario
    phase = Int(scenario.seed % 32)
    if scenario.seed % 3 == 0 { line = VirtualLine(seed: scenario.seed) }
    configuration = try World.configuration(vehicle: "truck-1")
    scenario.applySettings(to: &configuration)
    configuration.tokenKey = StoredToken.Key(subject: "truck-1", boot: "0")
    configuration.boot = "0"
    daemon = World.daemon(seed: scenario.seed)
    guard let start = Coordinate(latitude: 48.137, longitude: 11.575) else { throw ScenarioError.noStart }
    drive = PlannedDrive(scenario.drive, from: start, seed: scenario.seed &+ 7)
    let sources = scenario.secondReceiver == nil ? 0..<1 : 0..<2
    receivers = sources.map { Receiver(scenario, index: $0) }
    ports = sources.map { index in
      Port(
        isNetwork: scenario.isNetworked && index == 0, isGPSD: scenario.hasGPSD && index == 0,
        isSplit: scenario.isSplit && !scenario.hasModem, recording: index == 0 ? scenario.recording : nil,
        faults: scenario.faults.filter { $0.place == .line && $0.source == index },
        seed: scenario.seed &+ 5077 &+ UInt64(index))
    }
    random = SplitMix64(seed: scenario.seed &+ 999)
    wallError = scenario.wallError ?? -Scenario.boot.milliseconds / 1000
    queue.schedule(.tick(second: 1), at: World.time(1))
    for (second, act) in scenario.acts { queue.schedule(.act(act), at: World.time(second)) }
    writeRecording()
  }

  static func configuration(vehicle: String, provider: String = "token") throws -> VehicleAgent.Configuration {
    guard let context = AuthorizationContext(providerID: "provider", scope: .deliveryVehicle(vehicle)) else {
      throw ScenarioError.noContext
    }
    return VehicleAgent.Configuration(
      context: context,
      tokenProvider: .http(
        TokenEndpoint(
          urlTemplate: "https://tokens.test/\(provider)/{vehicle_id}",
          format: TokenResponseFormat(
            tokenKey: "token", expirationKey: "expiration_timestamp_ms", expiration: .epochMilliseconds))),
      filter: FixFilter.Configuration(buildDate: Scenario.buildDate),
      reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(
          origin: "https://fleetengine.test",
          vehicle: FleetEngineVehicle(service: .deliveries, providerID: "provider", vehicleID: vehicle))))
  }

  /// The daemon at the start of a run.
  static func daemon(
    seed: UInt64, pause: PauseRecord? = nil, traffic: String? = nil, confirmation: String? = nil,
    at now: BootInstant = .boot
  ) -> Daemon {
    Daemon(
      seed: seed, waitsForSettings: true, buildDate: Scenario.buildDate, pause: pause, traffic: traffic,
      confirmation: confirmation,
      at: now)
  }

  static let silenceTimeout = Duration.seconds(10)
  /// The number of seconds within which the daemon must find a good one of several sources: another's silence timeout,
  /// its clock's lag, and a margin.
  static let electionTime = 25

  static func time(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  var second: Double { World.seconds(now) }
  static func seconds(_ instant: BootInstant) -> Double { Double(instant.nanoseconds) / 1e9 }

  var moment: Moment {
    Moment(
      boot: bootNow,
      wall: Timestamp(milliseconds: Scenario.bootMilliseconds + now.nanoseconds / 1_000_000 + wallError * 1000))
  }

  var bootNow: BootInstant { BootInstant(nanoseconds: now.nanoseconds - bootedAt.nanoseconds) }

  // MARK: - Running

  /// The origin of the next event.
  private enum Turn { case queue, port(Int), daemon }

  /// Runs until the scenario ends or the daemon exits.
  func run() {
    let end = World.time(scenario.duration)
    launch()
    while finishedAt == nil, violations.count < 20 {
      let (turn, time) = nextTurn
      guard time <= end else { break }
      now = max(time, now)
      switch turn {
      case .queue:
        if let event = queue.next() { perform(event) }
        if let wake = suspendedUntil {
          suspendedUntil = nil
          suspend(until: wake)
        }
      case .port(let index): advancePort(index)
      case .daemon: pass(.deadline)
      }
    }
    now = finishedAt ?? end
    if fetch != nil { tokenFailures.append(now) }
    coverRest()
    checkAfterwards()
  }

  /// Replaces the daemon with a new process, for the next `launch`.
  func replaceDaemon(by new: Daemon) {
    daemon = new
    nextConfiguration = nil
    isRunning = false
    settled = nil
  }

  /// Starts the daemon.
  func launch() {
    mayReadSettings = true
    hasSettings = false
    pass(.launched)
  }

  private var nextTurn: (Turn, BootInstant) {
    var (turn, time) = (Turn.queue, queue.nextTime ?? .distantFuture)
    guard !isOff else { return (turn, time) }
    for index in ports.indices where ports[index].next < time { (turn, time) = (.port(index), ports[index].next) }
    if let deadline, deadline < time { (turn, time) = (.daemon, deadline) }
    return (turn, time)
  }

  func perform(_ event: TimedEvent) {
    switch event {
    case .tick(let second):
      waiting.append(copy.count)
      transmit(second: second)
      checkWaiting()
      coverDuty()
      noteFaults(second: second)
      if second < scenario.duration { queue.schedule(.tick(second: second + 1), at: World.time(second + 1)) }
    case .act(let act): perform(act)
    case .powerReturns: powerReturns()
    case .lockAttempted(let number): if !isOff, number == runNumber { lockVehicle() }
    case .deletionNoticed(let number): if !isOff, number == runNumber { noticeDeletion() }
    case .lateAnswer(let id, let outcome):
      if !isOff, id >> 32 == runNumber { handle(.updateEnded(id: id & 0xFFFF_FFFF, outcome)) }
    case .requestArrives(let id): updateArrives(id)
    case .tokenRequestArrives(let id): tokenRequestArrives(id)
    case .updateEnds(let id, let outcome):
      guard let (current, flight) = update, current == id else { return }
      let outcome = throughHTTP2(outcome)
      if case .response = outcome { slowestResponse = max(slowestResponse, now - flight.sentAt) }
      update = nil
      if let index = attempts.lastIndex(where: { $0.id == id }) {
        attempts[index].endedAt = now
        if case .response(let response) = outcome {
          attempts[index].status = response.status
          attempts[index].askedWait = World.askedWait(of: response)
          if server.refusedForms.contains(id) { formRefusals += 1 } else if response.status == 200 { formRefusals = 0 }
          mostFormRefusals = max(mostFormRefusals, formRefusals)
        }
        if case .failure(let failure) = outcome {
          switch failure.kind {
          case .unresolved, .unreachable, .refused, .certificateNotYetValid, .certificateExpired, .certificateUntrusted:
            attempts[index].isUnsent = true
          case .unprocessed: attempts[index].isUnprocessed = true
          default: break
          }
        }
        if case .response(let response) = outcome, response.status == 200, response.body.first == UInt8(ascii: "{") {
          attempts[index].isAccepted = true
        }
      }
      handle(.updateEnded(id: id & 0xFFFF_FFFF, outcome))
      coverForm()
    case .tokenEnds(let id, let outcome):
      guard let (current, flight) = fetch, current == id else { return }
      if case .response = outcome { slowestResponse = max(slowestResponse, now - flight.sentAt) }
      fetch = nil
      if case .response(let response) = outcome, let body = StrictJSON(response.body)?.object,
        let token = body["token"]?.string
      {
        received[token] = now
        requestTimes[token] = now - flight.sentAt
      }
      handle(.tokenEnded(id: id & 0xFFFF_FFFF, .http(outcome)))
    }
  }

  func perform(_ act: Scenario.Act) {
    note("* \(act)")
    guard !isOff else {
      // The machine's clock runs while the machine is off, and may be stepped or set before the daemon starts.
      if case .clockStep(let seconds) = act { wallError += seconds }
      if case .clockSet = act { wallError = 0 }
      // The settings files can be edited while the daemon is not running.
      if scenario.hasInstallationFaults, case .reload(let other) = act { settingsVehicle = other }
      if case .edit(let isTokenWrong, _) = act { edit(isTokenWrong: isTokenWrong) }
      return
    }
    coverage.acts.cover(ActCase(act))
    switch act {
    case .networkUp: changeNetwork()
    case .network(let isUsable): changeNetwork(isUsable: isUsable)
    case .suspend(let seconds): suspendedUntil = min(now + .seconds(seconds), World.time(scenario.duration))
    case .stop(let seconds): handle(.stop(within: .seconds(seconds), signal: "SIGTERM"))
    case .sourceEnded: endSources()
    case .clockStep(let seconds):
      wallError += seconds
      handle(.clockStepped(.seconds(seconds)))
    case .clockSet:
      let step = -wallError
      wallError = 0
      handle(.clockStepped(.seconds(step)))
    case .powerCut(let effects, let seconds): cut = (max(effects, 0), seconds, isOfPower: true)
    case .kill(let effects, let seconds): cut = (max(effects, 0), seconds, isOfPower: false)
    case .reload(let other):
      settingsVehicle = other
      mayReadSettings = true
      pass(.reload)
    case .ask(let request): ask(request)
    case .edit(let isTokenWrong, let confirm):
      edit(isTokenWrong: isTokenWrong)
      if let confirm { ask(.confirmedReload(within: .seconds(confirm))) }
    case .deleteDirectory(let milliseconds): deleteDirectory(noticedAfter: .milliseconds(milliseconds))
    case .pause where scenario.hasInstallationFaults: ask(.driverCommand(.pause))
    case .resume where scenario.hasInstallationFaults: ask(.driverCommand(.resume))
    case .goOffline where scenario.hasInstallationFaults: ask(.driverCommand(.offline))
    case .goOnline where scenario.hasInstallationFaults: ask(.driverCommand(.online))
    case .pause: handle(.pause(nil))
    case .resume: handle(.resume)
    case .goOffline: if agent.dutyRefusal == nil { handle(.goOffline(nil)) }
    case .goOnline: if agent.dutyRefusal == nil { handle(.goOnline) }
    }
  }

  /// The network disappears or returns; each time that it returns, the machine has another address.
  func changeNetwork(isUsable: Bool = true) {
    var state = NetworkState()
    if let absentSince { disconnectedSpans.append(absentSince...now) }
    absentSince = isUsable ? nil : now
    state.isIsolated = !isUsable && scenario.seed % 3 == 0
    if isUsable {
      addresses &+= 1
      state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, addresses])]
      state.routes = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [], priority: 0)]
      state.linkNames = ["wwan0"]
    }
    handle(.network(state))
  }

  // MARK: - Suspend

  /// Suspends the machine: the rest of the world continues, and none of its events reach the machine.
  func suspend(until wake: BootInstant) {
    let suspendedAt = now
    while let time = queue.nextTime, time < wake, let event = queue.next() {
      now = max(time, now)
      switch event {
      case .tick(let second):
        skipTransmission(second: second)
        noteFaults(second: second)
        if second < scenario.duration { queue.schedule(.tick(second: second + 1), at: World.time(second + 1)) }
      case .requestArrives(let id): updateArrives(id)
      case .tokenRequestArrives(let id): tokenRequestArrives(id)
      case .updateEnds(let id, _):
        queue.schedule(
          .updateEnds(id: id, .failure(TransportFailure(.timedOut, "suspended"))), at: wake + .milliseconds(1))
      case .tokenEnds(let id, _):
        queue.schedule(
          .tokenEnds(id: id, .failure(TransportFailure(.timedOut, "suspended"))), at: wake + .milliseconds(1))
      case .act, .lockAttempted, .deletionNoticed: queue.schedule(event, at: wake + .milliseconds(2))
      case .lateAnswer, .powerReturns: break
      }
    }
    now = wake
    (resumedAt, suspendedFor) = (wake, wake - suspendedAt)
    suspendedSpans.append(suspendedAt...wake)
    handle(.resumed(after: wake - suspendedAt))
  }

  /// Passes the daemon the settings that it has requested.
  private func readSettings() {
    if !mayReadSettings, isRunning { violate("settings are read without a reload") }
    mayReadSettings = false
    for fault in scenario.faults
    where fault.place == .settings && scenario.hasInstallationFaults && fault.isActive(at: second) {
      coverage.faults.cover(FaultCase(fault.kind))
    }
    pass(.settingsRead(settingsFault ?? validSettings(of: settingsVehicle, installation.edition)))
  }

  /// Valid settings that name this vehicle, with everything that they need.
  func validSettings(of other: String, _ edition: Installation.Edition) -> SettingsOutcome {
    guard var new = try? World.configuration(vehicle: other, provider: edition.path) else {
      return .invalid("no vehicle")
    }
    scenario.applySettings(to: &new)
    // A stored token of another provider is not used.
    let subject = edition.number == 0 ? other : "\(other)/\(edition.path)"
    new.tokenKey = StoredToken.Key(subject: subject, boot: "\(boots)")
    new.boot = "\(boots)"
    let holder = lock(other)
    isNextVehicleInUse = holder != nil
    let kept = installation.keptVehicle.map { installation.keptEdition.parts(of: $0) }
    return .valid(
      scenario.daemonConfiguration(new, parts: edition.parts(of: other), kept: kept), lockedBy: holder)
  }

  /// The daemon uses these settings from now on. Until then, it stores the positions of the previous vehicle.
  private func configure(_ new: VehicleAgent.Configuration) {
    nextConfiguration = nil
    configuration = new
    let other = new.delivery.endpoint.vehicle.vehicleID
    guard other != vehicle else { return }
    unrestored = pending
    forgetMissing()
    vehicle = other
    offlineSettledAt = nil
    copy = [:]
  }

  func handle(_ input: VehicleAgent.Input) { pass(.vehicle(input)) }

  /// An input that waits until the effects of the earlier ones are performed.
  private enum Pending {
    case input(Daemon.Input)
    /// Data that has arrived at a port is passed to the daemon.
    case read(port: Int, isDrain: Bool)
  }

  /// Passes the daemon an input, after all earlier ones, as the shell does.
  func pass(_ input: Daemon.Input) {
    inputs.append(.input(input))
    stepAll()
  }

  /// Data that has arrived at a port is passed to the daemon after all earlier inputs.
  func pendRead(of port: Int, isDrain: Bool) {
    inputs.append(.read(port: port, isDrain: isDrain))
  }

  /// Passes the daemon the data that has arrived at the line of a source.
  func receive(_ bytes: [UInt8], from sender: SourceSender, of id: Int) {
    let wasStepping = isStepping
    isStepping = true
    if isTranscribing { note("> line \(id): \(bytes.count) bytes", isDetail: true) }
    step { $0.receive(bytes.span, from: sender, of: id, at: moment, observer: $1) }
    isStepping = wasStepping
    stepAll()
  }

  private func stepAll() {
    guard !isStepping else { return }
    isStepping = true
    while !inputs.isEmpty, !isOff, finishedAt == nil {
      switch inputs.removeFirst() {
      case .input(let input):
        if isTranscribing { note("> \(World.brief(input))", isDetail: World.isDetail(input)) }
        cover(input)
        switch input {
        case .settingsRead(.valid(let new, _)), .keptSettingsRead(.read(.valid(let new, _))):
          guard !areRejected(new, input) else { break }
          begin(new.parts)
          if isRunning { nextConfiguration = new.vehicle } else { configure(new.vehicle) }
        // Without settings, the daemon does not notice such an input.
        case .vehicle(let input) where isRunning: reach.note(input, at: now)
        default: break
        }
        step { $0.handle(input, at: moment, observer: $1) }
      case .read(let port, let isDrain):
        readPort(port)
        if isDrain { handlePort(port, .drained) }
      }
    }
    inputs = []
    isStepping = false
    checkStop()
    checkAnswers()
    // An input that concerns only a source's session publishes nothing.
    guard hasCalledVehicle else { return }
    hasCalledVehicle = false
    checkPublished()
  }

  /// Calls the daemon, and performs its effects.
  private func step(_ call: (inout Daemon, @escaping Daemon.Observer) -> [Daemon.Effect]) {
    let failed = isRunning ? settled?.tokenFailures ?? [:] : nil
    let before = settled?.reported?.time
    var planned: Plan.Step?
    var hasFixWithoutDate = false
    messages.removeAll(keepingCapacity: true)
    let effects = call(&daemon) { [unowned self] message, vehicle in
      if case .settled = message {
        settled = vehicle.settled(at: bootNow)
        return
      }
      if messages.isEmpty {
        calls += 1
        planned = checkPlan(of: vehicle)
      }
      if case .toVehicle(.configure) = message { noteThinning(in: vehicle) }
      if case .toVehicle(.source(_, .fix(let fix))) = message, case .ofDay = fix.time { hasFixWithoutDate = true }
      messages.append((message, hasFixWithoutDate ? vehicle.state : nil, vehicle.isParked))
    }
    if !isRunning { isRunning = daemon.run != nil }
    let hasBacklogChanged = followMessages()
    if let position = stopPosition(reportedBefore: before) { newStop = position }
    // If another input came first, the planned step may be unnecessary.
    if let planned { coverage.steps.cover(StepCase(planned)) }
    if let planned, case .toVehicle(.deadline)? = messages.first?.message {
      let decided = messages.compactMap { if case .fromVehicle(let effect) = $0.message { effect } else { nil } }
      if !planned.isDone(by: decided) {
        violate("\(planned) was planned, and what happens is \(decided.map(World.brief))")
      }
    }
    for effect in effects {
      // Operations on a line are not counted towards a power cut: a line stores nothing.
      if case .line(let id, let operation) = effect {
        if isTranscribing { note("  < line \(id): \(operation)", isDetail: true) }
        coverage.lines.cover(LineCase(operation))
        perform(operation, of: id)
        continue
      }
      if let (left, seconds, isOfPower) = cut, !effect.publishes {
        guard left > 0 else { return cutPower(for: seconds, isOfPower: isOfPower) }
        cut = (left - 1, seconds, isOfPower)
      }
      if isTranscribing { note("  < \(World.brief(effect))", isDetail: World.isDetail(effect)) }
      cover(effect)
      perform(effect)
    }
    if let failed, settled?.tokenFailures ?? [:] != failed { tokenFailures.append(now) }
    deadline = daemon.nextDeadline.map { bootedAt + ($0 - .boot) }
    guard !messages.isEmpty, let settled else { return }
    hasCalledVehicle = true
    // Like the shell, the world queries the plan once after each call, and not again before the next.
    notePlan(settled.plan)
    // The live position in flight is not included.
    if settled.pendingCount > configuration.delivery.maxLocations {
      violate("the backlog is over its limit")
    }
    if let (time, isAnswered) = settled.reported, time != before, !isAnswered,
      recorded[Disk.Key(vehicle: vehicle, id: time)] == nil
    {
      violate("the position of \(time.rfc3339) counts as reported, and is neither queued nor delivered")
    }
    if copy.count != settled.backlogCount {
      violate("the copy of the backlog has another number of records")
    }
    if hasBacklogChanged, copy.count < 200 || calls % 64 == 0 {
      let isSame = agent.delivery.backlog.records.allSatisfy { copy[$0.id] == $0 }
      if !isSame { violate("the copy of the backlog differs") }
    }
  }

  private func perform(_ effect: Daemon.Effect) {
    switch effect {
    case .sendUpdate(let id, let request):
      // The request is encoded as by a transport, but not compressed.
      sendUpdate(runNumber << 32 | id, request.encoded { $0 })
    case .cancelUpdate(let id): if update?.id == runNumber << 32 | id { abandonUpdate() }
    case .fetchToken(let id, .http(let request)): fetchToken(runNumber << 32 | id, request)
    case .cancelToken(let id):
      if fetch?.id == runNumber << 32 | id {
        fetch = nil
        // A request whose response did not arrive in time has failed, whatever the response would have been.
        tokenFailures.append(now)
      }
    case .storeToken(let text): storedToken = text
    case .removeStoredToken: storedToken = nil
    case .storeRunState(let text): storedRunState = text
    case .storeUpdateForm(let text): if installation.directoryTrouble == nil { storedUpdateForm = text }
    case .fetchToken: violate("a token provider that is not there")
    case .dropConnections:
      drops.append(now)
      // A request in flight is allowed to finish.
      if update == nil { dropConnection() }
    case .event(let event):
      events.append((now, event))
      checkConfirmation(event)
    case .storePause(let note):
      storePause(note)
      pass(.pauseStored(installation.directoryTrouble))
    case .storeDuty(let note):
      storeDuty(note)
      pass(.dutyStored(installation.directoryTrouble))
    case .store(let operation): if let outcome = run(operation) { pass(.storeEnded(outcome)) }
    case .line: break
    case .lockVehicle: queue.schedule(.lockAttempted(runNumber: runNumber), at: now)
    case .readSettings: readSettings()
    case .readKeptSettings(let isReverting): readKeptSettings(isReverting: isReverting)
    case .storeConfirmation(let text): storeConfirmation(text)
    case .useSettings:
      if vehicleInForce.name != vehicle { vehicleInForce = (vehicle, now) }
      if hasSettings { useSources(isVehicleInUse: isNextVehicleInUse) } else { beginRun() }
      hasSettings = true
    case .storeSettings(let text): storeSettings(text)
    case .connect, .ready, .stopping, .servePositions: break
    case .position:
      if let pausedAt, pausedAt < now { violate("a position of a pause is reported to a program") }
      if inUseSince != nil {
        violate("a position is reported to a program while another daemon has locked the vehicle")
      }
    case .showStatus, .measure, .writeMetrics, .storeTraffic, .respond, .monitor: publish(effect)
    // systemd restarts the daemon.
    case .finished(let ending) where ending.result == .restarting: cutPower(for: 2, isOfPower: false)
    case .finished(let ending):
      finishedAt = now
      checkOfflineOnStop()
      self.ending = ending
      checkClosedStore()
    case .exit(let exit): end(exit)
    }
  }

  /// Whether a fix was passed to the vehicle in the last step.
  var hasPassedFix: Bool {
    messages.contains { if case .toVehicle(.source(_, .fix)) = $0.message { true } else { false } }
  }

  /// - Returns: whether the backlog has changed.
  private func followMessages() -> Bool {
    var hasBacklogChanged = false
    for (index, (message, before, _)) in messages.enumerated() {
      cover(message)
      switch message {
      case .toVehicle(.configure): if let nextConfiguration { configure(nextConfiguration) }
      case .toVehicle(.restored(let records)): restore(records)
      case .toVehicle(.store(.healthy)): openFile.troubledSince = nil
      case .toVehicle(.source(let id, .fix(let fix))):
        let port = portsBySource[id] ?? 0
        evaluate(fix, from: port)
        hasFixSinceTick = true
        if let before {
          let next = messages[(index + 1)...].first { if case .toVehicle = $0.message { true } else { false } }
          checkDate(of: fix, from: port, before, to: next?.before ?? agent.state)
        }
      case .toVehicle: break
      case .fromVehicle(.backlog(let change)):
        hasBacklogChanged = true
        follow(change)
      case .fromVehicle(.backlogSnapshot(let records)):
        if Set(records.map(\.id)) != Set(copy.keys) {
          violate("a store that starts over gets another backlog")
        }
      case .fromVehicle(.needFixes(let areNeeded)): needFixes(areNeeded)
      case .fromVehicle(.readyForNextFix(let id)):
        if portsBySource[id].map({ !ports[$0].isFile }) ?? true { violate("a source is released that does not wait") }
      case .fromVehicle, .settled: break
      }
      if isTranscribing, let text = World.brief(message) { note("  . \(text)", isDetail: World.isDetail(message)) }
    }
    return hasBacklogChanged
  }

  func lose(_ position: Disk.Key) { lostAt[position] = lostAt[position] ?? now }

  func follow(_ change: Backlog.Change) {
    switch change {
    case .added(let record):
      if let pausedAt, pausedAt < now { violate("a position is recorded during a pause") }
      if inUseSince != nil { violate("a position is recorded while another daemon has locked the vehicle") }
      recorded[Disk.Key(vehicle: vehicle, id: record.id)] = (
        now, reach.isInLongOutage(at: now), record.location.coordinate
      )
      if copy.updateValue(record, forKey: record.id) != nil { violate("a record was added twice") }
    case .changed(let records):
      for record in records where copy.updateValue(record, forKey: record.id) == nil {
        violate("a record was changed that is not there")
      }
    case .removed(let ids, let reason):
      for id in ids {
        guard let record = copy.removeValue(forKey: id) else {
          violate("record \(id) was removed that is not there")
          continue
        }
        // For a vehicle that is configured again, there is nothing to restore if the record was never written.
        if disk.held[vehicle]?[id] == nil { unrestored[vehicle]?[id] = nil }
        removals.append((record, reason, vehicle, now))
      }
    }
  }

  // MARK: - Requests

  /// The wait that a server asks for, by `Retry-After` or `google.rpc.RetryInfo`; nil if it asks for none.
  private static func askedWait(of response: HTTPResponse) -> Duration? {
    if let header = response.headers.first(where: { $0.name == "Retry-After" }) {
      return Double(header.value).map { .seconds($0) }
    }
    let parts = String(decoding: response.body, as: UTF8.self).split(separator: "\"")
    guard let name = parts.firstIndex(of: "retryDelay"), name + 2 < parts.count else { return nil }
    return Double(parts[name + 2].dropLast()).map { .seconds($0) }
  }

  /// No update is sent before the end of the wait that the server asked for, unless the run is ending, or an act from
  /// outside or new settings came in between.
  private func checkAskedWait() {
    guard let last = attempts.last, let wait = last.askedWait, let ended = last.endedAt, last.runNumber == runNumber,
      now - ended < wait, max(startedAt, installation.ranAt, installation.forceSince) < ended
    else { return }
    // The final attempts of a run, for a position and for OFFLINE, cannot wait.
    if daemon.run?.vehicle.lifecycle.isFinalAttemptMade == true { return }
    let hasActed = scenario.acts.contains { start, act in
      // The daemon notices a deleted directory only after this delay.
      let delay =
        if case .deleteDirectory(let milliseconds) = act { Double(milliseconds) / 1000 } else { Double(act.lasts) }
      return Double(start) <= second && Double(start) + delay >= World.seconds(ended) - 1
    }
    if !hasActed {
      violate("an update \(now - ended) after the server has asked for a wait of \(wait)")
    }
  }

  func sendUpdate(_ id: UInt64, _ request: HTTPRequest) {
    record(request)
    if update != nil { violate("two updates in flight") }
    // Until new settings are in force, the daemon uses the vehicle of the previous ones.
    let next = nextConfiguration?.delivery.endpoint.vehicle.vehicleID ?? vehicle
    if inUseSince != nil, vehicle == next, vehicle == vehicleInForce.name {
      violate("an update while another daemon has locked the vehicle")
    }
    checkDuty(of: request)
    if let last = attempts.last, last.boots == boots, now - last.at < .seconds(1) {
      violate("two attempts within a second")
    }
    checkAskedWait()
    let recent = attempts.suffix(24).filter { $0.boots == boots && now - $0.at < .seconds(60) }
    if recent.count(where: { !$0.isUnsent }) >= 12 { violate("more than twelve updates in a minute") }
    if recent.count >= 24 { violate("more than 24 tries in a minute") }
    attempts.append(
      Attempt(
        id: id, at: now, vehicle: vehicleInForce.name, vehicleSince: vehicleInForce.since, runNumber: runNumber,
        boots: boots))
    checkToken(of: request)
    let obstacle = obstacle(at: second, request)
    var (request, bad) = (request, Fault.BadConnection?.none)
    if case .nothing = obstacle {
      bad = connect(for: request)
      let allowance = VirtualLine.Allowance(
        window: bad == .answeredEarly ? 0 : 65_535, headers: bad == .headersTooLarge ? 1 : 65_535)
      if let read = line?.send(request, allowing: allowance, deadline: now + request.deadline, at: now) {
        request = read
      }
    } else {
      dropConnection()
    }
    let flight = Flight(
      request: request, sentAt: now, vehicle: vehicleInForce.name, endsBy: now + request.deadline, badConnection: bad,
      isOnReusedConnection: isConnected && hasConnectionAnswered)
    update = (id, flight)
    switch obstacle {
    case .failure(let failure, let after):
      queue.schedule(.updateEnds(id: id, .failure(failure)), at: min(now + after, flight.endsBy))
    case .webPage:
      let page = HTTPResponse(status: 200, body: [UInt8]("<html>Welcome to the hotel".utf8))
      queue.schedule(.updateEnds(id: id, .response(page)), at: now + delay())
    case .nothing:
      queue.schedule(.requestArrives(id: id), at: now + delay() + upload(request))
      // If the response arrives first, this event has no effect.
      queue.schedule(.updateEnds(id: id, .failure(TransportFailure(.timedOut, "no response"))), at: flight.endsBy)
    }
  }

  /// The outcome of a request as the daemon's HTTP/2 reports it.
  private func throughHTTP2(_ outcome: HTTPOutcome) -> HTTPOutcome {
    switch outcome {
    case .failure(let failure) where !failure.isConnectionOpen: isConnected = false
    case .response: hasConnectionAnswered = true
    case .failure: break
    }
    guard line != nil else { return outcome }
    defer { for offence in line?.offences ?? [] { violate("HTTP/2: \(offence)") } }
    switch outcome {
    case .response(let response) where response.body.starts(with: Array("<html>".utf8)): return outcome
    case .response(let response):
      let received = line?.answer(response, at: now)
      if case .response(var same) = received {
        same.headers = response.headers
        if same != response { violate("HTTP/2 changed the response \(response.status)") }
      } else {
        violate("HTTP/2 has lost a response")
      }
      return outcome
    case .failure(let failure) where failure.isConnectionOpen: return line?.fail(failure.kind, at: now) ?? outcome
    case .failure(let failure) where failure.kind == .unprocessed: return line?.answer(nil, at: now) ?? outcome
    case .failure(let failure) where failure.kind == .unanswered:
      let received = line?.close(at: now) ?? outcome
      if case .failure(let same) = received, same.kind == .unanswered { return received }
      violate("HTTP/2 reports a reused connection that was closed without a response as \(received)")
      return outcome
    case .failure:
      line?.drop()
      return outcome
    }
  }

  func updateArrives(_ id: UInt64) {
    let late = abandoned.removeValue(forKey: id)
    guard let flight = late ?? (update?.id == id ? update?.flight : nil) else { return }
    if let bad = flight.badConnection { return answer(id, flight, on: bad) }
    if late == nil, line?.refuses() == true {
      let refused = TransportFailure(.unprocessed, "refused")
      return queue.schedule(.updateEnds(id: id, .failure(refused)), at: min(now + delay(), flight.endsBy))
    }
    // A cancelled request is not transmitted for longer than its sender's deadline.
    if late != nil, now > flight.endsBy { return }
    if late == nil, closesUnanswered(id, flight) { return }
    let answer = server.answer(flight.request, id: id, at: second, scenario, tokens: provider)
    checkSettled()
    for offence in server.offences { violate("the server received an invalid request: \(offence)") }
    guard late == nil else { return }
    var wait = Duration.zero
    for fault in scenario.faults where fault.isActive(at: second) {
      if case .slow(let seconds) = fault.kind {
        wait = .seconds(seconds)
        coverage.faults.cover(.slow)
      }
    }
    let back = now + wait + delay()
    if scenario.isActive(at: second, { if case .answersLate = $0 { true } else { false } }) {
      coverage.faults.cover(.answersLate)
      return queue.schedule(.lateAnswer(id: id, .response(answer)), at: flight.endsBy + .milliseconds(1500))
    }
    guard back < flight.endsBy, !isAnswerLost(at: World.seconds(back)) else { return }
    queue.schedule(.updateEnds(id: id, .response(answer)), at: back)
  }

  /// The daemon no longer reads the response; the server may still receive the request.
  func abandonUpdate() {
    line?.cancel(at: now)
    if let (id, flight) = update {
      abandoned[id] = flight
      abandonedIDs.insert(id)
    }
    update = nil
  }

  func fetchToken(_ id: UInt64, _ request: HTTPRequest) {
    record(request)
    if fetch != nil { violate("two token fetches at once") }
    if pausedAt != nil, !isOfflinePending { violate("a token fetch during a pause") }
    if inUseSince != nil { violate("a token fetch while another daemon has locked the vehicle") }
    if let last = fetches.last, last >= startedAt, now - last < .seconds(1) {
      violate("two token fetches within a second")
    }
    if fetches.count >= 12, fetches[fetches.count - 12] >= startedAt, now - fetches[fetches.count - 12] < .seconds(60) {
      violate("more than twelve token fetches in a minute")
    }
    if request.url != "https://tokens.test/\(installation.inForce.path)/\(vehicleInForce.name)" {
      violate("a token for another vehicle: \(request.url)")
    }
    fetches.append(now)
    if installation.inForce.isTokenWrong { wrongFetches.append(now) }
    let flight = Flight(request: request, sentAt: now, vehicle: vehicleInForce.name, endsBy: now + request.deadline)
    fetch = (id, flight)
    if scenario.isActive(at: second, { if case .providerDown = $0 { true } else { false } }) {
      coverage.faults.cover(.providerDown)
      queue.schedule(
        .tokenEnds(id: id, .failure(TransportFailure(.refused, "refused"))), at: now + .milliseconds(20))
      return
    }
    switch obstacle(at: second, request) {
    case .failure(let failure, let after):
      queue.schedule(.tokenEnds(id: id, .failure(failure)), at: min(now + after, flight.endsBy))
    case .webPage:
      let page = HTTPResponse(status: 200, body: [UInt8]("<html>Welcome to the hotel".utf8))
      queue.schedule(.tokenEnds(id: id, .response(page)), at: now + delay())
    case .nothing:
      queue.schedule(.tokenRequestArrives(id: id), at: now + delay())
      queue.schedule(.tokenEnds(id: id, .failure(TransportFailure(.timedOut, "no response"))), at: flight.endsBy)
    }
  }

  func tokenRequestArrives(_ id: UInt64) {
    guard let (current, flight) = fetch, current == id else { return }
    let answer = provider.answer(url: flight.request.url, at: second, scenario)
    let back = now + delay()
    guard back < flight.endsBy, !isAnswerLost(at: World.seconds(back)) else { return }
    queue.schedule(.tokenEnds(id: id, .response(answer)), at: back)
  }

  func checkToken(of request: HTTPRequest) {
    guard let token = FleetEngineServer.bearer(of: request), let issued = provider.issued[token],
      let at = received[token]
    else { return violate("a token that was never issued") }
    let user = vehicleInForce.name
    if issued.vehicle != user { violate("a token for \(issued.vehicle) used for \(user)") }
    // A token that had expired on arrival is considered valid if the provider's clock is wrong by the age of its
    // tokens.
    let hasClockError = scenario.faults.contains {
      switch $0.kind {
      case .providerClock: issued.lifetime <= 0
      // The token's lifetime is computed by the machine's clock.
      case .providerUndated: !scenario.hasAgreeingIssueTimes
      default: false
      }
    }
    // Without a `Date`, the token's lifetime is computed by the receiver's time, which is late by the receiver's delay,
    // or by its clock's error, but is not longer than the token says itself.
    var lag = Duration.zero
    _ = scenario.isActive(at: issued.issuedAt) {
      guard case .providerUndated(let backdating) = $0 else { return false }
      lag = .seconds(max(1, backdating))
      return true
    }
    if now >= at + .seconds(issued.lifetime) + lag, !hasClockError { violate("a token used past its end") }
  }

  // MARK: - Observations

  func violate(_ what: String) {
    note("!! \(what)")
    if violations.count < 20 { violations.append("at \(second) s: \(what)") }
  }

  func note(_ text: @autoclosure () -> String, isDetail: Bool = false) {
    guard isTranscribing else { return }
    transcript.append(TranscriptLine(second: second, text: text(), isDetail: isDetail))
  }
}
