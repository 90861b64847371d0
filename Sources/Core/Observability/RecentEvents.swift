// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import Timekeeping

/// The last events, for who asks the daemon how it is now: the journal has them all, but not everybody may read it.
package struct RecentEvents: Sendable {
  /// As many as a small screen has room for.
  package static let most = 10
  /// Characters of one sentence: some quote what somebody else has said.
  package static let longest = 400

  private struct Entry {
    var kind: Event.Kind
    var sentence: String
    var at: BootInstant
    var times = 1
  }

  /// Oldest first.
  private var entries: [Entry] = []

  /// Nothing has happened yet.
  package init() {}

  /// Takes an event of the level info and above. One that says the same as the newest is counted, not kept again.
  package mutating func note(_ event: Event, at now: BootInstant) {
    guard event.kind.priority <= .info else { return }
    let sentence = String(event.sentence.prefix(RecentEvents.longest))
    if let last = entries.indices.last, entries[last].kind == event.kind, entries[last].sentence == sentence {
      entries[last].at = now
      entries[last].times += 1
      return
    }
    if entries.count == RecentEvents.most { entries.removeFirst() }
    entries.append(Entry(kind: event.kind, sentence: sentence, at: now))
  }

  /// Newest first.
  package func report(at now: BootInstant) -> [StatusReport.Event] {
    entries.reversed().map { entry in
      StatusReport.Event(
        name: entry.kind.rawValue, level: entry.kind.priority.name, sentence: entry.sentence,
        age: (now - entry.at).wholeSeconds, times: entry.times)
    }
  }
}
