// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

/// The agent's plan is a promise: nothing happens before its end without an input, and at its end something does.
extension World {
  /// Remembers the plan after the agent was called, and looks ahead as far as it goes.
  func notePlan() {
    let plan = agent.plan(at: moment.boot)
    promise = finishedAt == nil ? plan : nil
    guard case .wait(let until, let cause, _) = plan else { return violate("\(plan) was left undone") }
    causes[cause.name, default: 0] += 1
    guard let until else { return }
    if until <= moment.boot { return violate("a wait that is over: a hot loop") }
    let before = agent.plan(at: until - .nanoseconds(1))
    if before != plan { violate("\(plan) becomes \(before) without an input") }
    guard case .act(let step) = agent.plan(at: until) else {
      return violate("at its end, \(plan) becomes \(agent.plan(at: until)): nothing happens")
    }
    var copy = agent
    let effects = copy.handle(.deadline, at: Moment(boot: until, wall: moment.wall + (until - moment.boot)))
    if !step.isDone(by: effects) { violate("\(step) was planned, and what happens is \(effects.map(World.brief))") }
  }

  /// Before an input is handed over: what was planned is still the plan, and nothing happens by itself.
  func checkPlan() {
    guard let promise, finishedAt == nil else { return }
    if let until = promise.until, moment.boot >= until { return }
    let plan = agent.plan(at: moment.boot)
    if plan != promise { violate("\(promise) became \(plan) without an input") }
    var copy = agent
    let effects = copy.handle(.deadline, at: moment)
    if !effects.isEmpty { violate("\(effects.map(World.brief)) would happen during \(promise)") }
  }
}

extension Plan.Step {
  /// Whether the effects show that this was done.
  fileprivate func isDone(by effects: [VehicleAgent.Effect]) -> Bool {
    switch self {
    // What Fleet Engine has, or what is held already, is not put on the backlog again.
    case .enqueue: true
    // A start-up deadline may pass without a source to use.
    case .electSource: true
    case .reportFixLost: effects.contains { if case .event(let event) = $0 { event.kind == .fixLost } else { false } }
    case .askForToken: effects.contains { if case .fetchToken = $0 { true } else { false } }
    case .send: effects.contains { if case .sendUpdate = $0 { true } else { false } }
    case .finish: effects.contains { if case .finished = $0 { true } else { false } }
    }
  }
}

extension Cause {
  /// For a count of what the runs have come through.
  fileprivate var name: String {
    String("\(self)".prefix { $0 != "(" })
  }
}
