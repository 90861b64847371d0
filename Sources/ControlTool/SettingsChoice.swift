// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Diagnosis
import Glibc
import SystemCalls

/// The settings that a command uses: those of the daemon, of an instance, or a given file.
enum SettingsChoice {
  static let defaultPath = "/etc/fleet-locationd/fleet-locationd.toml"
  static let options = [CommandLineOptions.Option("config", short: "c", takesValue: true), Instance.option]
  /// The lines of `--help` about these options.
  static let usage = """
      -c, --config FILE      settings (default \(defaultPath))
      \(Instance.usage)
    """

  /// The path of the main file.
  ///
  /// - Throws: code `usage` when both options are given; code `permission` when this user may not read the file; code
  ///   `configuration` when there is no such instance, or only instances.
  static func path(_ options: CommandLineOptions) throws(CommandError) -> String {
    let instance = try Instance.name(options, conflictingWith: "config")
    let path =
      options.value("config").map { InstalledService.settingsPath($0) }
      ?? instance.map { "/etc/fleet-locationd/\($0).toml" } ?? defaultPath
    if let instance, let missing = Instance.missingMessage(for: instance) {
      throw CommandError(.configuration, missing)
    }
    if path == defaultPath, FileAccess.error(path, F_OK)?.code == ENOENT,
      let advice = Instance.advice(among: InstalledService.instances)
    {
      throw CommandError(.configuration, "\(path): does not exist; \(advice)")
    }
    // If the service may not read the file, the check itself reports this as a mistake.
    if !ServiceImpersonation.isActive, FileAccess.error(path, R_OK)?.code == EACCES {
      throw CommandError(
        .permission, "\(path): permission denied; run this as root, or name other settings with --config")
    }
    return path
  }
}

/// The option `--instance`, for one of several daemons on a box: `fleet-locationd@NAME`.
enum Instance {
  static let option = CommandLineOptions.Option("instance", takesValue: true)
  /// The line of `--help` about it.
  static let usage = "    --instance NAME    those of the daemon fleet-locationd@NAME"

  /// - Parameter other: an option that cannot be combined with it.
  /// - Returns: nil without the option.
  static func name(_ options: CommandLineOptions, conflictingWith other: String) throws(CommandError) -> String? {
    guard let name = options.value(option.name) else { return nil }
    guard !options.has(other) else { throw CommandError(.usage, "--instance and --\(other) cannot be combined") }
    guard !name.isEmpty, !name.contains("/") else {
      throw CommandError(.usage, "--instance \"\(name)\": the NAME of fleet-locationd@NAME is expected")
    }
    guard name != InstalledService.name else {
      throw CommandError(.usage, "--instance \(name): this is the main service; leave the option out")
    }
    return name
  }

  /// What is missing if there is no such instance, and which instances exist; nil if it has a settings file.
  static func missingMessage(for name: String) -> String? {
    guard FileAccess.error("\(directory)/\(name).toml", F_OK)?.code == ENOENT else { return nil }
    let names = InstalledService.instances
    let others =
      names.isEmpty ? "this machine has no instances" : "the instances are: \(names.joined(separator: ", "))"
    return "\(directory)/\(name).toml: does not exist; \(others)"
  }

  /// What to do on a box that has only instances; nil if there are none.
  static func advice(among names: [String]) -> String? {
    names.first.map { "the instances are: \(names.joined(separator: ", ")); name one, as in --instance \($0)" }
  }

  private static let directory = "/etc/fleet-locationd"
}
