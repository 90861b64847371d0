// SPDX-License-Identifier: Apache-2.0
import Authorization
import Connectivity
import FleetEngine
import HTTPMessages
import Positioning
import Reporting
import Timekeeping

/// A day on the road in a fraction of a second: one `VehicleAgent`, and everything around it in virtual time.
///
/// The world performs the agent's effects, calls it at its deadlines, and watches the invariants all the while; what it
/// sees broken is in `violations`.
final class World {
  enum Happening {
    case tick(second: Int)
    case fix(Fix)
    case act(Scenario.Act)
    case requestArrives(id: UInt64)
    case updateEnds(id: UInt64, HTTPOutcome)
    case tokenRequestArrives(id: UInt64)
    case tokenEnds(id: UInt64, HTTPOutcome)
  }

  struct Flight {
    var request: HTTPRequest
    var sentAt: BootInstant
    var vehicle: String
    /// The latest time at which it ends.
    var endsBy: BootInstant
  }

  struct Attempt {
    var id: UInt64
    var at: BootInstant
    var vehicle: String
    var endedAt: BootInstant?
    var isAccepted = false
  }

  let scenario: Scenario
  private(set) var agent: VehicleAgent
  private(set) var now = BootInstant.boot
  private(set) var receiver: Receiver
  private(set) var server = FleetEngineServer()
  private(set) var provider = TokenProvider()
  private(set) var attempts: [Attempt] = []
  private(set) var fetches: [BootInstant] = []
  private(set) var events: [(at: BootInstant, event: Event)] = []
  /// When a token fetch failed.
  private(set) var tokenTroubles: [BootInstant] = []
  /// When the machine slept, or knew that it had no network.
  private(set) var pauses: [ClosedRange<BootInstant>] = []
  /// When the agent had the open connections dropped.
  private(set) var drops: [BootInstant] = []
  private(set) var finishedAt: BootInstant?
  private(set) var undelivered: Int?
  private(set) var violations: [String] = []
  /// Kept from the effects alone.
  private(set) var copy: [Backlog.ID: Backlog.Record] = [:]
  /// What it holds of vehicles that the settings do not name now.
  private(set) var shelved: [String: [Backlog.ID: Backlog.Record]] = [:]
  private(set) var removals: [(record: Backlog.Record, reason: Backlog.Removal)] = []
  private(set) var transcript: [String] = []
  private(set) var vehicle = "truck-1"
  /// How many times the agent was called.
  private(set) var calls = 0
  var isTranscribing = false

  private var configuration: VehicleAgent.Configuration
  private var queue = EventQueue<Happening>()
  private var random: SplitMix64
  private var update: (id: UInt64, flight: Flight)?
  private var fetch: (id: UInt64, flight: Flight)?
  private var received: [String: BootInstant] = [:]
  private var deadline: BootInstant?
  private var wallError: Int64
  /// How many addresses the machine has had.
  private var addresses: UInt8 = 0
  private var asleepUntil: BootInstant?
  private(set) var absentSince: BootInstant?

  init(_ scenario: Scenario) throws {
    self.scenario = scenario
    configuration = try World.configuration(vehicle: "truck-1")
    scenario.adjust(&configuration)
    agent = VehicleAgent(configuration, seed: scenario.seed)
    receiver = try Receiver(scenario)
    random = SplitMix64(seed: scenario.seed &+ 999)
    wallError = scenario.wallError ?? -Scenario.boot.milliseconds / 1000
    queue.schedule(.tick(second: 1), at: World.time(1))
    for (second, act) in scenario.acts { queue.schedule(.act(act), at: World.time(second)) }
  }

  static func configuration(vehicle: String) throws -> VehicleAgent.Configuration {
    guard let context = AuthorizationContext(providerID: "provider", vehicleID: vehicle) else {
      throw SimulationError.noContext
    }
    return VehicleAgent.Configuration(
      context: context,
      tokenProvider: .http(
        TokenEndpoint(
          urlTemplate: "https://tokens.test/token/{vehicle_id}",
          format: TokenResponseFormat(
            tokenKey: "token", expirationKey: "expiration_timestamp_ms", expiration: .epochMilliseconds))),
      filter: FixFilter.Configuration(buildDate: Scenario.buildDate),
      reporting: ReportingPolicy.Configuration(),
      delivery: DeliveryAgent.Configuration(
        endpoint: FleetEngineEndpoint(origin: "https://fleetengine.test", providerID: "provider", vehicleID: vehicle)))
  }

  static func time(_ second: Int) -> BootInstant { .boot + .seconds(second) }

  var second: Double { World.seconds(now) }
  static func seconds(_ instant: BootInstant) -> Double { Double(instant.nanoseconds) / 1e9 }

