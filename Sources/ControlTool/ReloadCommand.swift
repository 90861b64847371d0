// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis

/// `fleet-locationctl reload`: the daemon reads its settings again.
enum ReloadCommand: Command {
  static let name = "reload"
  static let summary = "have the daemon read its settings again"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl reload [--instance NAME | --socket PATH]
    The running daemon reads its settings again. If something is wrong with them, says what and where; the old settings stay
    in force then. systemd hands out credentials at a start only: when the file of one has a new value, which only root sees,
    nothing is read and a restart asked for.

    Exit status: 0 when the new settings are in force, 78 when they are not, 69 when no daemon answers, 77 when this
    user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    // Before the daemon: settings for a new secret do not go with the old one.
    if let hindrance = ServiceCredentials.hindrance(toReloadAt: try DaemonQuestion.path(options)) {
      throw CommandError(.configuration, hindrance)
    }
    if let mistake = try DaemonQuestion.order(name, options) { throw CommandError(.configuration, mistake) }
    return 0
  }
}
