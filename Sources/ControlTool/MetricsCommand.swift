// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// `fleet-locationctl metrics`: every counter, for a monitoring system.
enum MetricsCommand: Command {
  static let name = "metrics"
  static let summary = "print the daemon's metrics as Prometheus reads them"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl metrics [--instance NAME | --socket PATH]
    Asks the running daemon for its metrics, in Prometheus' text format. They hold no coordinates. The setting
    metrics.textfile has the daemon write the same for the node exporter.

    Exit status: 0 with an answer, 69 when no daemon answers, 77 when this user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first { throw CommandError(.usage, "metrics: unexpected \"\(operand)\"") }
    return try StandardOutput.write(try DaemonQuestion.metrics(options))
  }
}
