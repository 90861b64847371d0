// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Reporting

/// The language of the control socket: a JSON object in, a JSON object out, a line each.
enum ControlAnswers {
  /// In the directory that systemd makes for the service; nil when it runs without systemd.
  static var socketPath: String? { RuntimeDirectory.path.map { "\($0)/control.sock" } }

  private struct Question: Decodable {
    var command: String
  }

  private struct Refusal: Encodable {
    var error: String
  }

  private struct Done: Encodable {
    var done = true
  }

  /// - Parameters:
  ///   - report: makes the status, when it is asked for.
  ///   - reload: reads the settings again, and says what is wrong with them.
  static func answer(_ question: [UInt8], report: () -> StatusReport, reload: () -> String?) -> [UInt8] {
    guard let question = try? JSONDecoder().decode(Question.self, from: Data(question)) else {
      return encode(Refusal(error: "expected {\"command\": \"…\"}"))
    }
    switch question.command {
    case "status": return encode(report())
    case "reload": return reload().map { encode(Refusal(error: $0)) } ?? encode(Done())
    default: return encode(Refusal(error: "unknown command; expected \"status\" or \"reload\""))
    }
  }

  private static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { [UInt8]($0) } ?? Array(#"{"error":"the answer cannot be encoded"}"#.utf8)
  }
}
