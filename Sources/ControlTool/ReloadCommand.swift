// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// `fleet-locationctl reload`: the daemon reads its settings again.
enum ReloadCommand: Command {
  static let name = "reload"
  static let summary = "have the daemon read its settings again"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl reload [--instance NAME | --socket PATH]
    The running daemon reads its settings again. If something is wrong with them, says what and where; the old settings stay
    in force then.

    Exit status: 0 when the new settings are in force, 78 when they are not, 69 when no daemon answers, 77 when this
    user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let mistake = try DaemonQuestion.order(name, options) { throw CommandError(.configuration, mistake) }
    return 0
  }
}