  var moment: Moment {
    Moment(boot: now, wall: Scenario.boot + .nanoseconds(now.nanoseconds) + .seconds(wallError))
  }

  // MARK: - Running

  /// Runs to the end of the scenario, or to the agent's own.
  func run() {
    let end = World.time(scenario.duration)
    while finishedAt == nil, violations.count < 20 {
      let next = min(deadline ?? .distantFuture, queue.nextTime ?? .distantFuture)
      guard next <= end else { break }
      now = max(next, now)
      if let time = queue.nextTime, time <= now, let happening = queue.next() {
        happen(happening)
        if let wake = asleepUntil {
          asleepUntil = nil
          dream(until: wake)
        }
      } else {
        tell(.deadline)
      }
    }
    now = finishedAt ?? end
    if fetch != nil { tokenTroubles.append(now) }
    checkAfterwards()
  }

  private func happen(_ happening: Happening) {
    switch happening {
    case .tick(let second):
      for (index, fix) in receiver.fixes(second: second).enumerated() {
        queue.schedule(.fix(fix), at: now + .milliseconds(100 + index))
      }
      if second < scenario.duration { queue.schedule(.tick(second: second + 1), at: World.time(second + 1)) }
    case .fix(let fix): tell(.fix(fix))
    case .act(let act): perform(act)
    case .requestArrives(let id): updateArrives(id)
    case .tokenRequestArrives(let id): tokenRequestArrives(id)
    case .updateEnds(let id, let outcome):
      guard let (current, _) = update, current == id else { return }
      update = nil
      if let index = attempts.lastIndex(where: { $0.id == id }) {
        attempts[index].endedAt = now
        if case .response(let response) = outcome, response.status == 200, response.body.first == UInt8(ascii: "{") {
          attempts[index].isAccepted = true
        }
      }
      tell(.updateEnded(id: id, outcome))
    case .tokenEnds(let id, let outcome):
      guard let (current, _) = fetch, current == id else { return }
      fetch = nil
      if case .response(let response) = outcome, let body = StrictJSON(response.body)?.object,
        let token = body["token"]?.string
      {
        received[token] = now
      }
      tell(.tokenEnded(id: id, .http(outcome)))
    }
  }

  private func perform(_ act: Scenario.Act) {
    note("act \(act)")
    switch act {
    case .networkUp: changeNetwork()
    case .network(let isUsable): changeNetwork(isUsable: isUsable)
    case .suspend(let seconds): asleepUntil = min(now + .seconds(seconds), World.time(scenario.duration))
    case .stop(let seconds): tell(.stop(within: .seconds(seconds)))
    case .sourceEnded: tell(.sourceEnded)
    case .clockStep(let seconds): wallError += seconds
    case .reload(let other):
      guard var new = try? World.configuration(vehicle: other) else { return }
      scenario.adjust(&new)
      configuration = new
      let before = vehicle
      vehicle = other
      guard other != before else { return tell(.configure(new)) }
      shelved[before] = copy
      copy = [:]
      // As a shell does, it asks its store between the two.
      let held = shelved.removeValue(forKey: other) ?? [:]
      tell(.configure(new))
      copy.merge(held) { now, _ in now }
      tell(.restored(Array(held.values)))
    }
  }

  /// Another address each time.
  private func changeNetwork(isUsable: Bool = true) {
    var state = NetworkState()
    if let absentSince { pauses.append(absentSince...now) }
    absentSince = isUsable ? nil : now
    if isUsable {
      addresses &+= 1
      state.addresses = [NetworkTable.Address(link: 2, family: .ipv4, bytes: [10, 0, 0, addresses])]
      state.ways = [NetworkTable.Route(family: .ipv4, links: [2], gateway: [], priority: 0)]
      state.names = ["wwan0"]
    }
    tell(.network(state))
  }

  // MARK: - Sleep

  /// Nothing is told to a machine that sleeps; what it was asked for goes on elsewhere, unheard.
  private func dream(until wake: BootInstant) {
    let fellAsleep = now
    while let time = queue.nextTime, time < wake, let happening = queue.next() {
      now = max(time, now)
      switch happening {
      case .tick(let second):
        receiver.skip(second: second)
        if second < scenario.duration { queue.schedule(.tick(second: second + 1), at: World.time(second + 1)) }
      case .requestArrives(let id): updateArrives(id)
      case .tokenRequestArrives(let id): tokenRequestArrives(id)
      case .updateEnds(let id, _):
        queue.schedule(.updateEnds(id: id, .failure(TransportFailure(.timedOut, "slept"))), at: wake + .milliseconds(1))
      case .tokenEnds(let id, _):
        queue.schedule(.tokenEnds(id: id, .failure(TransportFailure(.timedOut, "slept"))), at: wake + .milliseconds(1))
      case .fix: break
      case .act: queue.schedule(happening, at: wake + .milliseconds(2))
      }
    }
    now = wake
    pauses.append(fellAsleep...wake)
    tell(.resumed(after: wake - fellAsleep))
  }

