// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis
import EventLoop
import JSON
import Observability
import SystemCalls
import Terminal
import Timekeeping

/// `fleet-locationctl status`: shows the state of the daemon.
enum StatusCommand: Command {
  static let name = "status"
  static let summary = "show what the daemon does, and what is wrong"
  static let options =
    [
      CommandLineOptions.Option("json"), CommandLineOptions.Option("watch", short: "w"),
      CommandLineOptions.Option("healthy"),
    ] + DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl status [--json] [--watch [SECONDS]] [--healthy] [--instance NAME | --socket PATH]
    Asks the running daemon for its state.

          --json       print the response as one line of JSON, with every counter
      -w, --watch      repeat every SECONDS (default 1) until q or Ctrl-C: on a terminal as a screen, with the track of the
                       last ten minutes; otherwise, and with --json, one response after the other
          --healthy    print one line, with an exit status for programs that decide on an upgrade: 0 if Fleet Engine has
                       accepted an update within the last two heartbeats or the vehicle is paused by command, 1 if not;
                       69 and 77 as below, with a message on standard error only
    On a terminal good values are green and bad ones red, unless NO_COLOR or TERM=dumb is set in the environment.

    Exit status: 0 if the last update was accepted; 1 if it was not, if none has been sent or if the vehicle is paused;
    69 if no daemon answers; 77 if this user may not use the control socket. --watch also continues without a daemon;
    in a pipe it ends with 0 when the reader closes it.

    """

  private static let maxInterval = 3600.0

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if options.has("healthy"), options.has("watch") || options.has("json") {
      throw CommandError(.usage, "status: --healthy cannot be combined with --watch or --json")
    }
    if options.has("watch") { return try watch(options) }
    try DaemonClient.refuseOperands(options, of: name)
    let (text, status) = try DaemonClient.status(options)
    if options.has("healthy") {
      let health = ServiceFindings.health(status)
      let sentence = Instance.addressed(health.sentence, Instance.service(options))
      _ = try StandardOutput.write("\(health.isHealthy ? "healthy" : "not healthy"): \(sentence)\n")
      return health.isHealthy ? 0 : 1
    }
    if options.has("json") {
      _ = try StandardOutput.write(text + [UInt8(ascii: "\n")])
    } else {
      _ = try StandardOutput.write(self.text(of: status, options))
    }
    return status.isOnline ? 0 : 1
  }

  /// Formatted for standard output: a terminal, or a file or pipe.
  private static func text(of status: StatusReport, _ options: CommandLineOptions) -> String {
    let service = Instance.service(options)
    let rows = StatusRows(status).rewording { Instance.addressed($0, service) }
    let capabilities = TerminalCapabilities.ofStandardOutput
    let width = Terminal.isStandardOutput ? Terminal.size?.columns ?? 80 : nil
    return StatusScreen.lines(of: rows, width: width, capabilities: capabilities)
      .map { "\($0.encoded(capabilities))\n" }.joined()
  }

  // MARK: - --watch

  private static func watch(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let interval = try interval(options.operands)
    guard Terminal.isStandardOutput, !TerminalCapabilities.isDumb(Environment.value(of:)), !options.has("json") else {
      return try stream(options, every: interval)
    }
    let path = try DaemonClient.path(options)
    // Without permission an error is printed, and no screen shown.
    do {
      _ = try DaemonClient.status(at: path, timeout: StatusWatch.timeout)
    } catch  where error.code == .unavailable {
      // The daemon may still start.
    }
    let watch = try StatusWatch(
      every: interval, of: Instance.service(options),
      capabilities: TerminalCapabilities(environment: Environment.value(of:))
    ) {
      Result { () throws(CommandError) in try DaemonClient.status(at: path, timeout: StatusWatch.timeout).status }
    }
    return try watch.run()
  }

  private static func interval(_ operands: [String]) throws(CommandError) -> Duration {
    if operands.count > 1 { throw CommandError(.usage, "status: unexpected \"\(operands[1])\"") }
    guard let operand = operands.first else { return .seconds(1) }
    // Double also parses "nan", "inf" and hexadecimal numbers.
    guard operand.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: ".") }),
      let seconds = Double(operand), seconds >= 0.1, seconds <= maxInterval
    else {
      throw CommandError(.usage, "status: --watch \"\(operand)\" is not a number of seconds from 0.1 to 3600")
    }
    return .milliseconds(Int64(seconds * 1000))
  }

  /// For pipes and files: a block for each response, with the time and an empty line, or a line of JSON. Ends when the
  /// reader closes the pipe.
  private static func stream(_ options: CommandLineOptions, every interval: Duration) throws(CommandError) -> Int32 {
    var failure: CommandError?
    do {
      let loop = try EventLoop()
      var timer: LoopTimer?
      var due = loop.now.boot
      timer = try loop.makeTimer {
        do throws(CommandError) {
          guard try printStatus(options, at: loop.now.wall) else { return loop.exit(0) }
        } catch {
          failure = error
          return loop.exit(0)
        }
        due = max(due + interval, loop.now.boot)
        timer?.arm(at: due)
      }
      timer?.arm(at: due)
      _ = try loop.run()
      timer?.close()
    } catch {
      throw CommandError(.io, "\(error)")
    }
    if let failure { throw failure }
    return 0
  }

  /// - Returns: false if the reader has closed the pipe.
  private static func printStatus(_ options: CommandLineOptions, at time: Timestamp) throws(CommandError) -> Bool {
    do throws(CommandError) {
      let (text, status) = try DaemonClient.status(options)
      if options.has("json") { return try StandardOutput.write(text + [UInt8(ascii: "\n")]) }
      return try StandardOutput.write(Array("\(time.canonicalJSON)\n\(self.text(of: status, options))\n".utf8))
    } catch {
      guard error.code == .unavailable else { throw error }
      // The error goes to standard output, as the responses do, so that a log shows when the daemon stopped answering.
      let message = Instance.addressed(StyledText.sanitized(error.message), Instance.service(options))
      guard options.has("json") else {
        return try StandardOutput.write(Array("\(time.canonicalJSON)\n\(message)\n\n".utf8))
      }
      return try StandardOutput.write(JSONValue.object(["error": .string(message)]).encoded + [UInt8(ascii: "\n")])
    }
  }
}
