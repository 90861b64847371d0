// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ControlSocket
import FoundationEssentials
import Observability
import Release
import SystemCalls

/// Requests to the running daemon over its control socket.
enum DaemonClient {
  static let options = [CommandLineOptions.Option("socket", takesValue: true), Instance.option]

  /// The control socket of the daemon that these options name; by default that of the unit that this process runs in.
  static func path(_ options: CommandLineOptions) throws(CommandError) -> String {
    let instance = try Instance.name(options, besides: "socket")
    if let path = options.value("socket") { return path }
    let directory =
      instance.map { "/run/fleet-locationd-\($0)" } ?? Environment.value(of: "RUNTIME_DIRECTORY")
    return "\(directory ?? "/run/fleet-locationd")/control.sock"
  }

  private static func ask(
    _ command: String, at path: String, timeout: Duration = .seconds(5)
  ) throws(CommandError) -> [UInt8] {
    do throws(ControlSocketError) {
      return try ControlClient.ask(Array(#"{"command":"\#(command)"}"#.utf8), at: path, timeout: timeout)
    } catch {
      throw CommandError(error.code == .denied ? .permission : .unavailable, error.message)
    }
  }

  /// - Parameter timeout: for the answer; whole seconds.
  /// - Returns: the daemon's answer as text, and decoded.
  static func status(
    _ options: CommandLineOptions, timeout: Duration = .seconds(5)
  ) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    try status(at: try path(options), timeout: timeout)
  }

  /// - Parameter path: of the daemon's socket.
  static func status(
    at path: String, timeout: Duration = .seconds(5)
  ) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    let text = try ask("status", at: path, timeout: timeout)
    return (text, try read(text, from: path))
  }

  private struct Metrics: Decodable {
    var metrics: String
  }

  /// - Returns: the metrics in Prometheus' text format.
  static func metrics(_ options: CommandLineOptions) throws(CommandError) -> String {
    let path = try path(options)
    let answer: Metrics = try read(try ask("metrics", at: path), from: path)
    return answer.metrics
  }

  private struct Acknowledgement: Decodable {
    /// What went wrong.
    var error: String?
    /// A remark although it succeeded.
    var remark: String?
  }

  /// Sends a command to the daemon.
  ///
  /// - Returns: the daemon's error; nil on success.
  static func send(_ command: String, _ options: CommandLineOptions) throws(CommandError) -> String? {
    try acknowledgement(of: command, options).error
  }

  /// Sends `pause` or `resume`, and prints the daemon's remark.
  static func setPause(_ command: String, _ options: CommandLineOptions) throws(CommandError) {
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
    return try read(try ask(command, at: path), from: path)
  }

  // MARK: - Answers

  /// The part of the status that every release has.
  private struct VersionOnly: Decodable {
    var version: String?
  }

  private static func read<Answer: Decodable>(_ text: [UInt8], from path: String) throws(CommandError) -> Answer {
    do {
      return try JSONDecoder().decode(Answer.self, from: Data(text))
    } catch {
      throw CommandError(.unavailable, "\(path): \(decodingError(of: text))")
    }
  }

  /// Says why an answer cannot be decoded.
  static func decodingError(of text: [UInt8]) -> String {
    let version = (try? JSONDecoder().decode(VersionOnly.self, from: Data(text)))?.version
    guard let version, version != Release.version else { return "the daemon's answer cannot be read" }
    return
      "the daemon runs release \(version), and this program is release \(Release.version), which cannot read its answer; "
      + "restart the service, so that it runs the installed release"
  }
}
