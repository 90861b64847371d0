// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// A command of the driver: the daemon acknowledges it.
@MainActor protocol DriverCommand: Command {
  /// The request to the daemon.
  static var request: DaemonClient.Request { get }
  /// The sentence that says what is now in force, without a line end.
  static var confirmation: String { get }
}

extension DriverCommand {
  static var options: [CommandLineOptions.Option] { DaemonClient.options }

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonClient.sendDriverCommand(request, options)
    do throws(CommandError) {
      _ = try StandardOutput.write(Instance.addressed(confirmation, Instance.service(options)) + "\n")
    } catch {
      StandardError.write("fleet-locationctl: \(name): the daemon has confirmed this, but \(error.message)\n")
    }
    return 0
  }
}

/// `fleet-locationctl pause`: no position is sent.
enum PauseCommand: DriverCommand {
  static let name = "pause"
  static let request = DaemonClient.Request.pause
  static let summary = "send and store no position until resume"
  static let usage = """
    Usage: fleet-locationctl pause [--instance NAME | --socket PATH]
    No position is sent or stored, and no token is fetched, until "fleet-locationctl resume". The pause survives a
    restart, a power cut and new settings. Positions queued before the pause are sent after it. A vehicle of on-demand
    trips is set to OFFLINE, which is repeated until Fleet Engine has accepted it: see "fleet-locationctl status".

    Exit status: 0 if the pause is in force, 69 if no daemon answers, 77 if this user may not use the control socket. A
    message on standard error says if the pause would not survive a restart.

    """

  static let confirmation = "Paused: no position is sent or stored until \"fleet-locationctl resume\""
}

/// `fleet-locationctl resume`: positions are sent again.
enum ResumeCommand: DriverCommand {
  static let name = "resume"
  static let request = DaemonClient.Request.resume
  static let summary = "end the pause: the next position is sent at once"
  static let usage = """
    Usage: fleet-locationctl resume [--instance NAME | --socket PATH]
    Ends the pause that "fleet-locationctl pause" began. The next fix is sent at once, and sets a vehicle of on-demand trips
    to ONLINE, unless the driver is off duty ("fleet-locationctl offline"); fixes from the pause are never sent.

    Exit status: 0 if no pause is in force, 69 if no daemon answers, 77 if this user may not use the control socket.

    """

  static let confirmation = "Resumed: the next fix is sent at once"
}
