// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import Glibc
import Release
import SystemCalls

/// `fleet-locationctl doctor`: what is wrong with this machine, and what to do about it.
enum DoctorCommand: Command {
  static let name = "doctor"
  static let summary = "look at what the settings name, and say what is wrong"
  static let options = [
    CommandLineOptions.Option("config", short: "c", takesValue: true),
    CommandLineOptions.Option("user", takesValue: true),
  ]
  static let usage = """
    Usage: fleet-locationctl doctor [--config FILE] [--user NAME]
    Looks at the settings and at each source that they name, and says how it stands and what to do. A receiver that
    nobody reads is listened to for some seconds. As root it sees most: who has a device open, and what the service
    may do. It prints no positions and changes nothing.

      -c, --config FILE  settings (default \(standardSettings))
          --user NAME    whom the service runs as (default \(serviceUser))

    Exit status: 0 when nothing failed, 1 when something did.

    """

  private static let standardSettings = "/etc/fleet-locationd/fleet-locationd.toml"
  private static let serviceUser = "fleet-locationd"
  /// Where systemd puts what the unit's LoadCredential= names, while the service runs.
  private static let credentials = "/run/credentials/fleet-locationd.service"

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "doctor: unexpected \"\(operand)\": settings are named with --config")
    }
    let user = UserAccount.named(options.value("user") ?? serviceUser)
    if let name = options.value("user"), user == nil {
      throw CommandError(.usage, "doctor: there is no user \"\(name)\"; getent passwd lists them")
    }
    signal(SIGPIPE, SIG_IGN)
    let surroundings: Doctor.Surroundings
    do {
      surroundings = Doctor.Surroundings(
        loop: try EventLoop(), serviceUser: user, currentUser: .current, buildDate: Release.buildDate)
    } catch {
      throw CommandError(.io, error.message)
    }
    // Nobody may read any more; what is left to look at is looked at for the exit status.
    var doctor = Doctor { text in _ = try? StandardOutput.write(text) }
    let settings = SettingsCheck(path: options.value("config") ?? standardSettings, environment: environment)
    doctor.run(settings)
    if let settings = settings.settings {
      for check in Doctor.checks(for: settings, in: surroundings) { doctor.run(check) }
    }
    _ = try StandardOutput.write(doctor.summary)
    return doctor.isContent ? 0 : 1
  }

  /// The machine as the service sees it, with the credentials of the running one.
  private static var environment: ConfigurationEnvironment {
    var environment = ConfigurationEnvironment.system
    let variable = environment.variable
    environment.variable = { name in
      if let value = variable(name) { return value }
      return name == "CREDENTIALS_DIRECTORY" && access(credentials, F_OK) == 0 ? credentials : nil
    }
    return environment
  }
}
