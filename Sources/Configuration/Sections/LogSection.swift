// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Timekeeping

extension Settings {
  static let logKeys: [Setting<Settings>] = [
    Setting(
      "level", \.logLevel, .choice(of: Priority.allCases, \.name), "Minimum priority of the events that are written."),
    Setting(
      "positions", \.agent.logsPositions, .boolean,
      "Whether coordinates are written: at level `debug`, with each accepted update. They are personal data."),
  ]

  static let metricsKeys: [Setting<Settings>] = [
    Setting(
      "textfile", \.metricsFile, .metricsFile,
      "File for the textfile collector of Prometheus' node exporter; its name must end in `.prom`. A relative path is relative to the daemon's runtime directory, `/run/fleet-locationd`, or `/run/fleet-locationd-NAME` for `fleet-locationd@NAME`. It is written once a minute, when the vehicle goes online or offline, and when the daemon stops; writing it never wakes the machine. Default: no file."
    )
  ]

  static let positionsKeys: [Setting<Settings>] = [
    Setting(
      "socket", \.servesPositions, .boolean,
      "Whether root and the members of the group `fleet-locationd-positions` can monitor the vehicle's positions, at the socket `/run/fleet-locationd.positions/fleet-locationd.sock`, or `fleet-locationd-NAME.sock` for `fleet-locationd@NAME`. They are personal data."
    )
  ]
}
