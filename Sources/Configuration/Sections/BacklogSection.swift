// SPDX-License-Identifier: Apache-2.0
import Delivery

extension Settings {
  static let backlogKeys: [Setting<Settings>] = [
    Setting(
      "max_locations", \.agent.delivery.maxLocations, .integer(0...100_000),
      "At most so many positions are kept; 0 keeps none."),
    Setting(
      "max_age", \.agent.delivery.maxAge, .duration(.seconds(60)...(.seconds(30 * 86_400))),
      "Older positions are dropped."),
    Setting(
      "batch", \.agent.delivery.batch, .integer(1...1000), "At most so many of them ride along in one request."),
    Setting(
      "directory", \.store.directory, .path,
      "Where the backlog outlives a restart and a power cut. If it is not written, the service's own (`StateDirectory=` of the unit); without one it is kept in memory only."
    ),
    Setting(
      "max_size", \.store.maxSize, .size(2_000_000...1_000_000_000),
      "Its files get no larger. 256 bytes are reckoned for each position, beside 1 MB for the log; if that is less than `max_locations` need, fewer are kept."
    ),
    Setting(
      "commit_interval", \.store.commitInterval, .duration(.zero...(.seconds(60))),
      "What a power cut may cost: so long may a position wait for others before they are written together. 0s writes each before it is sent, even while all is well, and wears flash memory."
    ),
  ]
}
