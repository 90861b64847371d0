// SPDX-License-Identifier: Apache-2.0
package import Observability

/// What only the shell can read, for status, metrics and the data volume.
package struct Measurement: Equatable, Sendable {
  /// Traffic to and from Fleet Engine since the start.
  package var fleetEngine: MetricReading.Traffic
  /// Traffic to and from the token provider since the start.
  package var tokenProvider: MetricReading.Traffic
  /// Size of the backlog's files in bytes; nil without files.
  package var storeBytes: Int64?
  /// The protocol of Fleet Engine's last response, `HTTP/2` or `HTTP/1.1`; nil before the first.
  package var transport: String?
  /// Recent events, newest first.
  package var events: [StatusReport.Event]
  /// Programs that monitor the daemon on the control socket.
  package var monitors: StatusReport.Monitors
  /// Programs that monitor the positions; nil without a socket for them.
  package var positionMonitors: StatusReport.Monitors?
  /// The path of the main settings file if it no longer exists; otherwise nil.
  package var deletedFile: String?

  /// By default, all counters are zero, and all other values are nil or empty.
  package init(
    fleetEngine: MetricReading.Traffic = MetricReading.Traffic(peer: "fleet_engine"),
    tokenProvider: MetricReading.Traffic = MetricReading.Traffic(peer: "token_provider"), storeBytes: Int64? = nil,
    transport: String? = nil, events: [StatusReport.Event] = [],
    monitors: StatusReport.Monitors = StatusReport.Monitors(connected: 0, dropped: 0),
    positionMonitors: StatusReport.Monitors? = nil, deletedFile: String? = nil
  ) {
    self.fleetEngine = fleetEngine
    self.tokenProvider = tokenProvider
    self.storeBytes = storeBytes
    self.transport = transport
    self.events = events
    self.monitors = monitors
    self.positionMonitors = positionMonitors
    self.deletedFile = deletedFile
  }
}
