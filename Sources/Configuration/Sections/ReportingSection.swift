// SPDX-License-Identifier: Apache-2.0
import Delivery
import Reporting
import Vehicle

extension Settings {
  static let reportingKeys: [Setting<Settings>] = [
    Setting(
      "interval", \.agent.reporting.interval, .duration(.zero...(.seconds(60))),
      "Time between updates while driving. Less than 5s, down to `\"0s\"` (every fix), is allowed only if the endpoint is a loopback address."
    ),
    Setting(
      "heartbeat", \.agent.reporting.heartbeat, .duration(.seconds(1)...(.seconds(60))),
      "Time between updates while parked. Allowed: `interval` to 50s, because a gap of more than a minute looks like an outage. If `interval` is longer than 50s, leave this out: `interval` is then also the time between updates while parked."
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
    Setting(
      "deviation", \.agent.reporting.deviation, .distance(0...10_000),
      "Also send when the straight line from the last update to the newest position misses a position between them by more than this, as after a corner, at most every 5 s. 0 disables this."
    ),
    Setting(
      "compact_updates", \.agent.delivery.form.mode, .choice,
      "`auto`: updates leave out default values, are compressed, and ask for an empty response, which saves a third of the data, if the server accepts that; `status` says if it does not. `off`: never."
    ),
  ]

  /// Checks that the interval, the heartbeat and the endpoint fit together.
  mutating func checkReporting(_ reader: inout SettingsReader) {
    let (intervalKey, heartbeatKey) = (\Settings.agent.reporting.interval, \Settings.agent.reporting.heartbeat)
    guard reader.isValid(intervalKey), reader.isValid(heartbeatKey) else { return }
    let (interval, heartbeat) = (agent.reporting.interval, agent.reporting.heartbeat)
    // If the endpoint has a mistake, it is not known whether it is a loopback address, so short intervals are not
    // reported.
    let mayBeLoopback = !reader.isValid(\Settings.fleetEngine.endpoint) || fleetEngine.isLoopback
    if interval < .seconds(5), !mayBeLoopback {
      reader.problem(
        with: intervalKey,
        "is under 5s, which Fleet Engine does not accept; allowed: 5s to 60s (less only with an endpoint on loopback)")
    }
    if interval > .seconds(50) {
      reader.warning(about: intervalKey, "is over 50s: with the time that a request takes, gaps may exceed a minute")
    }
    if heartbeat < interval, !reader.isWritten(heartbeatKey) {
      agent.reporting.heartbeat = interval
    } else if heartbeat < interval {
      reader.problem(
        with: heartbeatKey,
        "is shorter than the interval, \(Quantity.text(interval)); allowed: "
          + (interval < .seconds(50)
            ? "\(Quantity.text(interval)) to 50s" : "\(Quantity.text(interval)), or leave it out")
      )
    } else if heartbeat > .seconds(50), heartbeat > interval {
      reader.problem(
        with: heartbeatKey,
        "is over 50s: with the time that a request takes, gaps would exceed the minute after which a vehicle counts as lost"
      )
    } else if heartbeat < .seconds(5), !mayBeLoopback {
      reader.problem(with: heartbeatKey, "is under 5s, which Fleet Engine does not accept; allowed: 5s to 50s")
    }
  }
}
