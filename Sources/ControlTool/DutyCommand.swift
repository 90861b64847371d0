// SPDX-License-Identifier: Apache-2.0

/// `fleet-locationctl offline`: the driver takes no new trips.
enum OfflineCommand: DriverCommand {
  static let name = "offline"
  static let request = DaemonClient.Request.offline
  static let summary = "no new trips: the vehicle is OFFLINE, and positions go on"
  static let usage = """
    Usage: fleet-locationctl offline [--instance NAME | --socket PATH]
    For a vehicle of on-demand trips: OFFLINE is sent at once, without a fix, and each position carries it until
    "fleet-locationctl online". So Fleet Engine offers no new trips, and the passenger on board still sees the vehicle. The
    choice survives a restart, a power cut and a pause.

    Exit status: 0 if it is in force, 69 if no daemon answers, or the vehicle has no state that the daemon sets, 77 if this
    user may not use the control socket. A message on standard error says if it would not survive a restart.

    """

  static let confirmation = "Off duty: OFFLINE is sent at once and with each position; see fleet-locationctl status"
}

/// `fleet-locationctl online`: the driver takes trips.
enum OnlineCommand: DriverCommand {
  static let name = "online"
  static let request = DaemonClient.Request.online
  static let summary = "trips again: the next position sets the vehicle to ONLINE"
  static let usage = """
    Usage: fleet-locationctl online [--instance NAME | --socket PATH]
    Ends what "fleet-locationctl offline" began: the next position sets the vehicle to ONLINE; after a pause, if there is
    one.

    Exit status: 0 if it is in force, 69 if no daemon answers, or the vehicle has no state that the daemon sets, 77 if this
    user may not use the control socket. A message on standard error says if it would not survive a restart.

    """

  static let confirmation = "On duty: the next position sets the vehicle to ONLINE"
}
