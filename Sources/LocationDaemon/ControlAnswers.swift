// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Glibc
import Reporting

/// The language of the control socket: a JSON object in, a JSON object out, a line each.
enum ControlAnswers {
  /// In the directory that systemd makes for the service; nil when it runs without systemd.
  static var socketPath: String? {
    guard let directory = getenv("RUNTIME_DIRECTORY").map({ String(cString: $0) }), !directory.isEmpty else {
      return nil
    }
    return "\(directory)/control.sock"
  }

  private struct Question: Decodable {
    var command: String
  }

  private struct Refusal: Encodable {
    var error: String
  }

  /// - Parameter report: makes the status, when it is asked for.
  static func answer(_ question: [UInt8], report: () -> StatusReport) -> [UInt8] {
    guard let question = try? JSONDecoder().decode(Question.self, from: Data(question)) else {
      return encode(Refusal(error: "expected {\"command\": \"…\"}"))
    }
    switch question.command {
    case "status": return encode(report())
    default: return encode(Refusal(error: "unknown command; expected \"status\""))
    }
  }

  private static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { [UInt8]($0) } ?? Array(#"{"error":"the answer cannot be encoded"}"#.utf8)
  }
}
