// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis

/// `fleet-locationctl check`: what is wrong with the settings.
enum CheckCommand: Command {
  static let name = "check"
  static let summary = "read the settings and name every mistake"
  static let options = SettingsChoice.options
  static let usage = """
    Usage: fleet-locationctl check [--config FILE | --instance NAME]
    Reads the settings as the daemon would, with conf.d/*.toml beside them and the credentials that they name, and names
    every mistake with its place. The same as "fleet-locationd --check". No daemon has to run, and none is disturbed.

    \(SettingsChoice.usage)

    Exit status: 0 when they are good, 78 when they are not, 77 when this user may not read them.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "check: unexpected \"\(operand)\": settings are named with --config")
    }
    let judgement = SettingsJudgement(of: try SettingsChoice.path(options))
    StandardError.write(judgement.complaints)
    _ = try StandardOutput.write(judgement.praise)
    return judgement.exitCode
  }
}
