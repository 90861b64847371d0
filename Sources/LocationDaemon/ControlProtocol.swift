// SPDX-License-Identifier: Apache-2.0
import Daemon
import Delivery
import JSON
import Observability

/// The protocol of the control socket: requests and responses are JSON objects, one on each line.
enum ControlProtocol {
  /// In the service's runtime directory; nil if it runs without systemd.
  static var socketPath: String? { RuntimeDirectory.path.map { "\($0)/control.sock" } }

  /// What a driver chooses.
  enum DriverCommand: String {
    case pause, resume, offline, online

    /// Whether it sets the state of a vehicle of on-demand trips.
    var isDuty: Bool { self == .offline || self == .online }

    var input: VehicleAgent.Input {
      switch self {
      case .pause: .pause(nil)
      case .resume: .resume
      case .offline: .goOffline(nil)
      case .online: .goOnline
      }
    }
  }

  /// The result of a `DriverCommand`.
  enum DriverResult {
    case done(remark: String?)
    case refused(String)
  }

  /// - Parameters:
  ///   - ask: passes a question to the daemon, whose response follows.
  ///   - reload: reads the settings again; returns the mistake, or nil.
  ///   - drive: performs a command of the driver.
  /// - Returns: nil if the response follows.
  static func response(
    _ question: [UInt8], ask: (Daemon.Request) -> Void, reload: () -> String?,
    drive: (DriverCommand) -> DriverResult
  ) -> [UInt8]? {
    guard let command = (try? JSONValue(parsing: question))?["command"]?.string else {
      return failure("expected {\"command\": \"…\"}")
    }
    switch command {
    case "status":
      ask(.status)
      return nil
    case "metrics":
      ask(.metrics)
      return nil
    case "reload": return reload().map(failure) ?? done(remark: nil)
    default:
      if let command = DriverCommand(rawValue: command) { return encode(drive(command)) }
      return failure(
        "unknown command; expected \"status\", \"metrics\", \"reload\", \"pause\", \"resume\", \"offline\" or \"online\""
      )
    }
  }

  /// The daemon's response to a question.
  static func encode(_ response: Daemon.Response) -> [UInt8] {
    switch response {
    case .status(let report):
      (try? JSONValue(encoding: report).encoded) ?? failure("the response cannot be encoded")
    case .metrics(let text): JSONValue.object(["metrics": .string(text)]).encoded
    }
  }

  /// The response of a daemon that waits for its settings: what it waits for, to anything but a pause and a reload.
  ///
  /// - Parameters:
  ///   - reason: what it waits for.
  ///   - reload: reads the settings again; returns what is still missing, or nil.
  ///   - setPause: stores a pause (true) or its end; returns a remark for the user.
  static func responseWhileWaiting(
    _ question: [UInt8], reason: String, reload: () -> String?, setPause: (Bool) -> String?
  ) -> [UInt8] {
    switch (try? JSONValue(parsing: question))?["command"]?.string {
    case "reload": reload().map(failure) ?? done(remark: nil)
    case "pause": done(remark: setPause(true))
    case "resume": done(remark: setPause(false))
    default: failure(reason)
    }
  }

  private static func encode(_ result: DriverResult) -> [UInt8] {
    switch result {
    case .done(let remark): done(remark: remark)
    case .refused(let why): failure(why)
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
