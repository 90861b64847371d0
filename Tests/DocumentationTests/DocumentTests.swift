// SPDX-License-Identifier: Apache-2.0
import Configuration
import Expectations
import Vehicle
import Documentation
import ExternalInput
import FoundationEssentials
import Glibc
import Observability
import Testing

struct DocumentTests {
  private static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  @Test(
    "the generated documents are current; UPDATE_GOLDENS=1 rewrites them",
    arguments: [
      ("docs/journal.md", EventCatalog.markdown), ("systemd/fleet-locationd.catalog", EventCatalog.messageCatalog),
      ("docs/metrics.md", MetricCatalog.markdown), ("docs/settings.md", SettingsReference.markdown()),
      ("docs/man/fleet-locationd.toml.5", SettingsManual.text),
    ])
  func documents(name: String, text: String) throws {
    let path = "\(Self.root)/\(name)"
    if getenv("UPDATE_GOLDENS") != nil { try text.write(toFile: path, atomically: true, encoding: .utf8) }
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), text)
  }

  @Test("the explanation of each event consists of complete sentences, on one line", arguments: Event.Kind.allCases)
  func sentences(kind: Event.Kind) {
    let sentences = kind.explanation.split(separator: ". ", omittingEmptySubsequences: false)
    for sentence in sentences {
      expect(sentence.first?.isUppercase == true && sentence.contains(" "), "\(sentence)")
    }
    expect(kind.explanation.hasSuffix(".") && !kind.explanation.contains(".."))
    expect(!kind.explanation.contains { $0.isNewline || $0 == "|" })
  }

  @Test("each page of the documentation that a message names exists", arguments: ManualPage.allCases)
  func page(page: ManualPage) {
    expectEqual(access("\(Self.root)/docs/\(page.rawValue).md", F_OK), 0)
    expectEqual(page.description, "/usr/share/doc/fleet-locationd/docs/\(page.rawValue).md")
  }

  @Test("every event has its own explanation")
  func different() {
    expectEqual(Set(Event.Kind.allCases.map(\.explanation)).count, Event.Kind.allCases.count)
  }

  @Test("documents and settings that an explanation names exist", arguments: Event.Kind.allCases)
  func references(kind: Event.Kind) throws {
    let settings = try String(contentsOfFile: "\(Self.root)/docs/settings.md", encoding: .utf8)
    for word in kind.explanation.split(whereSeparator: { " ,;:()".contains($0) }) {
      let word = word.hasSuffix(".") ? word.dropLast() : word
      if word.hasPrefix("docs/") {
        expectEqual(access("\(Self.root)/\(word)", F_OK), 0, "\(word)")
      } else if let dot = word.firstIndex(of: "."), word.allSatisfy({ $0.isLowercase || "._".contains($0) }) {
        let (section, key) = (word[..<dot], word[word.index(after: dot)...])
        let rows = settings.split(separator: "\n## [").first { $0.hasPrefix("\(section)]") }
        expectEqual(rows?.contains("`\(key)`"), true, "\(word)")
      }
    }
  }
}
