// SPDX-License-Identifier: Apache-2.0
import FixSources
import Authorization
import Connectivity
import SourceSelection
import Reporting
import PositionBacklog
import Delivery
import Vehicle
import FleetEngine
import HTTPMessages
import Positioning
import Timekeeping

/// One vehicle: its agent, its drive, and its messages in flight.
struct FleetVehicle {
  /// A request, until its outcome is passed to the agent.
  private struct Exchange {
    enum Stage {
      case arrives(HTTPRequest)
      case ends(HTTPOutcome)
    }

    var id: UInt64
    var at: BootInstant
    var stage: Stage
  }

  private let name: String
  private let cell: Int
  private let isCellReported: Bool
  private let scenario: FleetScenario
  private let configuration: VehicleAgent.Configuration
  private let fixPeriod: Duration
  private var random: SplitMix64
  private var drive: FleetDrive
  private var agent: VehicleAgent?
  private var servers = FleetServerState()
  private var update: Exchange?
  /// Whether there is a connection to Fleet Engine.
  private var isConnected = false
  private var fetch: Exchange?
  /// The stored state for the next run of the daemon.
  private var storedToken: Secret?
  private var storedRunState: String?
  private var stored: [Backlog.Record] = []

  private var startAt: BootInstant
  private let firstStart: BootInstant
  private var stopAt = BootInstant.distantFuture
  private var cellLossAt = BootInstant.distantFuture
  private var cellReturnAt = BootInstant.distantFuture
  private var fixAt = BootInstant.distantFuture
  private var deadline = BootInstant.distantFuture

  init?(_ number: Int, of scenario: FleetScenario, seed: UInt64, fixPeriod: Duration) {
    name = "truck-\(number)"
    cell = number % FleetModel.cells
    isCellReported = number / FleetModel.cells % 2 == 0
    self.scenario = scenario
    self.fixPeriod = fixPeriod
    // One number of the generator for each vehicle: consecutive seeds would give shifted copies of one sequence.
    var seeds = SplitMix64(seed: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
    random = SplitMix64(seed: seeds.next() ^ UInt64(number))
    drive = FleetDrive(using: &random)
    guard let configuration = FleetVehicle.configuration(name) else { return nil }
    self.configuration = configuration
    let spread = Double(scenario.startSpread)
    firstStart = FleetModel.instant(0) + .seconds(spread > 0 ? Double.random(in: 0..<spread, using: &random) : 0)
    startAt = firstStart
    if scenario.restarts {
      let length = Double(scenario.period.count)
      stopAt = FleetModel.instant(scenario.period.lowerBound) + .seconds(Double.random(in: 0..<length, using: &random))
    }
    if isCellReported, scenario.fault == .cellLost(cell) {
      cellLossAt = FleetModel.instant(scenario.period.lowerBound) + .seconds(2)
      cellReturnAt = FleetModel.instant(scenario.period.upperBound) + .seconds(1)
    }
    storeToken()
  }

  private static func configuration(_ name: String) -> VehicleAgent.Configuration? {
    let vehicle = FleetEngineVehicle(service: .deliveries, providerID: "provider", vehicleID: name)
    guard let context = vehicle.tokenContext else { return nil }
    var configuration = VehicleAgent.Configuration(
      context: context,
      tokenProvider: .http(
        TokenEndpoint(
          urlTemplate: "https://tokens.test/token/{vehicle_id}",
          format: TokenResponseFormat(
            tokenKey: "token", expirationKey: "expiration_timestamp_ms", expiration: .epochMilliseconds))),
      filter: FixFilter.Configuration(buildDate: FleetModel.buildDate), reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(origin: "https://fleetengine.test", vehicle: vehicle)))
    configuration.tokenKey = StoredToken.Key(subject: name, boot: "0")
    configuration.boot = "0"
    return configuration
  }

  /// Stores the token of a previous run.
  private mutating func storeToken() {
    guard scenario.storedTokens != .none, let context = configuration.context, let key = configuration.tokenKey else {
      return
    }
    let life = FleetModel.tokenLife
    let end =
      if case .endingAt(let second) = scenario.storedTokens {
        second
      } else {
        // A token is renewed from ten minutes before its expiry on; the stored ones are not that old yet.
        Int.random(in: 600..<life, using: &random)
      }
    let secret = servers.issueToken(for: name, from: end - life)
    let token = AccessToken(
      secret: secret, context: context, receivedAt: FleetModel.instant(end - life), lifetime: .seconds(life),
      lifetimeSource: .claims)
    storedToken = StoredToken(token, key: key).text
  }

