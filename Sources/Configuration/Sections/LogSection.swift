// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

extension Settings {
  static let logKeys: [Setting<Settings>] = [
    Setting("level", \.logLevel, .choice(of: Priority.allCases, \.name), "What is not worth less is written."),
    Setting(
      "positions", \.agent.tellsPositions, .boolean,
      "Whether coordinates are written, at level `debug` with each accepted update. They are personal data."),
  ]

  static let metricsKeys: [Setting<Settings>] = [
    Setting(
      "textfile", \.metricsFile, .metricsFile,
      "A file for the textfile collector of Prometheus' node exporter, whose name has to end in `.prom`. A relative path begins at the daemon's own directory: `/run/fleet-locationd`, or `/run/fleet-locationd-NAME` of `fleet-locationd@NAME`. Written at most once a minute, and never by waking the machine. Without it none is."
    )
  ]
}
