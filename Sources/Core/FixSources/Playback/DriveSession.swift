// SPDX-License-Identifier: Apache-2.0
package import SimulatedDrives
package import Timekeeping

/// Drives along a route in real time: reports a fix in each period of the simulator, except in tunnels.
package struct DriveSession: SourceSession, Sendable {
  private let name: String
  private let simulator: RouteSimulator
  private let buildDate: Timestamp
  /// When the drive began; nil before.
  private var began: Moment?
  /// The number of periods from the beginning of the drive until the next fix.
  private var steps = 0
  private var isOver = false

  /// - Parameters:
  ///   - name: the route's name, for messages.
  ///   - buildDate: the start time of the drive if the wall clock is unset.
  package init(name: String, simulator: RouteSimulator, buildDate: Timestamp) {
    self.name = name
    self.simulator = simulator
    self.buildDate = buildDate
  }

  /// When to handle `deadline`; nil before the start and after the end.
  package var nextDeadline: BootInstant? {
    isOver ? nil : began.map { $0.boot + simulator.period * steps }
  }

  /// Handles an input, and returns the effects in order: reports only, as there is no line.
  package mutating func handle(_ input: SourceInput, at now: Moment) -> [SourceEffect] {
    switch input {
    case .start:
      guard began == nil else { return [] }
      let start = Moment(boot: now.boot, wall: max(now.wall, buildDate))
      began = start
      return [.report(.reading("the simulated route \(name)"))] + step(from: start, at: now.boot)
    case .deadline:
      guard let began, let nextDeadline, now.boot >= nextDeadline else { return [] }
      return step(from: began, at: now.boot)
    default: return []
    }
  }

  private mutating func step(from began: Moment, at now: BootInstant) -> [SourceEffect] {
    // After a suspend, the drive continues at the current position; nothing was received in between.
    steps = max(steps, Int(clamping: (now - began.boot).nanoseconds / simulator.period.nanoseconds))
    let observation = simulator.observation(at: simulator.period * steps, startingAt: began.wall)
    steps += 1
    switch observation {
    case .ended:
      isOver = true
      return [.report(.ended)]
    case .fix(let fix): return [.report(.fix(fix))]
    // In a tunnel there is no fix.
    default: return []
    }
  }
}
