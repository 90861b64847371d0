// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite struct FilterScoreTests {
  @Test("print") func table() { for trouble in Trouble.allCases { let s = Score(trouble, seeds: 0..<20); print(trouble.rawValue, s) } }
}
