// SPDX-License-Identifier: Apache-2.0
import Daemon
import Observability
import Vehicle
import Positioning
import Timekeeping

/// The agent's plan is exact: without an input, nothing happens before the planned time.
///
/// After every call the plan must be a wait that ends later, and the planned action must happen at that time. Verifying
/// a plan in advance, and again before the next call, costs more than everything else, so it is done only after every
/// fourth input, and every 32nd fix.
extension World {
  /// Records the plan after a call of the agent, and after some calls verifies it in advance.
  func notePlan(_ plan: Plan) {
    lastPlan = finishedAt == nil ? plan : nil
    cover(plan)
    if isTranscribing { noteCause(plan, of: agent) }
    guard case .wait(let until, _, _) = plan else { return violate("\(plan) was not carried out") }
    looksAhead = (calls + phase) % (hasPassedFix ? 32 : 4) == 0
    guard let until else { return }
    if until <= bootNow { return violate("a wait that is over: a hot loop") }
    guard looksAhead else { return }
    let vehicle = agent
    let before = vehicle.plan(at: until - .nanoseconds(1))
    if before != plan { violate("\(plan) becomes \(before) without an input") }
    guard case .act(let step) = vehicle.plan(at: until) else {
      return violate("at its end, \(plan) becomes \(vehicle.plan(at: until)): nothing happens")
    }
    var copy = vehicle
    let effects = copy.handle(.deadline, at: Moment(boot: until, wall: moment.wall + (until - moment.boot)))
    if !step.isDone(by: effects) { violate("\(step) was planned, and what happens is \(effects.map(World.brief))") }
  }

  /// Checks before an input that the plan is unchanged.
  ///
  /// - Returns: the step that must be performed now, at the end of the planned wait; nil before it.
  func checkPlan(of vehicle: VehicleAgent) -> Plan.Step? {
    guard let lastPlan, finishedAt == nil else { return nil }
    if let until = lastPlan.until, bootNow >= until {
      if case .act(let step) = vehicle.plan(at: bootNow) { return step }
      violate("at its end, \(lastPlan) becomes \(vehicle.plan(at: bootNow)): nothing happens")
    } else if looksAhead {
      let plan = vehicle.plan(at: bootNow)
      // During the planned wait, time alone does not change the plan.
      if plan != lastPlan { violate("\(lastPlan) became \(plan) without an input") }
    }
    return nil
  }
}

extension Plan.Step {
  /// Whether the effects show that this was performed.
  func isDone(by effects: [VehicleAgent.Effect]) -> Bool {
    switch self {
    // A position that Fleet Engine has, or that is queued already, is not queued again.
    case .enqueue: true
    // A start-up deadline may pass without a source to use.
    case .selectSource: true
    // The time may be the same after the review.
    case .reviewTime: true
    case .reportFixMissing:
      effects.contains { if case .event(let event) = $0 { [.fixLost, .noFix].contains(event.kind) } else { false } }
    case .readStore: effects.contains(.readStore)
    case .lockVehicle: effects.contains(.lockVehicle)
    case .askForToken: effects.contains { if case .fetchToken = $0 { true } else { false } }
    // OFFLINE follows, or the end of the run.
    case .setOffline: true
    case .send, .goOffline: effects.contains { if case .sendUpdate = $0 { true } else { false } }
    case .finish: effects.contains { if case .finished = $0 { true } else { false } }
    }
  }
}
