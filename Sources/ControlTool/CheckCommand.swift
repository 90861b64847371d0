// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis

/// `fleet-locationctl check`: reports every mistake in the settings.
enum CheckCommand: Command {
  static let name = "check"
  static let summary = "check the settings and report every mistake"
  static let options = SettingsChoice.options
  static let usage = """
    Usage: fleet-locationctl check [--config FILE | --instance NAME]
    Reads the settings as the daemon would, with conf.d/*.toml and the credentials that they name, and reports every
    mistake with file, line and column, as "fleet-locationd --check" does. It does not need or affect a running daemon.

    \(SettingsChoice.usage)

    Exit status: 0 if they are valid, 78 if they are not, 77 if this user may not read them, 69 if the route that they
    name is missing, or root cannot run this as the service.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "check: unexpected \"\(operand)\": settings are named with --config")
    }
    let result = SettingsCheckResult(of: try SettingsChoice.path(options))
    StandardError.write(Instance.addressed(result.errors, Instance.service(options)))
    _ = try StandardOutput.write(result.output)
    return result.exitCode
  }
}
