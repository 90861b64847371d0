// SPDX-License-Identifier: Apache-2.0
import Delivery
import ExternalInput
import FoundationEssentials
import Observability

/// The protocol of the control socket: requests and answers are JSON objects, one on each line.
enum ControlProtocol {
  /// In the service's runtime directory; nil if it runs without systemd.
  static var socketPath: String? { RuntimeDirectory.path.map { "\($0)/control.sock" } }

  private struct Request: Decodable {
    var command: String
  }

  private struct Failure: Encodable {
    var error: String
  }

  private struct Metrics: Encodable {
    /// Prometheus' text format.
    var metrics: String
  }

  private struct Done: Encodable {
    var done = true
    /// A remark for the user.
    var remark: String?
  }

  /// The result of `pause` or `resume`.
  enum PauseResult {
    case done(remark: String?)
    case refused(String)
  }

  /// - Parameters:
  ///   - report: makes the status.
  ///   - reload: reads the settings again; returns the mistake, or nil.
  ///   - setPause: pauses or resumes.
  ///   - metrics: makes the text of the metrics.
  static func answer(
    _ question: [UInt8], report: () -> StatusReport, reload: () -> String?,
    setPause: (VehicleAgent.Input) -> PauseResult,
    metrics: () -> String
  ) -> [UInt8] {
    guard JSONBounds.message.admits(question),
      let question = try? JSONDecoder().decode(Request.self, from: Data(question))
    else {
      return encode(Failure(error: "expected {\"command\": \"…\"}"))
    }
    switch question.command {
    case "status": return encode(report())
    case "reload": return reload().map { encode(Failure(error: $0)) } ?? encode(Done())
    case "pause": return encode(setPause(.pause(nil)))
    case "resume": return encode(setPause(.resume))
    case "metrics": return encode(Metrics(metrics: metrics()))
    default:
      return encode(
        Failure(error: "unknown command; expected \"status\", \"metrics\", \"reload\", \"pause\" or \"resume\""))
    }
  }

  private static func encode(_ result: PauseResult) -> [UInt8] {
    switch result {
    case .done(let remark): encode(Done(remark: remark))
    case .refused(let why): encode(Failure(error: why))
    }
  }

  private static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(value)).map { [UInt8]($0) } ?? Array(#"{"error":"the answer cannot be encoded"}"#.utf8)
  }
}
