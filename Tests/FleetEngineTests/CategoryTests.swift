// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FleetEngine
import Foundation
import Testing
import Timekeeping

struct CategoryTests {
  typealias Category = UpdateFailure.Category

  /// The rows of the page's table whose first column is `Category…`, by their first cell.
  private static func table(_ page: String) throws -> [String: [String]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
    let text = try String(contentsOf: root.appending(path: page), encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let rows = lines.drop { !$0.hasPrefix("| Category") }.dropFirst(2).prefix { $0.hasPrefix("|") }
    return Dictionary(
      rows.map { row in
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        return (cells.first ?? "", Array(cells.dropFirst()))
      }, uniquingKeysWith: { first, _ in first })
  }

  private static func word(_ flag: Bool) -> String { flag ? "yes" : "no" }

  @Test("the table in docs/architecture.md agrees with each category's row in the sources")
  func architecture() throws {
    let table = try Self.table("architecture.md")
    expectEqual(Set(table.keys), Set(Category.allCases.map(\.rawValue)))
    for category in Category.allCases {
      let row = category.row
      let past =
        switch row.pastPositions {
        case .notSuspect: "no"
        case .unexplained: "perhaps, if it happens again and again"
        case .tooMany: "perhaps, if they are too many"
        case .notPermitted: "perhaps, if they are not permitted"
        case .rejected: "perhaps, if one is invalid"
        }
      expectEqual(
        table[category.rawValue]?.dropFirst(),
        [
          "\(row.backoff.base.wholeSeconds) s up to \(row.backoff.cap.wholeSeconds) s", Self.word(row.rejectsToken),
          past,
          Self.word(!row.needsConfiguration),
        ], "\(category)")
    }
  }

  @Test("the table in docs/network.md agrees with each category's row in the sources")
  func network() throws {
    let table = try Self.table("network.md")
    expectEqual(Set(table.keys), Set(Category.allCases.map(\.rawValue)))
    for category in Category.allCases {
      let row = category.row
      expectEqual(
        table[category.rawValue],
        [row.isNetworkFailure, row.isFromOtherServer, !row.isEvaluated, !row.isTransient].map(Self.word),
        "\(category)")
    }
  }

  @Test("a failure that can be fixed is reported with advice after its message", arguments: Category.allCases)
  func advice(_ category: Category) {
    let failure = UpdateFailure(category, "words", from: .deliveries)
    expect(failure.withAdvice == failure.advice.map { "words; \($0)" } ?? "words")
    expect(failure.advice != nil || category.row.isTransient || category == .throttled)
    // A failure that needs a change of the configuration has advice.
    expect(!category.row.needsConfiguration || failure.advice != nil)
  }

  @Test("a token whose times are rejected is treated as rejected, with the backoff of a 401")
  func cause() {
    let failure = UpdateFailure(.clockSkew, "words", from: .deliveries, cause: .expired)
    expect(failure.rejectsToken && failure.isEvaluated)
    expectEqual(failure.backoff, Category.unauthenticated.row.backoff)
    expectEqual(UpdateFailure(.clockSkew, "words", from: .deliveries).backoff, .seconds(5, cap: 60))
    expectEqual(failure.advice, RejectionCause.expired.advice(for: .deliveries))
  }

  @Test("no source file compares the category of a failure")
  func comparisons() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    let names = Category.allCases.map { "\($0)" }.joined(separator: "|")
    let pattern = try Regex(
      "(category|Category) *(==|!=) *\\.(\(names))\\b|switch .*\\bcategory\\b *\\{"
        + "|\\.(\(names))\\]\\.contains\\([^)]*ategory\\)")
    var read = 0
    for case let file as URL in try #require(
      FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    where file.pathExtension == "swift" {
      read += 1
      let text = try String(contentsOf: file, encoding: .utf8)
      expectNil(text.firstMatch(of: pattern), "\(file.lastPathComponent)")
    }
    expect(read > 100)
  }
}
