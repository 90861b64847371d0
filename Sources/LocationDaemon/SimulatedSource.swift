// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import Release
import RouteFile
package import Timekeeping

/// Drives along a route, a fix each period of the simulator but in tunnels.
package final class SimulatedSource: FixSource {
  private let loop: EventLoop
  private let name: String
  private let buildDate: Timestamp
  private let report: (SourceReport) -> Void
  private let simulator: RouteSimulator
  private var timer: LoopTimer?
  private var started: Moment?
  private var steps = 0

  /// - Parameters:
  ///   - name: of the route, for messages.
  ///   - buildDate: the drive begins then when the wall clock is not set.
  package init(
    loop: EventLoop, name: String, simulator: RouteSimulator, buildDate: Timestamp,
    report: @escaping (SourceReport) -> Void
  ) {
    self.loop = loop
    self.name = name
    self.simulator = simulator
    self.buildDate = buildDate
    self.report = report
  }

  package func start() {
    do {
      timer = try loop.makeTimer { [unowned self] in step() }
      timer?.arm(at: .boot)
    } catch {
      loop.defer { [report] in report(.lost("\(error)")) }
    }
  }

  package func stop() {
    timer?.close()
    timer = nil
  }

  package func settled() {}

  package func isProgressing(at now: BootInstant) -> Bool {
    guard let started else { return true }
    return now - (started.boot + simulator.period * steps) < .seconds(30)
  }

  private func step() {
    let begin: Moment
    if let started {
      begin = started
    } else {
      let now = loop.now
      begin = Moment(boot: now.boot, wall: max(now.wall, buildDate))
      started = begin
      report(.reading("the simulated route \(name)"))
    }
    // After a sleep it goes on from where a receiver would find the vehicle; nobody was there for what lies between.
    steps = max(steps, Int(clamping: (loop.now.boot - begin.boot).nanoseconds / simulator.period.nanoseconds))
    let elapsed = simulator.period * steps
    steps += 1
    let observation = simulator.observation(at: elapsed, startingAt: begin.wall)
    guard observation != .ended else {
      stop()
      report(.ended)
      return
    }
    timer?.arm(at: begin.boot + simulator.period * steps)
    // In a tunnel a receiver says nothing that would help.
    if case .fix(let fix) = observation { report(.fix(fix)) }
  }
}

extension SimulatedSource {
  /// - Throws: exit code `configuration` when the route cannot be read, or what is asked of it is not on it.
  convenience init(_ settings: SimulatedSettings, _ context: FixSources.Context) throws(DaemonError) {
    let route: Route
    do {
      route = try RouteFile.load(path: settings.route)
    } catch {
      throw DaemonError(ExitCode.configuration, "\(context.key).route: \(error.message)", cause: error)
    }
    let simulator: RouteSimulator
    do {
      simulator = try RouteSimulator(route: route, settings: settings.drive)
    } catch {
      throw DaemonError(
        ExitCode.configuration, "\(context.key).route: \(settings.route): \(error.message)", cause: error)
    }
    self.init(
      loop: context.loop, name: settings.route, simulator: simulator, buildDate: Release.buildDate,
      report: context.report)
  }
}
