// SPDX-License-Identifier: Apache-2.0
import SourceSelection
package import Vehicle
import HTTPMessages
import JSON
package import FixSources
import Positioning
import Timekeeping

/// Receivers on one roof, whose clocks may differ, and a token provider and a Fleet Engine that respond at once.
package struct TwoReceivers {
  /// The agent, and the time.
  package var fixture: AgentFixture
  /// The indices of the receivers that report fixes.
  package var reporting: Set<Int> = []
  /// The times of `lastLocation` of all updates, in their order, in the format of RFC 3339.
  package var live: [String] = []
  /// Events of the last call.
  package var events: [Event] = []
  /// The number of seconds by which each clock is ahead.
  private let clocks: [Double]

  private struct PoleReached: Error {}

  /// Makes the receivers, of which none is being read yet.
  /// - Parameter clocks: the number of seconds by which each clock is ahead.
  package init(clocks: [Double] = [0, 0]) throws {
    self.clocks = clocks
    fixture = try AgentFixture()
    let list = clocks.indices.map {
      SourceSelector.ConfiguredSource(id: $0 + 1, label: "/dev/gps\($0)", silenceTimeout: .seconds(10))
    }
    follow(fixture.handle(.sources(list), at: 0))
  }

  /// - Parameter index: of the source.
  /// - Returns: the events that follow.
  @discardableResult
  package mutating func report(_ index: Int, _ report: SourceReport) -> [Event] {
    events = []
    follow(fixture.handle(.source(index + 1, report), at: fixture.now))
    return events
  }

  /// The vehicle drives for this number of seconds at 14 m/s.
  /// - Returns: the events that follow.
  @discardableResult
  package mutating func play(_ seconds: Int) throws -> [Event] {
    events = []
    for _ in 0..<seconds {
      fixture.now += 1
      for index in reporting.sorted() {
        follow(fixture.handle(.source(index + 1, .fix(try fix(index))), at: fixture.now))
      }
      follow(fixture.handle(.deadline, at: fixture.now))
    }
    return events
  }

  private func fix(_ index: Int) throws -> Fix {
    guard let place = Coordinate(latitude: 48 + fixture.now * 14 / 111_200, longitude: 11) else { throw PoleReached() }
    var fix = Fix(coordinate: place, time: .utc(fixture.moment.wall + .seconds(clocks[index])))
    fix.speed = 14
    fix.horizontalAccuracy = 3
    return fix
  }

  private mutating func follow(_ effects: [VehicleAgent.Effect]) {
    for effect in effects {
      switch effect {
      case .event(let event): events.append(event)
      case .fetchToken(let id, _): follow(fixture.handle(.tokenEnded(id: id, fixture.token()), at: fixture.now))
      case .sendUpdate(let id, let request):
        let body = try? JSONValue(parsing: request.body)
        live.append(body?.value(at: "lastLocation.supplementalLocationTime")?.string ?? "none")
        follow(fixture.handle(.updateEnded(id: id, AgentFixture.accepted), at: fixture.now))
      default: break
      }
    }
  }
}