  // MARK: - Running

  /// Whether the vehicle has been started.
  private func hasStarted(at now: BootInstant) -> Bool { firstStart <= now }

  /// Simulates one second.
  mutating func advance(until end: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally) {
    while true {
      var next = min(fixAt, deadline, startAt, stopAt)
      next = min(next, cellLossAt, cellReturnAt)
      if let at = update?.at { next = min(next, at) }
      if let at = fetch?.at { next = min(next, at) }
      guard next < end else { break }
      happen(at: next, conditions, &tally)
    }
    guard hasStarted(at: end) else { return }
    let time = FleetModel.time(end)
    // Before the first position has arrived, the age counts from the vehicle's start.
    let since = servers.newest ?? FleetModel.time(firstStart)
    tally.count(age: Int((time - since).wholeSeconds))
    let pending = agent?.delivery.backlog.count ?? stored.count
    tally.pending += pending
    if pending > 1 { tally.behind += 1 }
  }

  private mutating func happen(at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally) {
    if startAt <= now {
      startAt = .distantFuture
      start(at: now, conditions, &tally)
    } else if let exchange = update, exchange.at <= now {
      switch exchange.stage {
      case .arrives(let request):
        let outcome = servers.answer(request, at: now, conditions, &tally)
        update = Exchange(id: exchange.id, at: now + delay(conditions), stage: .ends(outcome))
      case .ends(let outcome):
        update = nil
        handle(.updateEnded(id: exchange.id, outcome), at: now, conditions, &tally)
      }
    } else if let exchange = fetch, exchange.at <= now {
      switch exchange.stage {
      case .arrives: arriveAtProvider(exchange.id, at: now, conditions, &tally)
      case .ends(let outcome):
        fetch = nil
        handle(.tokenEnded(id: exchange.id, .http(outcome)), at: now, conditions, &tally)
      }
    } else if cellLossAt <= now {
      cellLossAt = .distantFuture
      handle(.network(FleetVehicle.network(isUsable: false)), at: now, conditions, &tally)
    } else if cellReturnAt <= now {
      cellReturnAt = .distantFuture
      handle(.network(FleetVehicle.network(isUsable: true)), at: now, conditions, &tally)
    } else if stopAt <= now {
      stopAt = .distantFuture
      handle(.stop(within: .seconds(5), signal: "SIGTERM"), at: now, conditions, &tally)
    } else if fixAt <= now {
      fixAt = now + fixPeriod
      drive.advance(by: fixPeriod.inSeconds, using: &random)
      guard let fix = drive.fix(at: FleetModel.time(now), using: &random) else { return }
      handle(.source(0, .fix(fix)), at: now, conditions, &tally)
    } else {
      handle(.deadline, at: now, conditions, &tally)
    }
  }

  private mutating func start(at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally) {
    agent = VehicleAgent(configuration, seed: random.next())
    isConnected = false
    fixAt = now + .milliseconds(Int64.random(in: 0..<Int64(fixPeriod.inSeconds * 1000), using: &random))
    handle(.store(.unread), at: now, conditions, &tally)
    if let storedToken { handle(.tokenFound(storedToken), at: now, conditions, &tally) }
    if let storedRunState { handle(.runStateFound(storedRunState), at: now, conditions, &tally) }
    handle(.network(FleetVehicle.network(isUsable: true)), at: now, conditions, &tally)
    let source = SourceSelector.ConfiguredSource(id: 0, label: "/dev/gps0", silenceTimeout: .seconds(10))
    handle(.sources([source]), at: now, conditions, &tally)
  }

