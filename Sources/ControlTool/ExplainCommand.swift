// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Observability

/// `fleet-locationctl explain`: why the last fix was, or was not, sent.
enum ExplainCommand: Command {
  static let name = "explain"
  static let summary = "what became of the last fix, and why"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl explain [--instance NAME | --socket PATH]
    Asks the running daemon what became of the last fix: refused by the filter and why, not due and until when, waiting
    for a token or for the network, on its way, or accepted.

    Exit status: 0 with an answer, 69 when no daemon answers, 77 when this user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let explanation = try DaemonQuestion.status(options).status.explanation
    return try StandardOutput.write("\(StyledText.harmless(explanation.sentence))\n")
  }
}
