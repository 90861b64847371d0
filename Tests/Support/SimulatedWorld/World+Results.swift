// SPDX-License-Identifier: Apache-2.0
import FleetEngine
import Positioning
import Vehicle
import Observability
import Testing
import Timekeeping

/// The results that scenarios check.
extension World {
  /// Runs a scenario in which the invariants must hold.
  static func drive(
    _ scenario: Scenario, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> World {
    let world = try observe(scenario)
    if let failure = try failure(of: world) { Issue.record("\(failure)", sourceLocation: sourceLocation) }
    return world
  }

  /// The number of undelivered positions at the end of the run; nil if it has not ended.
  var undelivered: Int? { ending?.undelivered }

  /// Updates that the server applied in these seconds.
  func applied(_ seconds: Range<Int>) -> [FleetEngineServer.Applied] {
    server.applied.filter { Double(seconds.lowerBound) <= $0.at && $0.at < Double(seconds.upperBound) }
  }

  func attempts(_ seconds: Range<Int>) -> Int {
    attempts.count { World.time(seconds.lowerBound) <= $0.at && $0.at < World.time(seconds.upperBound) }
  }

  /// The seconds since boot at which this event occurred.
  func seconds(of kind: Event.Kind) -> [Double] {
    events.filter { $0.event.kind == kind }.map { World.seconds($0.at) }
  }

  func events(_ kind: Event.Kind) -> [String] {
    events.filter { $0.event.kind == kind }.map(\.event.sentence)
  }

  /// The time of a position, in whole seconds since boot.
  static func second(of position: FleetEngineServer.Position) -> Int {
    Int((position.time - Scenario.boot).wholeSeconds)
  }

  /// The times, in seconds since boot, of all positions at the server, live and past.
  var arrivedSeconds: Set<Int> {
    Set(server.applied.flatMap { $0.past + [$0.live] }.map(World.second))
  }

  /// The longest time between two positions that the server has from these seconds.
  func longestGap(_ seconds: Range<Int>) -> Int {
    let sorted = arrivedSeconds.filter { seconds.contains($0) }.sorted()
    let ends = [seconds.lowerBound] + sorted + [seconds.upperBound]
    return zip(ends, ends.dropFirst()).map { $1 - $0 }.max() ?? 0
  }
}
