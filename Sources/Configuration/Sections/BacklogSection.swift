// SPDX-License-Identifier: Apache-2.0
import Vehicle
import Delivery
import PositionBacklog

extension Settings {
  static let backlogKeys: [Setting<Settings>] = [
    Setting(
      "max_locations", \.agent.delivery.maxLocations, .integer(0...Backlog.maximumRecords),
      "Maximum number of stored positions. When it is reached, the positions that matter least for the track are removed. 0 stores none."
    ),
    Setting(
      "max_age", \.agent.delivery.maxAge, .duration(.seconds(60)...(.seconds(30 * 86_400))),
      "Positions older than this are dropped; if the receiver sends no date, only while its time is confirmed by a server or by two other sources."
    ),
    Setting(
      "batch", \.agent.delivery.batch, .integer(1...1000), "Maximum number of stored positions in one request."),
    Setting(
      "directory", \.store.directory, .path,
      "Directory of the backlog's file, which survives a restart and a power cut. Default: the service's own (`StateDirectory=` of the unit); if it has none, the backlog is in memory only."
    ),
    Setting(
      "max_size", \.store.maxSize, .size(2_000_000...1_000_000_000),
      "Maximum size of the backlog's files. 256 bytes are reserved for each position, and 1 MB for the write-ahead log; if this is too small for `max_locations`, fewer positions are stored."
    ),
    Setting(
      "commit_interval", \.store.commitInterval, .duration(.zero...(.seconds(60))),
      "Maximum time a position stays in memory before it is written to disk together with others; a power cut loses at most the positions of this time. `\"0s\"` writes each position before it is sent, which wears flash memory. Default: 5 s, or, once no server has been reachable for two minutes, 1 min; in that case a stop of the vehicle is written at once."
    ),
  ]
}
