// SPDX-License-Identifier: Apache-2.0
import Delivery
import ExternalInput
import FoundationEssentials
import Observability

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

  private struct Metrics: Encodable {
    /// Prometheus' text format.
    var metrics: String
  }

  private struct Done: Encodable {
    var done = true
    /// What whoever asked should know.
    var remark: String?
  }

  /// What became of an order.
  enum Steered {
    case done(remark: String?)
    case refused(String)
  }

  /// - Parameters:
  ///   - report: makes the status, when it is asked for.
  ///   - reload: reads the settings again, and says what is wrong with them.
  ///   - steer: pauses or resumes.
  ///   - metrics: makes them, when they are asked for.
  static func answer(
    _ question: [UInt8], report: () -> StatusReport, reload: () -> String?, steer: (VehicleAgent.Input) -> Steered,
    metrics: () -> String
  ) -> [UInt8] {
    guard JSONBounds.message.admits(question),
      let question = try? JSONDecoder().decode(Question.self, from: Data(question))
    else {
      return encode(Refusal(error: "expected {\"command\": \"…\"}"))
    }
    switch question.command {
    case "status": return encode(report())
    case "reload": return reload().map { encode(Refusal(error: $0)) } ?? encode(Done())
    case "pause": return encode(steer(.pause(nil)))
    case "resume": return encode(steer(.resume))
    case "metrics": return encode(Metrics(metrics: metrics()))
    default:
      return encode(
        Refusal(error: "unknown command; expected \"status\", \"metrics\", \"reload\", \"pause\" or \"resume\""))
    }
  }

  private static func encode(_ steered: Steered) -> [UInt8] {
    switch steered {
    case .done(let remark): encode(Done(remark: remark))
    case .refused(let why): encode(Refusal(error: why))
    }
  }

  private static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { [UInt8]($0) } ?? Array(#"{"error":"the answer cannot be encoded"}"#.utf8)
  }
}
