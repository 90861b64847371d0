// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// `fleet-locationctl status`: what the daemon does and how well.
enum StatusCommand: Command {
  static let name = "status"
  static let summary = "what the daemon does, and what is wrong"
  static let options = [CommandLineOptions.Option("json"), DaemonQuestion.socketOption]
  static let usage = """
    Usage: fleet-locationctl status [--json] [--socket PATH]
    Asks the running daemon. --json prints its answer as one line of JSON, with every counter.

    Exit status: 0 when the last update was accepted, 1 when it was not, none has been sent or the
    driver is off duty, 69 when no daemon
    answers, 77 when this user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let (text, status) = try DaemonQuestion.status(options)
    if options.has("json") {
      _ = try StandardOutput.write(text + [UInt8(ascii: "\n")])
    } else {
      _ = try StandardOutput.write(lines(of: status).map { "\($0)\n" }.joined())
    }
    return status.isOnline ? 0 : 1
  }

  static func lines(of status: DaemonQuestion.Status) -> [String] {
    let refused = status.counters.filter { $0.key.hasPrefix("rejected.") }.values.reduce(0, +)
    let head = [
      row("Fleet Engine", engine(status)),
      row("Last update", status.lastUpdate.map { "\(time($0)) ago" } ?? "none yet"),
    ]
    let rest = [
      row("Fix", status.fix.map(fix) ?? "none yet"),
      row("Token", token(status)),
      row("Backlog", backlog(status.backlog)),
      row(
        "Since start",
        "\(status.counters["accepted", default: 0]) updates accepted of \(status.counters["attempts", default: 0]), "
          + "\(status.counters["backfilled", default: 0]) past positions delivered, "
          + "\(refused) of \(status.counters["fixes", default: 0]) fixes refused"),
      row("Last fix", status.explanation.sentence),
    ]
    return head + sources(status) + rest + clock(status)
  }

  private static func engine(_ status: DaemonQuestion.Status) -> String {
    if status.isPaused {
      return "paused\(status.pausedSince.map { " since \($0)" } ?? ""): no position leaves this machine until resume"
    }
    guard let failure = status.failure else { return status.isOnline ? "online" : "not reached yet" }
    return
      "offline for \(time(failure.since)) (\(failure.category)): \(failure.message); next try in \(time(failure.retryIn))"
  }

  /// Of several sources a line each: which is used, and why the others are not.
  private static func sources(_ status: DaemonQuestion.Status) -> [String] {
    guard let sources = status.sources else {
      return [row("Source", status.source ?? "none: \(status.sourceTrouble ?? "not opened yet")")]
    }
    let used = sources.first(where: \.isUsed)?.name ?? "none of \(sources.count) is good"
    return [row("Source", used)]
      + sources.enumerated().map { index, source in
        row("  \(index + 1)", "\(source.isUsed ? "used: " : "")\(source.explanation)")
      }
  }

  private static func fix(_ fix: DaemonQuestion.Status.Fix) -> String {
    var words = ["\(fix.mode)D", fix.quality]
    if let accuracy = fix.horizontalAccuracy { words.append("±\(Int(min(accuracy, 9999).rounded(.up))) m") }
    if let satellites = fix.satellites { words.append("\(satellites) satellites") }
    words.append("\(time(fix.age)) old")
    if fix.isParked { words.append("parked") }
    return words.joined(separator: ", ")
  }

  private static func token(_ status: DaemonQuestion.Status) -> String {
    let since = status.tokenTroubleSince.map { " for \(time($0))" } ?? ""
    guard let life = status.token else { return "none\(status.tokenTrouble.map { "\(since): \($0)" } ?? " yet")" }
    return "good for \(time(life))\(status.tokenTrouble.map { "; no successor\(since): \($0)" } ?? "")"
  }

  /// Only where it is wrong.
  private static func clock(_ status: DaemonQuestion.Status) -> [String] {
    guard let offset = status.clockOffset else { return [] }
    let size = time(Int(clamping: offset.magnitude))
    return [row("Clock", "this machine's clock is \(size) \(offset < 0 ? "behind" : "ahead")")]
  }

  private static func backlog(_ backlog: DaemonQuestion.Status.Backlog) -> String {
    var words = ["\(backlog.count) \(backlog.count == 1 ? "position" : "positions")"]
    if let age = backlog.oldestAge { words[0] += ", the oldest \(time(age)) old" }
    switch backlog.store {
    case "disk": words.append("on disk\(backlog.bytes.map { " (\(($0 + 1023) / 1024) kB)" } ?? "")")
    case "memory": words.append("in memory only: \(backlog.storeTrouble ?? "")")
    default: words.append("in memory: backlog.directory is not set")
    }
    let lost = backlog.removed.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    if !lost.isEmpty { words.append("let go: \(lost.joined(separator: ", "))") }
    return words.joined(separator: "; ")
  }

  private static func row(_ name: String, _ text: String) -> String {
    name + String(repeating: " ", count: max(14 - name.count, 1)) + text
  }

  private static func time(_ seconds: Int) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}
