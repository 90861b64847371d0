// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Observability

/// `fleet-locationctl explain`: why the last fix was, or was not, sent.
enum ExplainCommand: Command {
  static let name = "explain"
  static let summary = "say whether the last fix was sent, and why not"
  static let options = DaemonClient.options
  static let usage = """
    Usage: fleet-locationctl explain [--instance NAME | --socket PATH]
    Asks the running daemon what happened to the last fix: rejected by the filter (and why), not due yet, waiting for a
    token or the network, being sent, or accepted.

    Exit status: 0 with a response, 69 if no daemon answers, 77 if this user may not use the control socket.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonClient.refuseOperands(options, of: name)
    let status = try DaemonClient.status(options).status
    var lines = [status.explanation.sentence]
    if let settings = StatusRows.settings(status) {
      lines.append("Settings: \(settings.pieces.map(\.text).joined())")
    }
    let service = Instance.service(options)
    return try StandardOutput.write(
      lines.map { "\(Instance.addressed(StyledText.sanitized($0), service))\n" }.joined())
  }
}
