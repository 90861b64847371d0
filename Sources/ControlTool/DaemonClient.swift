// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ControlSocket
import Diagnosis
import Glibc
import JSON
import Observability
import Release
import SystemCalls
import Timekeeping
import Varlink

/// Requests to the running daemon over its control socket.
enum DaemonClient {
  static let options = [CommandLineOptions.Option("socket", takesValue: true), Instance.option]

  /// The path of a socket: `--socket`, or the socket of `--instance`. The default is the socket of the daemon whose
  /// runtime directory is in RUNTIME_DIRECTORY, which systemd sets for a process of the daemon's unit, or else in
  /// /run/fleet-locationd.
  static func path(
    _ options: CommandLineOptions, of socket: LocalSocket = .control
  ) throws(CommandError) -> String {
    let instance = try Instance.name(options, conflictingWith: "socket")
    if let path = options.value("socket") { return path }
    let directory =
      instance.map { instancePrefix + $0 }
      ?? runtimeDirectory(in: Environment.value(of: "RUNTIME_DIRECTORY")) { FileAccess.error($0, F_OK)?.code != ENOENT }
    return socket.path(of: directory ?? "/run/fleet-locationd")
  }

  /// The daemon's runtime directory. Any service that runs this command may have directories of its own: the one that
  /// is named like those of the packaged units counts, or else the first one, if it has a control socket.
  ///
  /// - Parameters:
  ///   - paths: the value of RUNTIME_DIRECTORY; nil if it is not set.
  ///   - exists: whether a file exists.
  static func runtimeDirectory(in paths: String?, exists: (String) -> Bool) -> String? {
    guard let path = Environment.serviceDirectory(in: paths) else { return nil }
    let isNamedLikeOurs = path.split(separator: "/").last?.hasPrefix("fleet-locationd") == true
    return isNamedLikeOurs || exists(LocalSocket.control.path(of: path)) ? path : nil
  }

  /// Refuses an operand: it is probably the name of an instance, and without the option the request would go to another
  /// daemon.
  static func refuseOperands(_ options: CommandLineOptions, of command: String) throws(CommandError) {
    guard let operand = options.operands.first else { return }
    let option = operand.contains("/") ? "socket" : "instance"
    throw CommandError(.usage, "\(command): unexpected \"\(operand)\"; did you mean --\(option) \(operand)?")
  }

  private static let instancePrefix = "/run/fleet-locationd-"
  private static let socketSuffix = "/control.sock"

  /// The call that subscribes to the events, or to the positions.
  static func monitorCall(_ socket: LocalSocket) -> [UInt8] {
    switch socket {
    case .control: VarlinkCall(interface, "Monitor", acceptsMore: true).encoded
    case .positions: VarlinkCall("io.fleet-locationd.Positions", "MonitorPositions", acceptsMore: true).encoded
    }
  }

  private static let interface = "io.fleet-locationd.Control"

  /// A request to the daemon.
  enum Request {
    case status, metrics, reload, pause, resume, offline, online

    /// The Varlink call.
    var call: VarlinkCall {
      switch self {
      case .status: VarlinkCall(interface, "GetStatus")
      case .metrics: VarlinkCall(interface, "GetMetrics")
      case .reload: VarlinkCall(interface, "Reload")
      case .pause: VarlinkCall(interface, "Pause")
      case .resume: VarlinkCall(interface, "Resume")
      case .offline: VarlinkCall(interface, "SetOnline", ["online": .bool(false)])
      case .online: VarlinkCall(interface, "SetOnline", ["online": .bool(true)])
      }
    }

    /// The request as a line, for a daemon of a release before 0.3.0.
    var legacyLine: [UInt8] { Array(#"{"command":"\#(self)"}"#.utf8) }
  }

  /// Asks the daemon: in Varlink, or, if its release does not support Varlink (as during an upgrade), in the protocol
  /// of that release.
  ///
  /// - Returns: a JSON object: the response of such a release, or the same content; an error is in `error`.
  private static func ask(
    _ request: Request, at path: String, timeout: Duration = .seconds(5)
  ) throws(CommandError) -> [UInt8] {
    try exchange(at: path, changesState: ![.status, .metrics].contains(request)) { () throws(ControlSocketError) in
      guard let message = try ControlClient.call(request.call.encoded, at: path, timeout: timeout) else {
        return try ControlClient.ask(request.legacyLine, at: path, timeout: timeout)
      }
      return response(message)
    }
  }

  /// - Parameter changesState: a daemon that does not answer in time may still perform the request.
  private static func exchange<Response>(
    at path: String, changesState: Bool, _ ask: () throws(ControlSocketError) -> Response
  ) throws(CommandError) -> Response {
    do throws(ControlSocketError) {
      return try ask()
    } catch {
      let late = error.code == .silent && changesState ? "; it may still do what was requested" : ""
      let missing = missingInstanceMessage(at: path).map { "\n\($0)" } ?? ""
      throw CommandError(
        error.code == .permissionDenied ? .permission : .unavailable, error.message + late + missing,
        absentSocket: error.code == .absent ? path : nil)
    }
  }

  /// The content of a reply; the reply itself if it cannot be read.
  static func response(_ message: [UInt8]) -> [UInt8] {
    guard let reply = VarlinkReply(parsing: message) else { return message }
    if let error = reply.error {
      let text = reply.parameters["message"]?.string ?? "the daemon answers \(error)"
      return JSONValue.object(["error": .string(text)]).encoded
    }
    return (reply.parameters["status"] ?? .object(reply.parameters)).encoded
  }

  /// What is missing if the socket belongs to an instance that does not exist; otherwise nil.
  private static func missingInstanceMessage(at path: String) -> String? {
    guard path.hasPrefix(instancePrefix), path.hasSuffix(socketSuffix) else { return nil }
    return Instance.missingMessage(
      for: String(path.dropFirst(instancePrefix.utf8.count).dropLast(socketSuffix.utf8.count)))
  }

  /// Runs a request for a user: if nothing listens, systemd is asked why.
  ///
  /// - Throws: an error with that reason if systemd knows one, otherwise the error of the request.
  private static func withStopReason<Response>(
    _ request: () throws(CommandError) -> Response
  ) throws(CommandError) -> Response {
    do throws(CommandError) {
      return try request()
    } catch {
      guard let socket = error.absentSocket, missingInstanceMessage(at: socket) == nil,
        let reason = StoppedService.explanation(socket: socket)
      else { throw error }
      throw CommandError(error.code, reason)
    }
  }

  /// - Returns: the daemon's response as text, and decoded.
  static func status(_ options: CommandLineOptions) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    let path = try path(options)
    return try withStopReason { () throws(CommandError) in try status(at: path) }
  }

