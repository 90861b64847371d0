// SPDX-License-Identifier: Apache-2.0
import JSON
import Varlink

@testable import LocationDaemon

/// An interface description in Varlink's language, as the daemon returns it.
struct InterfaceFile {
  let text: String

  init(_ interface: String, _ handle: ([UInt8]) -> ControlProtocol.Action) {
    let call = VarlinkCall("org.varlink.service", "GetInterfaceDescription", ["interface": .string(interface)])
    if case .reply(let bytes) = handle(call.encoded) {
      text = VarlinkReply(parsing: bytes)?.parameters["description"]?.string ?? ""
    } else {
      text = ""
    }
  }

  /// The names of the fields in the declaration `keyword name`, a set for each pair of parentheses.
  func fields(_ keyword: String, _ name: String) -> [Set<String>]? {
    let code = text.split(separator: "\n").filter { !$0.trimmingPrefix(while: \.isWhitespace).hasPrefix("#") }
      .joined(separator: "\n")
    guard let start = code.firstRange(of: "\n\(keyword) \(name) (") ?? code.firstRange(of: "\n\(keyword) \(name)(")
    else { return nil }
    let rest = code[start.lowerBound...].dropFirst()
    let end = ["\nmethod ", "\nerror ", "\ntype "].compactMap { rest.firstRange(of: $0)?.lowerBound }.min()
    let declaration = rest[..<(end ?? rest.endIndex)]
    return declaration.split(separator: "(").dropFirst().map { list in
      Set(
        list.prefix { $0 != ")" }.split(separator: ",").compactMap {
          $0.split(separator: ":").first?.split(whereSeparator: \.isWhitespace).first.map(String.init)
        })
    }
  }

  /// The names that are declared with this keyword, in the order of the file.
  func names(_ keyword: String) -> [String] {
    text.split(separator: "\n").filter { $0.hasPrefix("\(keyword) ") }.map {
      String($0.dropFirst(keyword.count + 1).prefix { $0 != " " && $0 != "(" })
    }
  }

  /// The declarations without a comment above them.
  var uncommented: [String] {
    var before: Substring = ""
    var lines: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let code = line.trimmingPrefix(while: \.isWhitespace)
      let isDeclared = ["method ", "error ", "type ", "interface "].contains { line.hasPrefix($0) }
      // An error's message is described at the head of the file.
      let isField = line.hasPrefix("  ") && !code.hasPrefix("#") && code != "message: string"
      if isDeclared || isField, !before.contains("#") { lines.append(String(line)) }
      before = line
    }
    return lines
  }
}
