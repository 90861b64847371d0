// SPDX-License-Identifier: Apache-2.0
import Delivery
import Positioning

extension Settings {
  static let filterKeys: [Setting<Settings>] = [
    Setting(
      "max_accuracy", \.agent.filter.maxAccuracy, .distance(1...10_000),
      "A fix that is less accurate (one sigma) is not believed. One of unknown accuracy is."),
    Setting(
      "max_speed", \.agent.filter.maxSpeed, .speed(1...2000),
      "A fix that would need more speed to be reached is not believed, until several agree."),
    Setting(
      "min_satellites", \.agent.filter.minSatellites, .integer(0...64),
      "A fix from fewer satellites is not believed; 0 is off."),
    Setting(
      "max_hdop", \.agent.filter.maxHDOP, .number(0.5...100),
      "A fix with more horizontal dilution of precision is not believed."),
    Setting(
      "max_age", \.agent.filter.maxAge, .duration(.seconds(1)...(.seconds(300))), "An older fix is not believed."),
  ]
}
