// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import FoundationEssentials
import Glibc
import Observability
import Testing
import Timekeeping

struct EventTests {
  @Test("message IDs are unique, with 32 lowercase hexadecimal digits")
  func messageIDs() {
    let digits = Set("0123456789abcdef")
    for kind in Event.Kind.allCases {
      expect(kind.messageID.count == 32 && kind.messageID.allSatisfy(digits.contains), "\(kind)")
    }
    expectEqual(Set(Event.Kind.allCases.map(\.messageID)).count, Event.Kind.allCases.count)
  }

  @Test("every kind of event has a sample, and no message or field contains a line break")
  func samples() throws {
    let samples = try EventSamples.all()
    expectEqual(Set(samples.map(\.kind)), Set(Event.Kind.allCases))
    for event in samples {
      expect(!event.sentence.isEmpty && !event.sentence.contains("\n"), "\(event)")
      for field in event.fields {
        expect(field.name.hasPrefix("FLEET_") && !field.value.contains("\n"), "\(field)")
      }
    }
  }

  @Test("the journal's text for each event matches events.txt; UPDATE_GOLDENS=1 rewrites the file")
  func golden() throws {
    var text = ""
    for event in try EventSamples.all() {
      text += "\(event.kind.rawValue) \(event.kind.priority.name) \(event.kind.messageID)\n  \(event.sentence)\n"
      for field in event.fields { text += "  \(field.name)=\(field.value)\n" }
    }
    let golden = "/\(#filePath.split(separator: "/").dropLast().joined(separator: "/"))/events.txt"
    if getenv("UPDATE_GOLDENS") != nil { try text.write(toFile: golden, atomically: true, encoding: .utf8) }
    try expectEqual(text, String(contentsOfFile: golden, encoding: .utf8))
  }
}
