// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Configuration

struct TOMLParserTests {
  @Test("values have their type and their position")
  func places() throws {
    let text = "a = 1\n[t]\nb = \"x\\u0000y\"\nc = [1.5, true]\nd = 2020-01-01\n"
    let root = try TOMLParser.parse(Array(text.utf8), file: "f")
    expectEqual(
      root.members["a"]?.value, TOMLValue(content: .integer(1), position: SourcePosition(file: "f", line: 1, column: 5))
    )
    let table = try #require(root.members["t"]?.value.members)
    expectEqual(table["b"]?.value.content, .string("x\0y"))
    expectEqual(table["b"]?.keyPosition, SourcePosition(file: "f", line: 3, column: 1))
    guard case .array(let elements) = table["c"]?.value.content else {
      Issue.record("not an array")
      return
    }
    expectEqual(elements.map(\.content), [.float(1.5), .boolean(true)])
    expectEqual(table["d"]?.value.content, .dateTime)
  }

  @Test(
    "invalid TOML is rejected with its position, without a trap",
    arguments: [
      "a = ", "a = 1\na = 2", "[a", "a = \"\\q\"", "a = 1 2", "= 1", "a = 99999999999999999999", "\u{0}", "a = '\u{7}'",
      String(repeating: "[", count: 100_000), "a = " + String(repeating: "[", count: 100_000),
      "a = " + String(repeating: "{a=", count: 100_000),
    ])
  func refused(_ text: String) throws {
    let problem = try #require(throws: Diagnostic.self) { try TOMLParser.parse(Array(text.utf8), file: "f") }
    expect(problem.position.line >= 1)
  }

  @Test("keys of more than 32 parts are rejected, and do not exhaust the stack")
  func deepKeys() throws {
    func parse(parts: Int) throws -> TOMLValue {
      try TOMLParser.parse(Array(("a" + String(repeating: ".a", count: parts - 1) + " = 1").utf8), file: "f")
    }
    expectEqual(try parse(parts: 32).members.count, 1)
    for (parts, problem) in [
      (33, "nests tables too deep"), (201, "nests tables too deep"), (202, "has more than 200 dots"),
      (100_000, "has more than 200 dots"),
    ] {
      let error = #expect(throws: Diagnostic.self) { try parse(parts: parts) }
      expectEqual(error?.message.hasPrefix(problem), true)
    }
  }

  @Test("bytes that are not UTF-8 are rejected")
  func notUTF8() {
    #expect(throws: Diagnostic.self) { try TOMLParser.parse([0x61, 0x3D, 0x22, 0xFF, 0x22], file: "f") }
  }

  @Test("empty text is parsed as an empty table")
  func empty() throws {
    expect(try TOMLParser.parse([], file: "f").members.isEmpty)
  }
}
