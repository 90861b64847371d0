// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// `fleet-locationctl metrics`: every counter, for a monitoring system.
enum MetricsCommand: Command {
  static let name = "metrics"
  static let summary = "print the daemon's metrics in Prometheus' text format"
  static let options = DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl metrics [--instance NAME | --socket PATH]
    Asks the running daemon for its metrics, in Prometheus' text format. They contain no coordinates. With the setting
    metrics.textfile the daemon also writes them to a file for the node exporter.

    Exit status: 0 with a response, 69 if no daemon answers, 77 if this user may not use the control socket.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonClient.refuseOperands(options, of: name)
    return try StandardOutput.write(try DaemonClient.metrics(options))
  }
}
