// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Observability
import Timekeeping

/// The table of events as a document: `docs/journal.md` is this text.
package enum EventCatalog {
  /// The whole page.
  package static var markdown: String {
    var text = """
      # The journal

      For technicians and operators: how to search the journal of fleet-locationd, what a day looks like in it, and every event
      with its cause and remedy. Each kind of event has a MESSAGE_ID, which is the same in every release:

      ```
      journalctl -u fleet-locationd MESSAGE_ID=\(Event.Kind.offline.messageID)
      ```

      Run `journalctl` with `sudo`, or as a member of `adm` or `systemd-journal`. Fields begin with `FLEET_`. No event contains a token.
      Coordinates are written only with `log.positions = true`.

      ## Questions

      ```
      journalctl -u fleet-locationd -p notice --since today                          # the events of the day
      journalctl -u fleet-locationd -p warning -b                                    # problems since the box was switched on
      journalctl -u fleet-locationd -x -n 20                                         # the last events, with cause and remedy
      journalctl -u fleet-locationd -b -1 -n 20                                      # the last events before a power cut
      journalctl -u fleet-locationd FLEET_EVENT=started -o short-iso                 # every start
      journalctl -u fleet-locationd FLEET_EVENT=offline FLEET_EVENT=online           # outages, with cause and duration
      journalctl -u fleet-locationd FLEET_EVENT=networkLost FLEET_EVENT=networkBack  # when the box had no network
      journalctl -u fleet-locationd FLEET_EVENT=fixLost FLEET_EVENT=fixRegained      # periods without a fix
      journalctl -u fleet-locationd FLEET_EVENT=sourceLost                           # when the receiver was unavailable, and why
      journalctl -u fleet-locationd FLEET_EVENT=tokenFailed FLEET_EVENT=tokenRefused # problems with tokens
      journalctl -u fleet-locationd FLEET_EVENT=positionsDropped                     # what was not delivered, and why
      journalctl -u fleet-locationd FLEET_EVENT=crashed                              # crashes and hangs, and where: crashes.md
      journalctl -u fleet-locationd -o json --output-fields=MESSAGE,FLEET_EVENT      # for a program
      ```

      What repeats is logged rarely: `networkLost` with `networkBack`, and `tokenFailed` and `positionsDropped` for each reason, once in ten
      minutes; `sourceLost` for each reason, and `fixLost` with `fixRegained`, five times at once, then once in ten minutes. A token, or new
      settings, end that for `tokenFailed`: the next failure is logged. The complete numbers, of removed positions and of failures to get a
      token, are in the metrics.

      ## A day

      What `-p notice` shows of a simulated shift, shortened (`Tests/Simulation/DiaryTests.swift`; the full text is `diary.txt` beside
      it). A short interruption soon after an outage has no line of its own; the next reported outage counts it.

      ```
      05:58:00  Started 1.0.0 for vehicle truck-17
      05:59:35  First fix: 3D, ±4 m, 11 satellites
      05:59:35  The clock of this machine is 74 s behind, according to the receiver
      05:59:35  Token obtained, valid for 60 min
      05:59:35  Online: Fleet Engine accepts updates
      06:05:00  The clock of this machine was set forward by 75.0 s
      06:05:00  The clock of this machine is right again
      07:08:18  Offline (network): no response
      07:08:29  No fix for 30 s
      07:12:01  Fix is back after 4 min
      07:12:13  Online: Fleet Engine accepts updates, after 3 min offline; 3 past positions delivered
      09:34:06  No token: the token provider cannot be reached: refused; check token.url, token.proxy and the firewall; the current one is valid for 5 min
      09:50:53  Token renewed, valid for 60 min, after 16 min of attempts
      09:58:00  Paused: no position leaves this machine until fleet-locationctl resume
      10:28:00  The pause has ended after 30 min
      10:58:00  Offline (unavailable): UNAVAILABLE: simulated error
      11:08:15  Still offline after 10 min (unavailable): UNAVAILABLE: simulated error; 42 attempts since this was last reported
      11:58:07  Online: Fleet Engine accepts updates, after 60 min offline; 361 past positions still pending
      11:58:42  361 past positions delivered
      14:00:00  Stopping: received SIGTERM
      14:00:00  Stopped, all positions delivered
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

  /// The table of events as a journald catalogue, from which `journalctl -x` prints the explanation below each event:
  /// `systemd/fleet-locationd.catalog` is this text.
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

  /// The first clause of an explanation, as a title.
  private static func subject(_ explanation: String) -> Substring {
    explanation.prefix { $0 != "." && $0 != ";" && $0 != ":" }
  }

  /// The text, wrapped into lines for a terminal.
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
