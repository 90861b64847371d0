// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// The parsed command line.
enum DaemonArguments: Equatable {
  case run(settings: String)
  case check(settings: String)
  case settingsReference
  case exampleSettings
  case help
  case version
  /// The command line is invalid. The value says why.
  case mistake(String)

  static let defaultSettings = "/etc/fleet-locationd/fleet-locationd.toml"

  static let usage = """
    Usage: fleet-locationd [--config FILE] [--check]

    Keeps one vehicle's position up to date in Google Fleet Engine.

      -c, --config FILE        settings file (default \(defaultSettings));
                               the files conf.d/*.toml next to it, and then FILE.d/*.toml, are merged into it,
                               in the order of their names
          --check              check the settings, report every mistake, and exit
          --settings-reference print every setting as Markdown
          --example-settings   print commented example settings
      -h, --help
      -V, --version

    Signals: SIGTERM makes a last attempt to send pending positions, and exits; SIGHUP reads the settings again.
    Exit status: 0 success; 64 invalid arguments; 65 most positions of a recording were rejected, or it had none; 69 a
    file or credential of the settings was missing for 15 minutes, or the route or recording is missing; 71 the system
    denied a required resource, or a directory of the service was deleted; 73 another daemon uses the same directories,
    or, started by hand, the service that reads these settings runs or is paused; 74 the output could not be written;
    75 a recording could not be delivered; 77 (with --check) this user may not read the settings; 78 the settings, or a
    file that they name, are invalid or cannot be read.

    """

  /// - Parameter arguments: with the program's name first.
  init(_ arguments: [String]) {
    let options: CommandLineOptions
    do throws(CommandLineOptions.Mistake) {
      options = try CommandLineOptions(
        arguments,
        options: [
          .init("config", short: "c", takesValue: true), .init("check"), .init("settings-reference"),
          .init("example-settings"),
          .init("help", short: "h"), .init("version", short: "V"),
        ])
    } catch {
      self = .mistake(error.message)
      return
    }
    let settings = options.value("config") ?? DaemonArguments.defaultSettings
    if options.has("help") {
      self = .help
    } else if options.has("version") {
      self = .version
    } else if let operand = options.operands.first {
      self = .mistake(
        "unexpected \"\(operand)\": settings are named with --config, and commands are those of fleet-locationctl")
    } else if options.has("settings-reference") {
      self = .settingsReference
    } else if options.has("example-settings") {
      self = .exampleSettings
    } else {
      self = options.has("check") ? .check(settings: settings) : .run(settings: settings)
    }
  }
}
