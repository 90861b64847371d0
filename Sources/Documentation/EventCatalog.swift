// SPDX-License-Identifier: Apache-2.0
import Delivery
import Observability
import Timekeeping

/// The table of events as a document: `docs/journal.md` is this text.
package enum EventCatalog {
  /// The whole page.
  package static var markdown: String {
    var text = """
      # The journal

      Every event that fleet-locationd writes, with its MESSAGE_ID, which is the same in every release. To see one kind:

      ```
      journalctl -u fleet-locationd MESSAGE_ID=\(Event.Kind.offline.messageID)
      ```

      Fields begin with `FLEET_`. No event holds a token. Coordinates are told only with `log.positions = true`.

      ## Questions

      ```
      journalctl -u fleet-locationd -p notice --since today                          # the day as a diary
      journalctl -u fleet-locationd -p warning -b                                    # what went wrong since the box was switched on
      journalctl -u fleet-locationd -x -n 20                                         # the last events, with what to do about each
      journalctl -u fleet-locationd -b -1 -n 20                                      # the last words before the power went
      journalctl -u fleet-locationd FLEET_EVENT=started -o short-iso                 # when it was started, how often
      journalctl -u fleet-locationd FLEET_EVENT=offline FLEET_EVENT=online           # when it lost Fleet Engine, why, for how long
      journalctl -u fleet-locationd FLEET_EVENT=networkLost FLEET_EVENT=networkBack  # when the box had no network
      journalctl -u fleet-locationd FLEET_EVENT=fixLost FLEET_EVENT=fixRegained      # when it lost the sky, and for how long
      journalctl -u fleet-locationd FLEET_EVENT=sourceLost                           # when the receiver was not to be had, and why
      journalctl -u fleet-locationd FLEET_EVENT=tokenFailed FLEET_EVENT=tokenRefused # trouble with tokens
      journalctl -u fleet-locationd FLEET_EVENT=positionsDropped                     # what was not delivered, and why
      journalctl -u fleet-locationd FLEET_EVENT=crashed                              # when it crashed or hung, and where: crashes.md
      journalctl -u fleet-locationd -o json --output-fields=MESSAGE,FLEET_EVENT      # for a program
      ```

      ## A day

      What `-p notice` shows of a shift, shortened; `Tests/Simulation/DiaryTests.swift` drives it, and `diary.txt` beside it has all of it.
      A short outage soon after another is not told, and counted by the next that is.

      ```
      05:58:00  Started 1.0.0 for vehicle truck-17
      05:59:35  First fix: 3D, ±4 m, 11 satellites
      05:59:35  The clock of this machine is 74 s behind, by the receiver
      05:59:35  Token obtained, good for 60 min
      05:59:35  Online: Fleet Engine accepts updates
      06:05:00  The clock of this machine was set forward by 75.0 s
      06:05:00  The clock of this machine is right again
      07:08:18  Offline (network): no answer
      07:08:29  No fix for 30 s
      07:12:01  Fix is back after 4 min
      07:12:13  Online: Fleet Engine accepts updates, after 3 min; 3 past positions delivered
      09:34:06  No token: the token provider cannot be reached: refused; the one before is good for 5 min
      09:50:53  Token renewed, good for 60 min, after 16 min of asking
      09:58:00  Paused: no position leaves this machine until fleet-locationctl resume
      10:28:00  The pause has ended, after 30 min
      10:58:00  Offline (unavailable): UNAVAILABLE: as told
      11:08:15  Still offline after 10 min (unavailable): UNAVAILABLE: as told; 42 tries since this was last told
      11:58:07  Online: Fleet Engine accepts updates, after 60 min; 261 of 361 past positions still to come
      11:58:32  361 past positions delivered
      14:00:00  Stopping: asked to, by SIGTERM
      14:00:00  Stopped, everything delivered
      ```

      ## Events

      | Event | Priority | MESSAGE_ID | Meaning |
      |---|---|---|---|

      """
    for kind in Event.Kind.allCases {
      text += "| \(kind.rawValue) | \(kind.priority.name) | `\(kind.messageID)` | \(kind.explanation) |\n"
    }
    return text
  }

  /// The same for journald: `journalctl -x` prints it below each event. systemd.catalog format, as
  /// `systemd/fleet-locationd.catalog` has it.
  package static var messageCatalog: String {
    var text = "# SPDX-License-Identifier: Apache-2.0\n# Generated from the table of events; do not edit.\n"
    for kind in Event.Kind.allCases {
      text += """

        -- \(kind.messageID)
        Subject: \(subject(kind.explanation))
        Defined-By: fleet-locationd
        Documentation: man:fleet-locationd(8)

        \(wrapped(kind.explanation))

        """
    }
    return text
  }

  /// The first clause, as a title.
  private static func subject(_ explanation: String) -> Substring {
    explanation.prefix { $0 != "." && $0 != ";" && $0 != ":" }
  }

  /// In lines for a terminal.
  private static func wrapped(_ text: String, width: Int = 78) -> String {
    var lines = [""]
    for word in text.split(separator: " ") {
      let last = lines[lines.count - 1]
      if last.isEmpty {
        lines[lines.count - 1] = String(word)
      } else if last.count + 1 + word.count <= width {
        lines[lines.count - 1] = "\(last) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines.joined(separator: "\n")
  }
}
