// SPDX-License-Identifier: Apache-2.0

/// What a test could not do, or the condition that was not met in time.
struct TestFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
