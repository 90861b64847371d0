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
  static let summary = "look at what the settings name, a token and the network, and say what is wrong"
  static let options =
    SettingsChoice.options + [
      CommandLineOptions.Option("user", takesValue: true), CommandLineOptions.Option("token"),
    ]
  static let usage = """
    Usage: fleet-locationctl doctor [--token] [--config FILE | --instance NAME] [--user NAME]
    Looks at the settings, at each source that they name, at a token, and at the way to Fleet Engine, and says how it
    stands and what to do. A receiver that nobody reads is listened to for some seconds; one token is asked for, as the
    service would. As root it sees most: who has a device open, what the service may do, and its credentials. It prints
    no positions and no secrets, and changes nothing.

          --token            only the token provider, against all that is asked of one; it is asked for two tokens, and a
                             third time with wrong credentials
    \(SettingsChoice.usage)
          --user NAME        whom the service runs as (default \(serviceUser))

    Exit status: 0 when nothing failed, 1 when something did, 77 when this user may not read the settings.

    """

  static let serviceUser = "fleet-locationd"
  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "doctor: unexpected \"\(operand)\": settings are named with --config")
    }
    let user = UserAccount.named(options.value("user") ?? serviceUser)
    if let name = options.value("user"), user == nil {
      throw CommandError(.usage, "doctor: there is no user \"\(name)\"; getent passwd lists them")
    }
    signal(SIGPIPE, SIG_IGN)
    // Of a program that gives tokens.
    EventLoop.blockChildSignal()
    let path = try SettingsChoice.path(options)
    ServiceCredentials.adopt(for: path)
    let surroundings: Doctor.Surroundings
    do {
      surroundings = Doctor.Surroundings(
        loop: try EventLoop(), serviceUser: user, currentUser: .current, buildDate: Release.buildDate)
    } catch {
      throw CommandError(.io, error.message)
    }
    // Nobody may read any more; what is left to look at is looked at for the exit status.
    var doctor = Doctor { text in _ = try? StandardOutput.write(text) }
    let settings = SettingsCheck(path: path, environment: .system)
    doctor.run(settings)
    if let settings = settings.settings {
      let checks =
        options.has("token")
        ? [TokenConformanceCheck(settings, in: surroundings)] : Doctor.checks(for: settings, in: surroundings)
      for check in checks { doctor.run(check) }
    }
    _ = try StandardOutput.write(doctor.summary)
    return doctor.isContent ? 0 : 1
  }
}
