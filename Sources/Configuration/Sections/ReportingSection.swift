// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

extension Settings {
  static let reportingKeys: [Setting<Settings>] = [
    Setting(
      "interval", \.agent.reporting.interval, .duration(.zero...(.seconds(60))),
      "Time between updates while driving. Less than 5s, down to `\"0s\"` (every fix), is allowed only if the endpoint is a loopback address."
    ),
    Setting(
      "heartbeat", \.agent.reporting.heartbeat, .duration(.seconds(1)...(.seconds(60))),
      "Time between updates while parked. Allowed from `interval` to 50s, so that no gap exceeds a minute; if `interval` is longer than 50s, `interval` is used instead."
    ),
    Setting(
      "stop_timeout", \.stopTimeout, .duration(.zero...(.seconds(60))),
      "Maximum time for the last update when the service stops."),
    Setting(
      "drain_timeout", \.agent.drainLimit, .duration(.zero...(.seconds(86_400))),
      "Maximum time to deliver the remaining positions after the end of a recording, or of a simulated drive that does not loop. After it the program exits with status 75."
    ),
    Setting(
      "distance", \.agent.reporting.distance, .distance(0...100_000),
      "Also send after driving this far since the last update, at most every 5 s. 0 disables this."),
    Setting(
      "heading", \.agent.reporting.heading, .number(0...180),
      "Also send after turning by this many degrees since the last update, at most every 5 s. 0 disables this."),
  ]

  /// Checks that the interval, the heartbeat and the endpoint fit together.
  mutating func checkReporting(_ reader: inout SettingsReader) {
    let (interval, heartbeat) = (\Settings.agent.reporting.interval, \Settings.agent.reporting.heartbeat)
    guard reader.isSound(interval), reader.isSound(heartbeat) else { return }
    let (shorter, longer) = (agent.reporting.interval, agent.reporting.heartbeat)
    // With an endpoint that is wrong, the rules that depend on it are left for the next run.
    let isLoopback = !reader.isSound(\Settings.fleetEngine.endpoint) || fleetEngine.isLoopback
    if shorter < .seconds(5), !isLoopback {
      reader.problem(
        with: interval,
        "is under 5s, which Fleet Engine does not accept; allowed: 5s to 60s (less only with an endpoint on loopback)")
    }
    if shorter > .seconds(50) {
      reader.warning(about: interval, "is over 50s: with the time that a request takes, gaps may exceed a minute")
    }
    if longer < shorter, !reader.isWritten(heartbeat) {
      agent.reporting.heartbeat = shorter
    } else if longer < shorter {
      reader.problem(
        with: heartbeat,
        "is shorter than the interval, \(Quantity.text(shorter)); allowed: "
          + (shorter < .seconds(50) ? "\(Quantity.text(shorter)) to 50s" : "\(Quantity.text(shorter)), or leave it out")
      )
    } else if longer > .seconds(50), longer > shorter {
      reader.problem(
        with: heartbeat,
        "is over 50s: with the time that a request takes, gaps would exceed the minute after which a vehicle counts as lost"
      )
    } else if longer < .seconds(5), !isLoopback {
      reader.problem(with: heartbeat, "is under 5s, which Fleet Engine does not accept; allowed: 5s to 50s")
    }
  }
}
