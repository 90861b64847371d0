// SPDX-License-Identifier: Apache-2.0
package import Vehicle
package import Timekeeping

/// The last events, for `status`: not every user of the control socket may read the journal.
package struct RecentEvents: Sendable {
  /// Maximum number of events: those that fit on a small screen.
  package static let capacity = 10
  /// Maximum length of a sentence in characters, because some quote external text.
  package static let maximumSentenceLength = 400

  private struct Entry {
    var kind: Event.Kind
    var sentence: String
    var lastLoggedAt: BootInstant
    var times = 1
  }

  /// Oldest first.
  private var entries: [Entry] = []

  /// Without events.
  package init() {}

  /// Adds an event of level info and above. An event with the same sentence as the newest event is only counted.
  package mutating func add(_ event: Event, at now: BootInstant) {
    guard event.kind.priority <= .info else { return }
    let sentence = String(event.sentence.prefix(RecentEvents.maximumSentenceLength))
    if let last = entries.indices.last, entries[last].kind == event.kind, entries[last].sentence == sentence {
      entries[last].lastLoggedAt = now
      entries[last].times += 1
      return
    }
    if entries.count == RecentEvents.capacity { entries.removeFirst() }
    entries.append(Entry(kind: event.kind, sentence: sentence, lastLoggedAt: now))
  }

  /// Newest first.
  package func report(at now: BootInstant) -> [StatusReport.Event] {
    entries.reversed().map { entry in
      StatusReport.Event(
        name: entry.kind.rawValue, level: entry.kind.priority.name, sentence: entry.sentence,
        age: (now - entry.lastLoggedAt).wholeSeconds, times: entry.times)
    }
  }
}
