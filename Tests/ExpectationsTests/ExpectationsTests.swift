// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

/// The output of a failing test.
struct ExpectationsTests {
  @Test("a failed expectation is recorded as an issue with its values and comment; one that holds is not")
  func issues() {
    withKnownIssue {
      expectEqual(1, 2)
    } matching: {
      $0.comments == ["is 1, not 2"]
    }
    withKnownIssue {
      expectEqual("a\n", "a", "a line")
    } matching: {
      $0.comments == [#"is "a\n", not "a": a line"#]
    }
    withKnownIssue {
      expectNil(Optional(3))
    } matching: {
      $0.comments == ["is 3, not nil"]
    }
    withKnownIssue {
      expect(1 > 2, "an order")
    } matching: {
      $0.comments == ["is false: an order"]
    }
    expectEqual(1, 1, "never")
    expectNil(Int?.none)
    expect(true)
  }

  @Test("an issue is reported at the line of the expectation")
  func line() {
    let here = #line
    withKnownIssue {
      expectEqual(1, 2)
    } matching: {
      $0.sourceLocation?.line == here + 2
    }
  }
}
