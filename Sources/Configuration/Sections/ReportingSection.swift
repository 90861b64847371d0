// SPDX-License-Identifier: Apache-2.0
import Delivery
import Timekeeping

extension Settings {
  static let reportingKeys: [Setting<Settings>] = [
    Setting(
      "interval", \.agent.reporting.interval, .duration(.zero...(.seconds(60))),
      "Time between updates while driving. Under 5s, down to \"0s\" (every fix), only with an endpoint on loopback."),
    Setting(
      "heartbeat", \.agent.reporting.heartbeat, .duration(.seconds(1)...(.seconds(60))),
      "Time between updates while parked: from the interval to 50s, so that no gap passes a minute. With an interval over 50s it is the interval."
    ),
    Setting(
      "stop_timeout", \.stopTimeout, .duration(.zero...(.seconds(60))),
      "How long the last update may take when the service stops."),
    Setting(
      "drain_timeout", \.agent.drainLimit, .duration(.zero...(.seconds(86_400))),
      "How long the rest of a recording, or of a drive that does not loop, may take to be delivered after its end. Then the program ends with status 75."
    ),
    Setting(
      "distance", \.agent.reporting.distance, .distance(0...100_000),
      "An update before its time after so much driving, never under 5s; 0 is off."),
    Setting(
      "heading", \.agent.reporting.heading, .number(0...180),
      "An update before its time after a turn of so many degrees, never under 5s; 0 is off."),
  ]

  /// What no key can check alone: the interval, the heartbeat and the endpoint have to go together.
  mutating func checkReporting(_ reader: inout SettingsReader) {
    let (interval, heartbeat) = (\Settings.agent.reporting.interval, \Settings.agent.reporting.heartbeat)
    guard reader.isSound(interval), reader.isSound(heartbeat) else { return }
    let (shorter, longer) = (agent.reporting.interval, agent.reporting.heartbeat)
    // With an endpoint that is wrong, the rules that depend on it are left for the next run.
    let isLoopback = !reader.isSound(\Settings.fleetEngine.endpoint) || fleetEngine.isLoopback
    if shorter < .seconds(5), !isLoopback {
      reader.problem(
        with: interval,
        "is under 5s, which Fleet Engine does not take; allowed: 5s to 60s (less only with an endpoint on loopback)")
    }
    if shorter > .seconds(50) {
      reader.warning(about: interval, "is over 50s: with the time that a request takes, gaps may pass a minute")
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
        "is over 50s: with the time that a request takes, gaps would pass the minute after which a vehicle counts as lost"
      )
    } else if longer < .seconds(5), !isLoopback {
      reader.problem(with: heartbeat, "is under 5s, which Fleet Engine does not take; allowed: 5s to 50s")
    }
  }
}
