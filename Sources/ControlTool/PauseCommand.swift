// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions

/// `fleet-locationctl pause`: the driver is off duty.
enum PauseCommand: Command {
  static let name = "pause"
  static let summary = "send no position, and keep none, until resume"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl pause [--instance NAME | --socket PATH]
    The driver is off duty: from now on no position leaves this machine, none is kept, and nothing is fetched, until
    "fleet-locationctl resume". A restart, a power cut and new settings change nothing of it. Positions that waited before
    stay, and go on afterwards. A vehicle of on-demand trips is set to OFFLINE, which is repeated until Fleet Engine has
    accepted it: "fleet-locationctl status" says so.

    Exit status: 0 when it is in force, 69 when no daemon answers, 77 when this user may not ask. Standard error says so
    when it would not survive a restart.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonQuestion.steer("pause", options)
    return try StandardOutput.write(
      "Paused: no position leaves this machine until \"fleet-locationctl resume\"\n")
  }
}

/// `fleet-locationctl resume`: the driver is on duty again.
enum ResumeCommand: Command {
  static let name = "resume"
  static let summary = "end the pause: the next position is sent at once"
  static let options = DaemonQuestion.options
  static let usage = """
    Usage: fleet-locationctl resume [--instance NAME | --socket PATH]
    Ends what "fleet-locationctl pause" began. The next fix is sent at once, and sets a vehicle of on-demand trips to ONLINE;
    no fix of the pause is ever sent.

    Exit status: 0 when no pause is in force, 69 when no daemon answers, 77 when this user may not ask.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    try DaemonQuestion.steer("resume", options)
    return try StandardOutput.write("Resumed: the next fix is sent\n")
  }
}
