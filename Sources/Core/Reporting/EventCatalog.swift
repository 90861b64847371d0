// SPDX-License-Identifier: Apache-2.0

/// The table of events as a document: `docs/journal.md` is this text.
package enum EventCatalog {
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
      journalctl -u fleet-locationd -o json --output-fields=MESSAGE,FLEET_EVENT      # for a program
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
