// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Glibc
import Delivery
import Testing

@Suite struct EventTests {
  @Test("message IDs are 32 hexadecimal digits in lower case, each its own")
  func messageIDs() {
    let digits = Set("0123456789abcdef")
    for kind in Event.Kind.allCases {
      #expect(kind.messageID.count == 32 && kind.messageID.allSatisfy(digits.contains), "\(kind)")
    }
    #expect(Set(Event.Kind.allCases.map(\.messageID)).count == Event.Kind.allCases.count)
  }

  @Test("every event is explained in whole sentences", arguments: Event.Kind.allCases)
  func explanations(kind: Event.Kind) {
    #expect(kind.explanation.count >= 15)
    #expect(kind.explanation.hasSuffix("."))
    #expect(!kind.explanation.contains("\n"))
  }

  @Test(
    "the documents in the tree are what the table says; UPDATE_GOLDENS=1 writes them anew",
    arguments: [
      ("docs/journal.md", EventCatalog.markdown), ("systemd/fleet-locationd.catalog", EventCatalog.messageCatalog),
    ])
  func documents(name: String, text: String) throws {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let path = "/\(root)/\(name)"
    if getenv("UPDATE_GOLDENS") != nil { try text.write(toFile: path, atomically: true, encoding: .utf8) }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
  }
}
