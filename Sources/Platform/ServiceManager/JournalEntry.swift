// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// An entry for the journal.
package struct JournalEntry: Equatable, Sendable {
  /// A field in addition to the message, such as `FLEET_EVENT`.
  package struct Field: Equatable, Sendable {
    /// Letters A to Z, digits and underscores, beginning with a letter; the journal ignores fields with other names.
    package var name: String
    /// Any text.
    package var value: String

    package init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// PRIORITY, as in syslog(3).
  package var priority: Priority
  /// MESSAGE: one sentence.
  package var message: String
  /// MESSAGE_ID: 32 hexadecimal digits that identify this kind of event forever.
  package var messageID: String?
  /// The fields in the order in which they are written; names are in upper case.
  package var fields: [Field]

  package init(_ priority: Priority, _ message: String, messageID: String? = nil, fields: [Field] = []) {
    self.priority = priority
    self.message = message
    self.messageID = messageID
    self.fields = fields
  }

  /// The entry for sd_journal_sendv(3): `NAME=value`, one array for each field.
  var assignments: [[UInt8]] {
    var assignments = [Array("MESSAGE=\(message)".utf8), Array("PRIORITY=\(priority.rawValue)".utf8)]
    if let messageID { assignments.append(Array("MESSAGE_ID=\(messageID)".utf8)) }
    for field in fields where JournalEntry.isName(field.name) {
      assignments.append(Array("\(field.name)=\(field.value)".utf8))
    }
    return assignments
  }

  private static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first), name.utf8.count <= 64
    else { return false }
    return name.utf8.allSatisfy { byte in
      (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || byte == UInt8(ascii: "_")
    }
  }
}
