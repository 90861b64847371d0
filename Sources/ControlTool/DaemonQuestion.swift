// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ControlSocket
import FoundationEssentials
import Observability
import Release
import SystemCalls

/// Asks the running daemon.
enum DaemonQuestion {
  static let options = [CommandLineOptions.Option("socket", takesValue: true), Instance.option]

  /// Where the daemon of these options answers; in one of the daemon's own unit, that daemon.
  static func path(_ options: CommandLineOptions) throws(CommandError) -> String {
    let instance = try Instance.name(options, besides: "socket")
    if let path = options.value("socket") { return path }
    let directory =
      instance.map { "/run/fleet-locationd-\($0)" } ?? Environment.value(of: "RUNTIME_DIRECTORY")
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
  ) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    try status(at: try path(options), patience: patience)
  }

  /// - Parameter path: of the daemon's socket.
  static func status(
    at path: String, patience: Duration = .seconds(5)
  ) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    let text = try ask("status", at: path, patience: patience)
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
    return try read(try ask(command, at: path), from: path)
  }

  // MARK: - Answers

  /// What any release's status says of itself.
  private struct Speaker: Decodable {
    var version: String?
  }

  private static func read<Answer: Decodable>(_ text: [UInt8], from path: String) throws(CommandError) -> Answer {
    do {
      return try JSONDecoder().decode(Answer.self, from: Data(text))
    } catch {
      throw CommandError(.unavailable, "\(path): \(complaint(about: text))")
    }
  }

  /// Why an answer cannot be read.
  static func complaint(about text: [UInt8]) -> String {
    let version = (try? JSONDecoder().decode(Speaker.self, from: Data(text)))?.version
    guard let version, version != Release.version else { return "the daemon's answer cannot be read" }
    return "the daemon is of release \(version) and this program of \(Release.version), which cannot read its answer; "
      + "a restart of the service brings both to the one that is installed"
  }
}
