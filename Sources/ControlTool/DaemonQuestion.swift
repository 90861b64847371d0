// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ControlSocket
import FoundationEssentials

/// Asks the running daemon.
enum DaemonQuestion {
  static let options = [CommandLineOptions.Option("socket", takesValue: true), Instance.option]

  /// The parts of the status that the commands print; see `StatusReport` of the daemon.
  struct Status: Decodable {
    struct Explanation: Decodable {
      var reason: String
      var sentence: String
    }

    struct Fix: Decodable {
      var mode: Int
      var quality: String
      var satellites: Int?
      var horizontalAccuracy: Double?
      var age: Int
      var isParked: Bool
    }

    struct Failure: Decodable {
      var category: String
      var message: String
      var since: Int
      var retryIn: Int
    }

    struct Source: Decodable {
      var name: String
      var condition: String
      var isUsed: Bool
      var explanation: String
    }

    struct Backlog: Decodable {
      var count: Int
      var oldestAge: Int?
      var store: String
      var storeTrouble: String?
      var bytes: Int?
      var removed: [String: Int]
    }

    struct NextUpdate: Decodable {
      var due: Int
      var kind: String
    }

    struct Outcome: Decodable {
      var result: String
      var age: Int
      var milliseconds: Int
      var past: Int
    }

    struct Event: Decodable {
      var level: String
      var sentence: String
      var age: Int
      var times: Int
    }

    struct Track: Decodable {
      var seconds: Int
      /// Metres east and north of the newest position.
      var points: [[Int]]
    }

    var vehicle: String?
    var version: String?
    var uptime: Int?
    var isOnline: Bool
    var isPaused: Bool
    var pausedSince: String?
    var source: String?
    var sourceTrouble: String?
    /// Only of several.
    var sources: [Source]?
    var fix: Fix?
    var lastUpdate: Int?
    var isUpdating: Bool?
    var nextUpdate: NextUpdate?
    var lastOutcome: Outcome?
    /// Accepted and failed, minute by minute.
    var lastMinutes: [[Int]]?
    var track: Track?
    /// Newest first.
    var events: [Event]?
    var withoutNetwork: Int?
    var token: Int?
    var tokenTrouble: String?
    var tokenTroubleSince: Int?
    var clockOffset: Int?
    var failure: Failure?
    var backlog: Backlog
    var explanation: Explanation
    var counters: [String: Int]
  }

  /// Where the daemon of these options answers; in one of the daemon's own unit, that daemon.
  private static func path(_ options: CommandLineOptions) throws(CommandError) -> String {
    let instance = try Instance.name(options, besides: "socket")
    if let path = options.value("socket") { return path }
    let directory =
      instance.map { "/run/fleet-locationd-\($0)" } ?? ProcessInfo.processInfo.environment["RUNTIME_DIRECTORY"]
    return "\(directory ?? "/run/fleet-locationd")/control.sock"
  }

  private static func ask(
    _ command: String, at path: String, patience: Duration = .seconds(5)
  ) throws(CommandError) -> [UInt8] {
    do throws(ControlSocketError) {
      return try ControlClient.ask(Array(#"{"command":"\#(command)"}"#.utf8), at: path, patience: patience)
    } catch {
      throw CommandError(error.code == .denied ? .permission : .unavailable, error.message)
    }
  }

  /// - Parameter patience: for a daemon that does not answer; whole seconds.
  /// - Returns: the daemon's answer as it came, and read.
  static func status(
    _ options: CommandLineOptions, patience: Duration = .seconds(5)
  ) throws(CommandError) -> (text: [UInt8], status: Status) {
    let path = try path(options)
    let text = try ask("status", at: path, patience: patience)
    guard let status = try? JSONDecoder().decode(Status.self, from: Data(text)) else {
      throw CommandError(.unavailable, "\(path): the daemon's answer cannot be read; is it of the same release?")
    }
    return (text, status)
  }

  private struct Metrics: Decodable {
    var metrics: String
  }

  /// - Returns: the metrics in Prometheus' text format.
  static func metrics(_ options: CommandLineOptions) throws(CommandError) -> String {
    let path = try path(options)
    let text = try ask("metrics", at: path)
    guard let answer = try? JSONDecoder().decode(Metrics.self, from: Data(text)) else {
      throw CommandError(.unavailable, "\(path): the daemon's answer cannot be read; is it of the same release?")
    }
    return answer.metrics
  }

  private struct Acknowledgement: Decodable {
    /// What went wrong.
    var error: String?
    /// What to know although it is done.
    var remark: String?
  }

  /// Has the daemon do something.
  ///
  /// - Returns: why it did not; nil when it is done.
  static func order(_ command: String, _ options: CommandLineOptions) throws(CommandError) -> String? {
    try acknowledgement(of: command, options).error
  }

  /// Has the daemon pause or resume, and passes on what it says to that.
  static func steer(_ command: String, _ options: CommandLineOptions) throws(CommandError) {
    if let operand = options.operands.first {
      throw CommandError(.usage, "\(command): unexpected \"\(operand)\"")
    }
    let answer = try acknowledgement(of: command, options)
    if let error = answer.error { throw CommandError(.unavailable, error) }
    if let remark = answer.remark { StandardError.write("\(CommandLineTool.name): \(remark)\n") }
  }

  private static func acknowledgement(
    of command: String, _ options: CommandLineOptions
  ) throws(CommandError) -> Acknowledgement {
    let path = try path(options)
    let text = try ask(command, at: path)
    guard let answer = try? JSONDecoder().decode(Acknowledgement.self, from: Data(text)) else {
      throw CommandError(.unavailable, "\(path): the daemon's answer cannot be read; is it of the same release?")
    }
    return answer
  }
}
