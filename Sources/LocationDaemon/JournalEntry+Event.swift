// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Observability
import ServiceManager

extension JournalEntry {
  /// An event of the core as a journal entry.
  init(_ event: Event) {
    self.init(
      event.kind.priority, event.sentence, messageID: event.kind.messageID,
      fields: [Field("FLEET_EVENT", event.kind.rawValue)] + event.fields.map { Field($0.name, $0.value) })
  }
}
