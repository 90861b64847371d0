// SPDX-License-Identifier: Apache-2.0
import Daemon
import JSON

/// The protocol of the control socket: requests and responses are JSON objects, one on each line.
enum ControlProtocol {
  /// In the service's runtime directory; nil if it runs without systemd.
  static var socketPath: String? { RuntimeDirectory.path.map { "\($0)/control.sock" } }

  /// Why a line is no request.
  nonisolated struct Mistake: Error {
    fileprivate let message: String
  }

  /// The request in a line.
  static func request(_ line: [UInt8]) throws(Mistake) -> Daemon.Request {
    guard let command = (try? JSONValue(parsing: line))?["command"]?.string else {
      throw Mistake(message: "expected {\"command\": \"…\"}")
    }
    switch command {
    case "status": return .status
    case "metrics": return .metrics
    case "reload": return .reload
    default:
      if let command = Daemon.DriverCommand(rawValue: command) { return .drive(command) }
      throw Mistake(
        message:
          "unknown command; expected \"status\", \"metrics\", \"reload\", \"pause\", \"resume\", \"offline\" or \"online\""
      )
    }
  }

  /// The response to a line that is no request.
  static func encode(_ mistake: Mistake) -> [UInt8] { failure(mistake.message) }

  /// The daemon's response to a request.
  static func encode(_ response: Daemon.Response) -> [UInt8] {
    switch response {
    case .status(let report):
      (try? JSONValue(encoding: report).encoded) ?? failure("the response cannot be encoded")
    case .metrics(let text): JSONValue.object(["metrics": .string(text)]).encoded
    case .done(let remark): done(remark: remark)
    case .refused(_, let why): failure(why)
    }
  }

  /// - Parameter remark: for the user.
  private static func done(remark: String?) -> [UInt8] {
    var members: [String: JSONValue] = ["done": .bool(true)]
    if let remark { members["remark"] = .string(remark) }
    return JSONValue.object(members).encoded
  }

  private static func failure(_ message: String) -> [UInt8] {
    JSONValue.object(["error": .string(message)]).encoded
  }
}