  private func tell(_ input: VehicleAgent.Input) {
    calls += 1
    if isTranscribing { note("> \(World.brief(input))") }
    var hasBacklogChanged = false
    let failed = agent.statistics.tokenFailures
    for effect in agent.handle(input, at: moment) {
      if isTranscribing { note("  < \(World.brief(effect))") }
      switch effect {
      case .sendUpdate(let id, let request): sendUpdate(id, request)
      case .cancelUpdate(let id): if update?.id == id { update = nil }
      case .fetchToken(let id, .http(let request)): fetchToken(id, request)
      case .fetchToken: violate("a token provider that is not there")
      case .cancelToken(let id): if fetch?.id == id { fetch = nil }
      case .dropConnections: drops.append(now)
      case .event(let event): events.append((now, event))
      case .forgetOthers(let time):
        for other in shelved.keys { shelved[other] = shelved[other]?.filter { $0.key >= time } }
      case .backlog(let change):
        hasBacklogChanged = true
        follow(change)
      case .finished(let count):
        finishedAt = now
        undelivered = count
      }
    }
    if case .tokenEnded = input, failed != agent.statistics.tokenFailures { tokenTroubles.append(now) }
    // As a shell does, the world asks once after each call, and not again before the next.
    deadline = agent.nextDeadline(at: now)
    if let deadline, deadline <= now {
      violate("nextDeadline \(deadline.nanoseconds) is not after now: a hot loop")
    }
    if copy.count != agent.delivery.backlog.count { violate("the copy of the backlog has another number of records") }
    if hasBacklogChanged, copy.count < 200 || calls % 64 == 0 {
      let isSame = agent.delivery.backlog.records.allSatisfy { copy[$0.id] == $0 }
      if !isSame { violate("the copy of the backlog differs") }
    }
  }

  private func follow(_ change: Backlog.Change) {
    switch change {
    case .added(let record):
      if copy.updateValue(record, forKey: record.id) != nil { violate("a record was added twice") }
    case .removed(let ids, let reason):
      for id in ids {
        guard let record = copy.removeValue(forKey: id) else {
          violate("record \(id) was removed that is not there")
          continue
        }
        removals.append((record, reason))
      }
    }
  }

  // MARK: - Requests

  private func sendUpdate(_ id: UInt64, _ request: HTTPRequest) {
    if update != nil { violate("two updates in flight") }
    if let last = attempts.last, now - last.at < .seconds(1) { violate("two attempts within a second") }
    if attempts.count >= 12, now - attempts[attempts.count - 12].at < .seconds(60) {
      violate("more than twelve updates in a minute")
    }
    attempts.append(Attempt(id: id, at: now, vehicle: vehicle))
    checkToken(of: request)
    let flight = Flight(request: request, sentAt: now, vehicle: vehicle, endsBy: now + request.deadline)
    update = (id, flight)
    switch obstacle(at: second) {
    case .failure(let failure, let after):
      queue.schedule(.updateEnds(id: id, .failure(failure)), at: min(now + after, flight.endsBy))
    case .webPage:
      let page = HTTPResponse(status: 200, body: [UInt8]("<html>Welcome to the hotel".utf8))
      queue.schedule(.updateEnds(id: id, .response(page)), at: now + delay())
    case .nothing:
      queue.schedule(.requestArrives(id: id), at: now + delay())
      // If its answer comes first, this finds the flight ended.
      queue.schedule(.updateEnds(id: id, .failure(TransportFailure(.timedOut, "no answer"))), at: flight.endsBy)
    }
  }

  private func updateArrives(_ id: UInt64) {
    guard let (current, flight) = update, current == id else { return }
    let answer = server.answer(flight.request, id: id, at: second, scenario, tokens: provider)
    for offence in server.offences { violate("the server was sent nonsense: \(offence)") }
    var wait = Duration.zero
    for fault in scenario.faults where fault.isActive(at: second) {
      if case .slow(let seconds) = fault.kind { wait = .seconds(seconds) }
    }
    let back = now + wait + delay()
    guard back < flight.endsBy, !isAnswerLost(at: World.seconds(back)) else { return }
    queue.schedule(.updateEnds(id: id, .response(answer)), at: back)
  }

