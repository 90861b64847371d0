// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// The data of a run, for a picture of it.
extension World {
  /// One JSON object. All times are seconds since boot.
  ///
  /// `faults` contain what failed (`of`), and the start and end; `fixes` are the times of the positions that the
  /// receiver reported; `requests` have `at`, `ended` and `status`, which is 0 without a response; `applied` are the
  /// updates that the server accepted, with the times of their positions; `backlog` is the number of pending positions
  /// at each second.
  var trace: String {
    let fixes = receivers[0].reported.keys.sorted().map { World.text(Double($0 - Scenario.boot.milliseconds) / 1000) }
    let requests = attempts.map { attempt in
      let ended = World.text(World.seconds(attempt.endedAt ?? now))
      return #"{"at":\#(World.text(World.seconds(attempt.at))),"ended":\#(ended),"status":\#(attempt.status ?? 0)}"#
    }
    let applied = server.applied.map { applied in
      let past = applied.past.map { "\(World.second(of: $0))" }.joined(separator: ",")
      return #"{"at":\#(World.text(applied.at)),"live":\#(World.second(of: applied.live)),"past":[\#(past)]}"#
    }
    let faults = scenario.faults.map { #"{"of":"\#($0.place)","from":\#($0.from),"until":\#($0.until)}"# }
    let members = [
      #""duration":\#(scenario.duration)"#, #""faults":[\#(faults.joined(separator: ","))]"#,
      #""fixes":[\#(fixes.joined(separator: ","))]"#,
      #""requests":[\#(requests.joined(separator: ","))]"#, #""applied":[\#(applied.joined(separator: ","))]"#,
      #""backlog":[\#(waiting.map { "\($0)" }.joined(separator: ","))]"#,
    ]
    return "{\(members.joined(separator: ","))}"
  }

  /// Rounded to the millisecond.
  private static func text(_ seconds: Double) -> String { "\((seconds * 1000).rounded() / 1000)" }
}
