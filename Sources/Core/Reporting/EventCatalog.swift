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
}