  private func fetchToken(_ id: UInt64, _ request: HTTPRequest) {
    if fetch != nil { violate("two token fetches at once") }
    if let last = fetches.last, now - last < .seconds(1) { violate("two token fetches within a second") }
    if fetches.count >= 12, now - fetches[fetches.count - 12] < .seconds(60) {
      violate("more than twelve token fetches in a minute")
    }
    if request.url != "https://tokens.test/token/\(vehicle)" { violate("a token for another vehicle: \(request.url)") }
    fetches.append(now)
    let flight = Flight(request: request, sentAt: now, vehicle: vehicle, endsBy: now + request.deadline)
    fetch = (id, flight)
    if scenario.isActive(at: second, { if case .providerDown = $0 { true } else { false } }) {
      queue.schedule(
        .tokenEnds(id: id, .failure(TransportFailure(.unreachable, "refused"))), at: now + .milliseconds(20))
      return
    }
    switch obstacle(at: second) {
    case .failure(let failure, let after):
      queue.schedule(.tokenEnds(id: id, .failure(failure)), at: min(now + after, flight.endsBy))
    case .webPage:
      let page = HTTPResponse(status: 200, body: [UInt8]("<html>Welcome to the hotel".utf8))
      queue.schedule(.tokenEnds(id: id, .response(page)), at: now + delay())
    case .nothing:
      queue.schedule(.tokenRequestArrives(id: id), at: now + delay())
      queue.schedule(.tokenEnds(id: id, .failure(TransportFailure(.timedOut, "no answer"))), at: flight.endsBy)
    }
  }

  private func tokenRequestArrives(_ id: UInt64) {
    guard let (current, flight) = fetch, current == id else { return }
    let answer = provider.answer(url: flight.request.url, at: second, scenario)
    let back = now + delay()
    guard back < flight.endsBy, !isAnswerLost(at: World.seconds(back)) else { return }
    queue.schedule(.tokenEnds(id: id, .response(answer)), at: back)
  }

  private func checkToken(of request: HTTPRequest) {
    guard let token = FleetEngineServer.bearer(of: request), let issued = provider.issued[token],
      let at = received[token]
    else { return violate("a token that nobody issued") }
    if issued.vehicle != vehicle { violate("a token for \(issued.vehicle) used for \(vehicle)") }
    if now >= at + .seconds(issued.life) { violate("a token used past its end") }
  }

  // MARK: - The network

  private enum Obstacle {
    case nothing
    case failure(TransportFailure, after: Duration)
    case webPage
  }

  private func obstacle(at second: Double) -> Obstacle {
    for fault in scenario.faults where fault.place == .network && fault.isActive(at: second) {
      switch fault.kind {
      case .nameServersDead: return .failure(TransportFailure(.unresolved, "name servers dead"), after: .seconds(15))
      case .unresolved: return .failure(TransportFailure(.unresolved, "no such host"), after: .milliseconds(40))
      case .unreachable: return .failure(TransportFailure(.unreachable, "no route"), after: .milliseconds(1))
      case .silent: return .failure(TransportFailure(.timedOut, "no answer"), after: .seconds(15))
      case .certificateNotYetValid:
        return .failure(TransportFailure(.certificateNotYetValid, "not yet"), after: .milliseconds(90))
      case .captivePortal:
        return Bool.random(using: &random)
          ? .webPage : .failure(TransportFailure(.certificateUntrusted, "the hotel's"), after: .milliseconds(90))
      case .loss(let part) where Double.random(in: 0..<1, using: &random) < part / 2:
        return .failure(TransportFailure(.timedOut, "no answer"), after: .seconds(15))
      default: break
      }
    }
    return .nothing
  }

  private func isAnswerLost(at second: Double) -> Bool {
    scenario.faults.contains { fault in
      guard fault.place == .network, fault.isActive(at: second) else { return false }
      switch fault.kind {
      case .loss(let part): return Double.random(in: 0..<1, using: &random) < part / 2
      case .latency: return false
      default: return true
      }
    }
  }

  private func delay() -> Duration {
    var base = 40
    for fault in scenario.faults where fault.place == .network && fault.isActive(at: second) {
      if case .latency(let milliseconds) = fault.kind { base = milliseconds }
    }
    return .milliseconds(Int.random(in: base...(base * 2), using: &random))
  }

  // MARK: - What is seen

  /// The latest end of what is under way.
  var busyUntil: BootInstant {
    max(update?.flight.endsBy ?? now, fetch?.flight.endsBy ?? now)
  }

  func violate(_ what: String) {
    note("!! \(what)")
    if violations.count < 20 { violations.append("at \(second) s: \(what)") }
  }

  func note(_ text: @autoclosure () -> String) {
    guard isTranscribing else { return }
    transcript.append("\(second) \(text())")
  }
}
