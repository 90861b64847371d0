// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Positioning

extension Settings {
  static let filterKeys: [Setting<Settings>] = [
    Setting(
      "max_accuracy", \.agent.filter.maxAccuracy, .distance(1...10_000),
      "Reject fixes with a worse accuracy (one sigma). Fixes of unknown accuracy are accepted."),
    Setting(
      "max_speed", \.agent.filter.maxSpeed, .speed(1...2000),
      "Reject fixes that only a faster vehicle could have reached, until several agree."),
    Setting(
      "min_satellites", \.agent.filter.minSatellites, .integer(0...64),
      "Reject fixes from fewer satellites; 0 accepts any number."),
    Setting(
      "max_hdop", \.agent.filter.maxHDOP, .number(0.5...100),
      "Reject fixes with a higher HDOP if the receiver reports no accuracy and they disagree with the fixes before them."
    ),
    Setting(
      "max_age", \.agent.filter.maxAge, .duration(.seconds(1)...(.seconds(300))),
      "Reject fixes whose time is further in the past than this."),
  ]
}
