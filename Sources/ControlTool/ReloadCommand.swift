// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis

/// `fleet-locationctl reload`: makes the daemon read its settings again.
enum ReloadCommand: Command {
  static let name = "reload"
  static let summary = "make the daemon read its settings again"
  static let options = DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl reload [--instance NAME | --socket PATH]
    The running daemon reads its settings again. If they have a mistake, it is reported, and the previous settings stay in
    force. systemd provides credentials only at a start: if the file of a credential has a new value, which only root can
    see, the reload fails with a request to restart the service.

    Exit status: 0 if the new settings are in force, 78 if they are not, 69 if no daemon answers, 77 if this user may not
    use the control socket.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    // This check comes first: the daemon must not use new settings with an old credential.
    if let obstacle = ServiceCredentials.reloadObstacle(at: try DaemonClient.path(options)) {
      throw CommandError(.configuration, obstacle)
    }
    if let mistake = try DaemonClient.send(.reload, options) { throw CommandError(.configuration, mistake) }
    return 0
  }
}
