// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Observability
import Testing

@testable import ControlTool

struct SetupWatchTests {
  /// A `SetupWatch` that keeps its state from one response to the next.
  private final class Watch {
    private var watch = SetupWatch(limit: .seconds(60), option: " --instance van")

    func handle(_ response: Result<StatusReport, StatusRequestError>, at time: Duration) -> SetupWatch.Step {
      watch.handle(response, at: time)
    }
  }

  /// A daemon that has sent nothing yet.
  private func waiting(
    _ cause: String, _ label: String, level: String = "warning", advice: String? = nil, _ changes: [String: Any] = [:]
  ) throws -> Result<StatusReport, StatusRequestError> {
    var state: [String: Any] = ["cause": cause, "label": label, "detail": " for 4 s", "level": level]
    state["advice"] = advice
    let report = try StatusScreenTests.status(
      ["lastUpdate": NSNull(), "state": state].merging(changes) { $1 })
    return .success(report)
  }

  /// A daemon whose updates are accepted.
  private func accepting(_ counters: [String: Int]) throws -> Result<StatusReport, StatusRequestError> {
    .success(try StatusScreenTests.status(["counters": counters]))
  }

  private let silence = Result<StatusReport, StatusRequestError>.failure(StatusRequestError(message: "nothing listens"))

  @Test("each state is reported once, until an update is accepted")
  func online() throws {
    let watch = Watch()
    expectEqual(watch.handle(silence, at: .seconds(0)), .wait("the service starts"))
    expectEqual(watch.handle(silence, at: .seconds(1)), .wait(nil))
    expectEqual(watch.handle(try waiting("noFix", "waiting for a fix"), at: .seconds(2)), .wait("waiting for a fix"))
    expectEqual(watch.handle(try waiting("noFix", "waiting for a fix"), at: .seconds(3)), .wait(nil))
    expectEqual(watch.handle(try waiting("noToken", "no token"), at: .seconds(4)), .wait("no token"))
    expectEqual(
      watch.handle(try accepting(["accepted": 1, "tokens": 1]), at: .seconds(5)),
      .online("Fleet Engine has accepted the first update of truck-17"))
  }

  @Test("setup gives up when a state that needs action has lasted for 15 s, and then reports the advice")
  func bad() throws {
    let watch = Watch()
    let denied = try waiting("denied", "no token", level: "bad", advice: "Check the credential")
    expectEqual(watch.handle(denied, at: .seconds(1)), .wait("no token; the service tries again"))
    expectEqual(watch.handle(denied, at: .seconds(15)), .wait(nil))
    expectEqual(watch.handle(denied, at: .seconds(16)), .missing("no token for 4 s\nCheck the credential"))
    // The 15 s start again after another state.
    let other = Watch()
    expectEqual(other.handle(denied, at: .seconds(1)), .wait("no token; the service tries again"))
    expectEqual(other.handle(try waiting("noFix", "waiting for a fix"), at: .seconds(10)), .wait("waiting for a fix"))
    expectEqual(other.handle(denied, at: .seconds(16)), .wait("no token; the service tries again"))
    expectEqual(other.handle(denied, at: .seconds(30)), .wait(nil))
  }

  @Test("a problem that usually ends by itself may last until the limit", arguments: ["noNetwork", "unavailable"])
  func passing(cause: String) throws {
    let watch = Watch()
    let problem = try waiting(cause, "no network", level: "bad", advice: "Check the SIM")
    expectEqual(watch.handle(problem, at: .seconds(1)), .wait("no network"))
    expectEqual(watch.handle(problem, at: .seconds(59)), .wait(nil))
    expectEqual(watch.handle(problem, at: .seconds(60)), .missing("no network for 4 s\nCheck the SIM"))
  }

  @Test("accepted positions of the queue do not prove that the source works")
  func queuedPositions() throws {
    func queued(_ cause: String, _ label: String, level: String) throws -> Result<StatusReport, StatusRequestError> {
      try waiting(
        cause, label, level: level,
        ["lastUpdate": 3, "fix": NSNull(), "counters": ["accepted": 1, "tokens": 1]])
    }
    let watch = Watch()
    expectEqual(
      watch.handle(try queued("noFix", "waiting for a fix", level: "warning"), at: .seconds(12)),
      .wait("only queued positions are accepted: waiting for a fix"))
    let silent = try queued("noSource", "no source", level: "bad")
    expectEqual(
      watch.handle(silent, at: .seconds(20)),
      .wait("only queued positions are accepted: no source; the service tries again"))
    expectEqual(
      watch.handle(silent, at: .seconds(35)), .missing("only queued positions are accepted: no source for 4 s"))
  }

  @Test("at the time limit, setup reports what is missing")
  func limit() throws {
    let watch = Watch()
    let fix = try waiting("noFix", "waiting for a fix", advice: "The antenna needs a view of the sky")
    expectEqual(watch.handle(fix, at: .seconds(59)), .wait("waiting for a fix"))
    expectEqual(
      watch.handle(fix, at: .seconds(60)), .missing("waiting for a fix for 4 s\nThe antenna needs a view of the sky"))
    expectEqual(watch.handle(silence, at: .seconds(60)), .missing("nothing listens"))
  }

  @Test("updates with a token of the previous run do not prove the credential, nor does a token without updates")
  func cachedToken() throws {
    let watch = Watch()
    let cached = try accepting(["accepted": 3, "tokens": 0])
    expectEqual(watch.handle(cached, at: .seconds(1)), .wait("online with a token of the previous run"))
    expectEqual(watch.handle(cached, at: .seconds(59)), .wait(nil))
    expectEqual(
      watch.handle(cached, at: .seconds(60)),
      .missing(
        "updates are accepted, with a token of the previous run; fleet-locationctl token --instance van says whether the "
          + "token provider gives one with these settings"))
    let restored = try accepting(["accepted": 0, "tokens": 1])
    expectEqual(watch.handle(restored, at: .seconds(1)), .wait("online"))
  }

  @Test("setup reports a paused vehicle at once")
  func paused() throws {
    let watch = Watch()
    let paused = try waiting("paused", "paused", [:]).get()
    var report = paused
    report.isPaused = true
    expectEqual(
      watch.handle(.success(report), at: .zero),
      .missing("the vehicle is paused by command; end it with: fleet-locationctl resume --instance van"))
  }

  @Test(
    "updates with the last settings that worked do not count: setup says why those in the files are not in force",
    arguments: [
      ("takenBack", "no fix", "were reverted before, and are not tried again until they change: no fix"),
      ("mistake", "f:1: no\nf:2: no", "have a mistake: f:1: no (and 1 more)"),
    ])
  func kept(key: String, value: String, why: String) throws {
    let watch = Watch()
    let report = try StatusScreenTests.status([
      "counters": ["accepted": 1, "tokens": 1], "settings": ["hash": "a", "isKept": true, key: value] as [String: Any],
    ])
    expectEqual(
      watch.handle(.success(report), at: .seconds(5)),
      .missing("the last settings that worked are in force, because those in the files \(why)"))
  }
}
