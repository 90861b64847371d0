// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis
import Glibc
import SystemCalls

/// Whose settings a command looks at: those of the one daemon, of an instance, or a file that is named.
enum SettingsChoice {
  static let standardPath = "/etc/fleet-locationd/fleet-locationd.toml"
  static let options = [CommandLineOptions.Option("config", short: "c", takesValue: true), Instance.option]
  /// The lines of `--help` about these options.
  static let usage = """
      -c, --config FILE      settings (default \(standardPath))
      \(Instance.usage)
    """

  /// The path of the main file.
  ///
  /// - Throws: code `usage` when both options are given; code `permission` when this user may not read the file.
  static func path(_ options: CommandLineOptions) throws(CommandError) -> String {
    let instance = try Instance.name(options, besides: "config")
    let path = options.value("config") ?? instance.map { "/etc/fleet-locationd/\($0).toml" } ?? standardPath
    // What the service may not read is a mistake, and said as one.
    if !ServiceStandIn.isThis, FileAccess.refusal(path, R_OK)?.code == EACCES {
      throw CommandError(.permission, "\(path): permission denied; be root, or name settings of your own with --config")
    }
    return path
  }
}

/// One of several daemons of a box: `fleet-locationd@NAME`.
enum Instance {
  static let option = CommandLineOptions.Option("instance", takesValue: true)
  /// The line of `--help` about it.
  static let usage = "    --instance NAME    of the daemon fleet-locationd@NAME"

  /// - Parameter other: an option that says the same in another way.
  /// - Returns: nil without the option.
  static func name(_ options: CommandLineOptions, besides other: String) throws(CommandError) -> String? {
    guard let name = options.value(option.name) else { return nil }
    guard !options.has(other) else { throw CommandError(.usage, "--instance or --\(other), not both") }
    guard !name.isEmpty, !name.contains("/") else {
      throw CommandError(.usage, "--instance \"\(name)\": the NAME of fleet-locationd@NAME is expected")
    }
    return name
  }
}
