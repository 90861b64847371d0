// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis
import EventLoop
import FoundationEssentials
import Glibc
import Observability
import SystemCalls
import Terminal
import Timekeeping

/// `fleet-locationctl status`: what the daemon does and how well.
enum StatusCommand: Command {
  static let name = "status"
  static let summary = "what the daemon does, and what is wrong"
  static let options =
    [
      CommandLineOptions.Option("json"), CommandLineOptions.Option("watch", short: "w"),
      CommandLineOptions.Option("healthy"),
    ] + DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl status [--json] [--watch [SECONDS]] [--healthy] [--instance NAME | --socket PATH]
    Asks the running daemon.

          --json       its answer as one line of JSON, with every counter
      -w, --watch      again and again, every SECONDS (1): on a terminal in place, with the track of the last ten minutes,
                       until q or Ctrl-C; elsewhere, and with --json, one after the other
          --healthy    one line and an exit status, for a program that decides on an upgrade: 0 when Fleet Engine has
                       accepted an update within the last two heartbeats or the vehicle is paused by command, else 1
    On a terminal what is well is green and what is not is red, unless the environment has NO_COLOR or TERM=dumb.

    Exit status: 0 when the last update was accepted; 1 when it was not, none has been sent or the driver is off duty; 69
    when no daemon answers; 77 when this user may not ask. With --watch no daemon is no reason to end, and into a pipe the
    status is 0 once nobody reads any more.

    """

  private static let longestInterval = 3600.0

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if options.has("healthy"), options.has("watch") || options.has("json") {
      throw CommandError(.usage, "status: --healthy goes with neither --watch nor --json")
    }
    if options.has("watch") { return try watch(options) }
    if let operand = options.operands.first { throw CommandError(.usage, "status: unexpected \"\(operand)\"") }
    let (text, status) = try DaemonQuestion.status(options)
    if options.has("healthy") {
      let health = ServiceFindings.health(status)
      _ = try StandardOutput.write("\(health.isHealthy ? "healthy" : "not healthy"): \(health.sentence)\n")
      return health.isHealthy ? 0 : 1
    }
    if options.has("json") {
      _ = try StandardOutput.write(text + [UInt8(ascii: "\n")])
    } else {
      _ = try StandardOutput.write(self.text(of: status))
    }
    return status.isOnline ? 0 : 1
  }

  /// As this standard output can show it.
  private static func text(of status: StatusReport) -> String {
    let isTerminal = Terminal.isOutput
    let capabilities =
      isTerminal ? TerminalCapabilities(environment: Environment.value(of:)) : .plain
    let width = isTerminal ? Terminal.size?.columns ?? 80 : nil
    return StatusScreen.lines(of: StatusSheet(status), width: width, capabilities: capabilities)
      .map { "\($0.encoded(capabilities))\n" }.joined()
  }

  // MARK: - Again and again

  private static func watch(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let interval = try interval(options.operands)
    guard Terminal.isOutput, !TerminalCapabilities.isDumb(Environment.value(of:)), !options.has("json") else {
      return try stream(options, every: interval)
    }
    // Who may not ask is told so, and not shown a screen.
    do {
      _ = try DaemonQuestion.status(options, patience: StatusWatch.patience)
    } catch  where error.code == .unavailable {
      // It may come.
    }
    let watch = try StatusWatch(
      every: interval, capabilities: TerminalCapabilities(environment: Environment.value(of:))
    ) {
      Result { () throws(CommandError) in try DaemonQuestion.status(options, patience: StatusWatch.patience).status }
    }
    return try watch.run()
  }

  private static func interval(_ operands: [String]) throws(CommandError) -> Duration {
    if operands.count > 1 { throw CommandError(.usage, "status: unexpected \"\(operands[1])\"") }
    guard let operand = operands.first else { return .seconds(1) }
    // Double takes more than numbers as people write them.
    guard operand.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: ".") }),
      let seconds = Double(operand), seconds >= 0.1, seconds <= longestInterval
    else {
      throw CommandError(.usage, "status: --watch \"\(operand)\" is no number of seconds from 0.1 to 3600")
    }
    return .milliseconds(Int64(seconds * 1000))
  }

  /// For pipes and files: a block for each answer, with the time and an empty line, or a line of JSON. Ends when nobody
  /// reads any more.
  private static func stream(_ options: CommandLineOptions, every interval: Duration) throws(CommandError) -> Int32 {
    signal(SIGPIPE, SIG_IGN)
    var failure: CommandError?
    do {
      let loop = try EventLoop()
      var timer: LoopTimer?
      var due = loop.now.boot
      timer = try loop.makeTimer {
        do throws(CommandError) {
          guard try tell(options, at: loop.now.wall) else { return loop.exit(0) }
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

  /// - Returns: whether anybody still reads.
  private static func tell(_ options: CommandLineOptions, at time: Timestamp) throws(CommandError) -> Bool {
    do throws(CommandError) {
      let (text, status) = try DaemonQuestion.status(options)
      if options.has("json") { return try StandardOutput.write(text + [UInt8(ascii: "\n")]) }
      return try StandardOutput.write(Array("\(time.canonicalJSON)\n\(self.text(of: status))\n".utf8))
    } catch {
      guard error.code == .unavailable else { throw error }
      // Where the answers go, so that whoever reads them knows since when they are missing.
      let message = StyledText.harmless(error.message)
      guard options.has("json") else {
        return try StandardOutput.write(Array("\(time.canonicalJSON)\n\(message)\n\n".utf8))
      }
      let quoted = (try? JSONEncoder().encode(["error": message])).map { [UInt8]($0) } ?? Array("{}".utf8)
      return try StandardOutput.write(quoted + [UInt8(ascii: "\n")])
    }
  }
}
