// SPDX-License-Identifier: Apache-2.0
import Configuration
import Delivery
import ServiceManager

extension JournalEntry {
  /// An event of the core as a line of the journal.
  init(_ event: Event) {
    self.init(
      JournalEntry.Priority(event.kind.priority), event.sentence, messageID: event.kind.messageID,
      fields: [Field("FLEET_EVENT", event.kind.rawValue)] + event.fields.map { Field($0.name, $0.value) })
  }
}

extension JournalEntry.Priority {
  init(_ priority: Event.Priority) {
    self =
      switch priority {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
  }

  init(_ level: Settings.Log.Level) {
    self =
      switch level {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
  }
}