  /// - Parameter path: the path of the daemon's control socket.
  static func status(
    at path: String, timeout: Duration = .seconds(5)
  ) throws(CommandError) -> (text: [UInt8], status: StatusReport) {
    let text = try ask(.status, at: path, timeout: timeout)
    return (text, try read(text, from: path))
  }

  private struct Metrics: Decodable {
    var metrics: String
  }

  /// - Returns: the metrics in Prometheus' text format.
  static func metrics(_ options: CommandLineOptions) throws(CommandError) -> String {
    let path = try path(options)
    let response = try withStopReason { () throws(CommandError) -> Metrics in
      try read(try ask(.metrics, at: path), from: path)
    }
    return response.metrics
  }

  struct Acknowledgement: Decodable {
    /// Why the command failed; nil if it succeeded.
    var error: String?
    /// A message to print although the command succeeded; nil for none.
    var remark: String?
  }

  /// Sends a command to the daemon.
  ///
  /// - Returns: the daemon's error; nil on success.
  static func send(_ request: Request, _ options: CommandLineOptions) throws(CommandError) -> String? {
    try acknowledgement(of: request, options).error
  }

  /// Makes the daemon read its settings again, and revert to the previous ones unless an update with the new ones is
  /// accepted in time.
  static func reload(
    confirmingWithin limit: Duration, _ options: CommandLineOptions
  ) throws(CommandError) -> Acknowledgement {
    let path = try path(options)
    let call = VarlinkCall(interface, "ReloadAndConfirm", ["seconds": .integer(limit.wholeSeconds)])
    return try withStopReason { () throws(CommandError) in
      let reply = try exchange(at: path, changesState: true) { () throws(ControlSocketError) in
        try ControlClient.call(call.encoded, at: path, timeout: .seconds(5))
      }
      // An earlier release would use the settings at once, and never revert them.
      guard let reply, VarlinkReply(parsing: reply)?.error != "org.varlink.service.MethodNotFound" else {
        throw CommandError(
          .unavailable, "the daemon is of an earlier release, which cannot revert settings: restart the service first")
      }
      return try read(response(reply), from: path)
    }
  }

  /// Sends a command of the driver, and prints the daemon's remark.
  @MainActor static func sendDriverCommand(_ request: Request, _ options: CommandLineOptions) throws(CommandError) {
    try refuseOperands(options, of: "\(request)")
    let response = try acknowledgement(of: request, options)
    if let error = response.error { throw CommandError(.unavailable, error) }
    if let remark = response.remark {
      StandardError.write("\(CommandLineTool.name): \(Instance.addressed(remark, Instance.service(options)))\n")
    }
  }

  private static func acknowledgement(
    of request: Request, _ options: CommandLineOptions
  ) throws(CommandError) -> Acknowledgement {
    let path = try path(options)
    return try withStopReason { () throws(CommandError) in try read(try ask(request, at: path), from: path) }
  }

  // MARK: - Responses

  private static func read<Response: Decodable>(_ text: [UInt8], from path: String) throws(CommandError) -> Response {
    do {
      return try JSONValue(parsing: text).decode()
    } catch {
      if let reason = (try? JSONValue(parsing: text))?["error"]?.string { throw CommandError(.unavailable, reason) }
      throw CommandError(.unavailable, "\(path): \(decodingError(of: text))")
    }
  }

  /// Says why a response cannot be decoded.
  static func decodingError(of text: [UInt8]) -> String {
    let version = (try? JSONValue(parsing: text))?["version"]?.string
    guard let version, version != Release.version else { return "the daemon's response cannot be read" }
    return
      "the daemon runs release \(version), and this program is release \(Release.version), which cannot read its response; "
      + "restart the service, so that it runs the installed release"
  }
}
