// SPDX-License-Identifier: Apache-2.0
import Expectations
import ExternalInput
import FoundationEssentials
import Glibc
import Positioning
import Testing

struct FilterScoreTests {
  /// The limits for the drives of one kind: the shares of accepted bad fixes and of rejected good fixes, and the
  /// longest time for which good fixes are rejected.
  private struct Bound {
    /// Nil if the filter cannot detect the error; `docs/filter.md` says how much is accepted.
    var passed: Double? = 0
    var refused = 0.0
    var silence = 0
  }

  /// The limits are higher than the scores of two hundred drives of each kind, because the test has only six.
  private static func bound(_ trouble: Trouble) -> Bound {
    switch trouble {
    case .none, .highway, .ferry, .train, .creeping, .parked, .rollover: Bound()
    case .future, .past: Bound()
    // Ten fixes are needed before this speed is accepted.
    case .fastTrain: Bound(refused: 0.04, silence: 9)
    case .zeroSpeed: Bound(refused: 0.04, silence: 8)
    case .jump: Bound(passed: 0.02, refused: 0.005, silence: 8)
    case .burst: Bound(passed: 0.03, refused: 0.02, silence: 8)
    case .noSpeedBurst: Bound(passed: 0.03, refused: 0.02, silence: 8)
    // The error of one fix in ten thousand exceeds three standard deviations, although its accuracy is right.
    case .honestCanyon: Bound(passed: nil, refused: 0.001, silence: 4)
    case .falseCanyon: Bound(passed: nil, refused: 0.08, silence: 10)
    // Frozen positions are good if the vehicle's next stop is near them, but they are still rejected.
    case .frozen: Bound(passed: 0.15, refused: 0.02, silence: 20)
    case .zero: Bound(refused: 0.005, silence: 1)
    case .honestTunnel: Bound(refused: 0.02, silence: 6)
    case .falseTunnel: Bound(passed: 0.1, refused: 0.005, silence: 3)
    }
  }

  @Test("few bad fixes are accepted, and few good fixes are rejected, never for long", arguments: Trouble.allCases)
  func bounds(trouble: Trouble) {
    let score = Score(trouble, seeds: 1000..<1006)
    let bound = FilterScoreTests.bound(trouble)
    expect(score.good > 0)
    if let passed = bound.passed { expect(score.passedShare <= passed, "\(score)") }
    if let passed = bound.passed, passed > 0 { expect(score.bad > 0) }
    expect(score.refusedShare <= bound.refused, "\(score)")
    expect(score.longestSilence <= bound.silence, "\(score)")
  }

  @Test(
    "every reason for a rejection has a sentence and advice that fit into a table", arguments: FixRejection.allCases)
  func reasons(reason: FixRejection) {
    let sentence = reason.sentence.text
    let advice = reason.advice ?? ""
    expect(sentence.count >= 10 && !sentence.hasSuffix("."))
    expect(advice.count >= 30 && !advice.hasSuffix("."))
    expect(!(sentence + advice).contains { $0 == "|" || $0 == "\n" })
  }

  /// `docs/filter.md`.
  static func page() throws -> String { try String(contentsOfFile: pagePath, encoding: .utf8) }

  private static let pagePath =
    "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/docs/filter.md"

  @Test("docs/filter.md is current; UPDATE_GOLDENS=1 writes it, and FILTER_SCORE=1 also checks the scores")
  func document() throws {
    let isUpdating = getenv("UPDATE_GOLDENS") != nil
    guard isUpdating || getenv("FILTER_SCORE") != nil else {
      expect(try FilterScoreTests.page().hasPrefix(FilterDocument.beginning))
      return
    }
    let road = FilterDocument.road(try RoadScoreTests.scores.get())
    let scores = FilterDocument.scores(Trouble.allCases.map { ($0, Score($0, seeds: FilterDocument.seeds)) })
    print(road + scores)
    let text = FilterDocument.beginning + road + scores
    if isUpdating { try text.write(toFile: FilterScoreTests.pagePath, atomically: true, encoding: .utf8) }
    try expectEqual(FilterScoreTests.page(), text)
  }
}
