// SPDX-License-Identifier: Apache-2.0
// A release build with the static standard library builds this file too, but has no testing library.
#if canImport(Testing)
  package import Testing

  // The expectations of this package's tests, as functions. `#expect` expands each condition into closures that are
  // type checked a second time and compiled, which took half of the compile time of VehicleTests. `#expect(throws:)`
  // and `#require` are used as they are.

  /// Records an issue at the caller's line unless the condition holds. For an equality use `expectEqual`, whose issue
  /// has both values.
  package func expect(
    _ condition: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if !condition { record("is false", comment(), sourceLocation) }
  }

  /// Records an issue with both values at the caller's line unless they are equal; for long texts, with only the first
  /// line that differs.
  package func expectEqual<Value: Equatable>(
    _ actual: Value, _ expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if actual != expected { record(difference(actual, expected), comment(), sourceLocation) }
  }

  /// Records an issue with the value at the caller's line unless the value is nil.
  package func expectNil<Value>(
    _ value: Value?, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    if let value { record("is \(describe(value)), not nil", comment(), sourceLocation) }
  }

  private func difference<Value>(_ actual: Value, _ expected: Value) -> String {
    guard let actual = actual as? String, let expected = expected as? String,
      case let (lines, others) = (lines(of: actual), lines(of: expected)), lines.count + others.count > 10
    else { return "is \(describe(actual)), not \(describe(expected))" }
    let index = zip(lines, others).prefix { $0 == $1 }.count
    func line(_ lines: [Substring]) -> String { index < lines.count ? describe(String(lines[index])) : "missing" }
    return "line \(index + 1) is \(line(lines)), not \(line(others))"
  }

  private func lines(of text: String) -> [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

  private func describe<Value>(_ value: Value) -> String { String(reflecting: value) }

  private func record(_ finding: String, _ comment: Comment?, _ sourceLocation: SourceLocation) {
    let text = comment.map { "\(finding): \($0.rawValue)" } ?? finding
    Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
  }
#endif
