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
