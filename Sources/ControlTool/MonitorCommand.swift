// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import ControlSocket
import Diagnosis
import EventLoop
import Glibc
import JSON
import SystemCalls
import Timekeeping
import Varlink

/// `fleet-locationctl monitor`: prints what happens, or where the vehicle is.
enum MonitorCommand: Command {
  static let name = "monitor"
  static let summary = "print events, the outcome of each update and changes of state"
  static let options =
    [CommandLineOptions.Option("json"), CommandLineOptions.Option("positions")] + DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl monitor [--positions] [--json] [--instance NAME | --socket PATH]
    Prints a line for each event, each update that Fleet Engine accepted or refused, with the time of the next attempt, and
    each change of state, as they happen. The first line is the state. There are no coordinates.

      --positions  print each accepted position instead, if the settings have socket = true in [positions]: for root and the
                   group fleet-locationd-positions
      --json       print each as one line of JSON: docs/driver-app.md

    It ends with Ctrl-C, or when the reader of its pipe closes it. While no daemon answers, it says so once, and connects
    again every second.

    Exit status: 0 if the reader has closed the pipe, 69 if the daemon is of a release that cannot be monitored or has as
    many monitors as it serves, 77 if this user may not use the socket.

    """

  /// In milliseconds.
  private static let retryInterval: Int32 = 1000

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonClient.refuseOperands(options, of: name)
    let socket = options.has("positions") ? LocalSocket.positions : .control
    let path = try DaemonClient.path(options, of: socket)
    let isJSON = options.has("json")
    let service = Instance.service(options)
    let clock: EventLoop
    do {
      clock = try EventLoop()
    } catch {
      throw CommandError(.io, "\(error)")
    }
    var isLost = false
    while true {
      // The value is whether to continue.
      var outcome = Result<Bool, CommandError>.success(true)
      var message = "the daemon has closed the connection"
      do throws(ControlSocketError) {
        let end = try ControlClient.follow(DaemonClient.monitorCall(socket), at: path, of: socket) { reply in
          isLost = false
          outcome = Result { () throws(CommandError) in try show(reply, isJSON, service, at: clock.now.wall) }
          return (try? outcome.get()) == true
        }
        switch end {
        case .closed: break
        // An error of the handler stays.
        case .stopped: outcome = outcome.map { _ in false }
        case .unsupported:
          outcome = .failure(
            CommandError(.unavailable, "the daemon is of an earlier release, which cannot be monitored; restart it"))
        }
      } catch {
        message = error.message
        if error.code == .permissionDenied { outcome = .failure(CommandError(.permission, message)) }
      }
      guard try outcome.get() else { return 0 }
      if !isLost {
        let error = Instance.addressed(StyledText.sanitized(message), service)
        let line =
          isJSON ? JSONValue.object(["error": .string(error)]).encoded : MonitorCommand.line(error, clock.now.wall)
        guard try StandardOutput.write(line + [UInt8(ascii: "\n")]) else { return 0 }
      }
      isLost = true
      if (try? Descriptor.waitUntilUnread(STDOUT_FILENO, timeout: retryInterval)) == true { return 0 }
    }
  }

  /// - Returns: false if the reader has closed the pipe.
  private static func show(
    _ message: [UInt8], _ isJSON: Bool, _ service: InstalledService?, at time: Timestamp
  ) throws(CommandError) -> Bool {
    guard let reply = VarlinkReply(parsing: message) else {
      throw CommandError(.unavailable, "the daemon's reply cannot be read")
    }
    if let error = reply.error {
      throw CommandError(.unavailable, reply.parameters["message"]?.string ?? "the daemon answers \(error)")
    }
    // An empty reply confirms the subscription; there is no position yet.
    if reply.parameters.isEmpty { return true }
    if isJSON {
      return try StandardOutput.write(JSONValue.object(reply.parameters).encoded + [UInt8(ascii: "\n")])
    }
    guard let text = MonitorLine.text(reply.parameters) else { return true }
    return try StandardOutput.write(line(Instance.addressed(text, service), time) + [UInt8(ascii: "\n")])
  }

  private static func line(_ text: String, _ time: Timestamp) -> [UInt8] {
    Array("\(time.canonicalJSON)  \(text)".utf8)
  }
}