  private static func network(isUsable: Bool) -> NetworkState {
    var state = NetworkState()
    guard isUsable else { return state }
    state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, 1])]
    state.routes = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [], priority: 0)]
    state.linkNames = ["wwan0"]
    return state
  }

  private mutating func handle(
    _ input: VehicleAgent.Input, at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally
  ) {
    let wall = scenario.clocksAtZero ? Timestamp(milliseconds: now.nanoseconds / 1_000_000) : FleetModel.time(now)
    let moment = Moment(boot: now, wall: wall)
    guard let effects = agent?.handle(input, at: moment) else { return }
    var answer: VehicleAgent.Input?
    for effect in effects {
      switch effect {
      case .sendUpdate(let id, let request): send(id, request, at: now, conditions, &tally)
      case .cancelUpdate(let id): if update?.id == id { update = nil }
      case .dropConnections: isConnected = false
      case .fetchToken(let id, .http(let request)): fetchToken(id, request, at: now, conditions, &tally)
      case .cancelToken(let id): if fetch?.id == id { fetch = nil }
      case .storeToken(let text): storedToken = text
      case .removeStoredToken: storedToken = nil
      case .storeRunState(let text): storedRunState = text
      case .readStore: answer = .restored(stored)
      case .backlog(.added(let record)): servers.enqueue(record.id)
      case .backlog(.removed(let ids, let reason)):
        tally.lost += reason == .delivered ? servers.confirm(delivered: ids) : ids.count
      case .finished:
        finish(at: now, &tally)
        return
      default: break
      }
    }
    if let answer { return handle(answer, at: now, conditions, &tally) }
    deadline = agent?.nextDeadline(at: now) ?? .distantFuture
  }

  private mutating func finish(at now: BootInstant, _ tally: inout FleetTally) {
    stored = agent?.delivery.backlog.records ?? []
    close(&tally)
    agent = nil
    update = nil
    fetch = nil
    (fixAt, deadline) = (.distantFuture, .distantFuture)
    startAt = now + .seconds(3)
  }

  /// Counts the lost positions and the rejected fixes of a run of the daemon.
  mutating func close(_ tally: inout FleetTally) {
    guard let agent else { return }
    tally.lost += servers.lost(pending: Set(agent.delivery.backlog.records.map(\.id)))
    tally.rejectedFixes += agent.statistics.rejected.values.reduce(0, +)
  }

  // MARK: - The network

  private func isCut(_ conditions: FleetConditions) -> Bool { conditions.fault == .cellLost(cell) }

  /// Half a round trip over a mobile network, after the queue of the cell.
  private mutating func delay(_ conditions: FleetConditions) -> Duration {
    let share = Double.random(in: 0..<1, using: &random)
    return .milliseconds(Int64(25 + 200 * share * share * share + conditions.cellDelays[cell] * 1000))
  }

  private mutating func send(
    _ id: UInt64, _ request: HTTPRequest, at now: BootInstant, _ conditions: FleetConditions,
    _ tally: inout FleetTally
  ) {
    guard !isCut(conditions) else {
      let failure = TransportFailure(.timedOut, "no response")
      update = Exchange(id: id, at: now + request.deadline, stage: .ends(.failure(failure)))
      isConnected = false
      return
    }
    if !isConnected || request.usesNewConnection { tally.connections += 1 }
    isConnected = true
    tally.cellBytes[cell] += request.body.count
    update = Exchange(id: id, at: now + delay(conditions), stage: .arrives(request))
  }

  private mutating func fetchToken(
    _ id: UInt64, _ request: HTTPRequest, at now: BootInstant, _ conditions: FleetConditions,
    _ tally: inout FleetTally
  ) {
    guard !isCut(conditions) else {
      let failure = TransportFailure(.timedOut, "no response")
      fetch = Exchange(id: id, at: now + request.deadline, stage: .ends(.failure(failure)))
      return
    }
    fetch = Exchange(id: id, at: now + delay(conditions), stage: .arrives(request))
  }

  private mutating func arriveAtProvider(
    _ id: UInt64, at now: BootInstant, _ conditions: FleetConditions, _ tally: inout FleetTally
  ) {
    servers.receiveTokenRequest(at: now, conditions, &tally)
    let outcome =
      conditions.fault == .providerRefuses
      ? HTTPOutcome.failure(TransportFailure(.refused, "connection refused"))
      : servers.tokenAnswer(for: name, conditions)
    fetch = Exchange(id: id, at: now + delay(conditions), stage: .ends(outcome))
  }
}
