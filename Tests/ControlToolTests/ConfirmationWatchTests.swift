// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing
import Timekeeping

@testable import ControlTool
@testable import Observability

struct ConfirmationWatchTests {
  private var watch = ConfirmationWatch(limit: .seconds(60))

  private func report(_ change: (inout StatusReport.Settings) -> Void = { _ in }) -> StatusReport {
    var report = StatusReport(MissingSettings(""), pause: nil)
    report.state?.cause = "notDue"
    var settings = StatusReport.Settings(hash: "a", isKept: false)
    change(&settings)
    report.settings = settings
    return report
  }

  private func waiting(_ left: Int64, standstill: String? = nil) -> StatusReport {
    report {
      $0.confirmation = StatusReport.Confirmation(
        left: left, limit: 60, sentence: "\(left) left", standstill: standstill)
    }
  }

  private mutating func handle(_ report: StatusReport, _ second: Int64) -> ConfirmationWatch.Step {
    watch.handle(.success(report), at: .seconds(second))
  }

  @Test("reload --confirm waits, reports why the countdown is stopped, and ends with the outcome")
  mutating func follows() {
    expectEqual(handle(waiting(60), 0), .wait("60 left"))
    expectEqual(handle(waiting(59), 1), .wait(nil))
    expectEqual(handle(waiting(58, standstill: "no fix"), 2), .wait("58 left"))
    expectEqual(handle(waiting(58, standstill: "no fix"), 3), .wait(nil))
    expectEqual(handle(report(), 4), .confirmed)
    expectEqual(
      handle(report { $0.takenBack = "why" }, 4),
      .failed("the new settings were reverted, and the previous settings are in force again: why"))
    expectEqual(handle(report { $0.unconfirmed = "why" }, 4), .failed("the new settings are not confirmed: why"))
  }

  @Test(
    "reload --confirm fails if the confirmation was ended by a restart with a mistake in the files, or by other settings"
  )
  mutating func replaced() {
    _ = handle(waiting(60), 0)
    expectEqual(
      handle(
        report {
          ($0.hash, $0.isKept) = ("old", true)
          $0.mistake = "f:1: no\nf:2: no"
        }, 1),
      .failed(
        "the settings files have a mistake now, and the last settings that worked are used instead of them: "
          + "f:1: no (and 1 more)"))
    expectEqual(
      handle(report { $0.hash = "old" }, 1),
      .failed("the new settings were replaced by other settings before they were confirmed"))
  }

  @Test("reload --confirm ends half a minute after the time limit if the outcome is still unknown")
  mutating func ends() {
    let silent = Result<StatusReport, StatusRequestError>.failure(StatusRequestError(message: "no answer"))
    expectEqual(watch.handle(silent, at: .seconds(89)), .wait("the daemon does not answer"))
    expectEqual(watch.handle(silent, at: .seconds(90)), .undecided("no answer"))
    expectEqual(handle(waiting(9), 90), .undecided("9 left"))
    let lacking = StatusReport(MissingSettings("no file"), pause: nil)
    expectEqual(handle(lacking, 1), .wait(lacking.summary))
  }
}
