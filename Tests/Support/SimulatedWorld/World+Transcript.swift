// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import SourceSelection
import FixSources
import Authorization
import Connectivity
import FleetEngine
import HTTPMessages
import Glibc
import Positioning
import Daemon
import Vehicle
import Observability
import Testing
import Timekeeping

extension World {
  static func brief(_ input: Daemon.Input) -> String {
    switch input {
    case .vehicle(let input): brief(input)
    case .settingsRead(.valid): "valid settings"
    case .sources(let list): "sources \(list.map(\.configured.id))"
    case .line(let id, let input): "line \(id): \(input)"
    case .storeEnded(.read(let records, _, _, _)): "the store reads \(records.count)"
    default: "\(input)"
    }
  }

  static func brief(_ effect: Daemon.Effect) -> String {
    switch effect {
    case .sendUpdate(let id, let request): "send update \(id): \(brief(request))"
    case .fetchToken(let id, _): "fetch token \(id)"
    case .event(let event): "event \(event.kind): \(event.sentence)"
    case .store(.commit(let writes)): "commit \(writes.count)"
    default: "\(effect)"
    }
  }

  /// A message between the daemon's parts; nil if an input or effect of the daemon already says the same.
  static func brief(_ message: Daemon.Message) -> String? {
    switch message {
    case .fromVehicle(.backlog(.added(let record))): "backlog + \(record.id.rfc3339)"
    case .fromVehicle(.backlog(.changed(let records))): "backlog ~ \(records.count)"
    case .fromVehicle(.backlog(.removed(let ids, let reason))): "backlog - \(ids.count) \(reason)"
    case .toVehicle(.restored(let records)): "restored \(records.count)"
    case .toVehicle(.store(let state)): "store \(state)"
    case .toVehicle(.source(let id, let report)): brief(.source(id, report))
    default: nil
    }
  }

  private static func brief(_ input: VehicleAgent.Input) -> String {
    switch input {
    case .source(let id, .fix(let fix)):
      "fix of \(id) \(fix.timestamp?.rfc3339 ?? "without a date") \(fix.speed ?? -1) m/s"
    case .updateEnded(let id, let outcome): "update \(id) ended: \(brief(outcome))"
    case .network(let state):
      "network \(state.isUsable ? "with another address" : state.isIsolated ? "isolated" : "absent")"
    case .tokenEnded(let id, .http(let outcome)): "token \(id) ended: \(brief(outcome))"
    default: "\(input)"
    }
  }

  /// The first 80 characters of an effect of the vehicle.
  static func brief(_ effect: VehicleAgent.Effect) -> String { String("\(effect)".prefix(80)) }

  private static func brief(_ outcome: HTTPOutcome) -> String {
    switch outcome {
    case .response(let response): "\(response.status)"
    case .failure(let failure): failure.kind.rawValue
    }
  }

  /// Runs a scenario.
  static func run(_ scenario: Scenario, transcribing: Bool = false) throws -> World {
    let world = try World(scenario)
    world.isTranscribing = transcribing
    world.run()
    return world
  }

  /// The file named by SIMULATION_TRANSCRIPT: inputs, effects and events of the world are appended to it.
  private static let transcriptFile = getenv("SIMULATION_TRANSCRIPT").map { String(cString: $0) }
  /// The file named by SIMULATION_STORY: the same without details, and a picture.
  private static let storyFile = getenv("SIMULATION_STORY").map { String(cString: $0) }

  /// Runs a scenario for a test, and writes its transcript if requested.
  static func observe(_ scenario: Scenario) throws -> World {
    let world = try run(scenario, transcribing: transcriptFile != nil || storyFile != nil)
    if let transcriptFile {
      let lines = world.transcript.map(\.description).joined(separator: "\n")
      try append("\(scenario.source)\n\(lines)\n", to: transcriptFile)
    }
    if let storyFile { try append(world.story, to: storyFile) }
    return world
  }

  private static func append(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "a"), "\(path) cannot be written")
    defer { fclose(file) }
    fputs(text, file)
  }

  /// How to reproduce a failure, and the smallest scenario that fails in the same way, if requested.
  static func reproduction(of world: World, shrinks: Bool) throws -> String {
    let command = "SIMULATION_SEED=\(world.scenario.seed) SIMULATION_RUNS=1 swift test --filter RandomRunTests\n"
    guard shrinks else { return command + world.violations.joined(separator: "\n") }
    // A scenario fails in the same way if the message is the same, apart from the numbers in it.
    func words(_ text: String) -> String { text.filter { !$0.isNumber && $0 != "." } }
    let kinds = Set(world.violations.map { words($0) })
    var shrinker = Shrinker { scenario in
      guard let again = try? run(scenario) else { return false }
      return again.violations.contains { kinds.contains(words($0)) }
    }
    let smallest = shrinker.shrink(world.scenario)
    let failure = try failure(of: run(smallest)) ?? ""
    return command + "smallest: \(smallest.source)\n\(failure)"
  }

  /// The failure, with the part of the transcript before it; nil if there was none.
  static func failure(of world: World) throws -> String? {
    guard !world.violations.isEmpty else { return nil }
    let again = try run(world.scenario, transcribing: true)
    let lines = again.transcript.map(\.description)
    let first = lines.firstIndex { $0.contains("!!") } ?? lines.endIndex
    let excerpt = lines[max(0, first - 60)..<min(lines.count, first + 5)]
    return "\(world.violations.joined(separator: "\n"))\n\(world.scenario.source)\n\(excerpt.joined(separator: "\n"))"
  }
}
