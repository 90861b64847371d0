// SPDX-License-Identifier: Apache-2.0
import ClockEstimation
package import Connectivity
package import Vehicle
import Timekeeping

/// The values of the metrics at one moment, without coordinates.
package struct MetricReading: Sendable {
  /// Traffic to and from one server since the start.
  package struct Traffic: Equatable, Sendable {
    /// `fleet_engine` or `token_provider`.
    package var peer: String
    /// Number of opened connections.
    package var connections: UInt64
    /// Bytes of requests, without the overhead of TLS and TCP.
    package var bytesSent: UInt64
    /// Bytes of responses, likewise.
    package var bytesReceived: UInt64
    /// The kernel's counters of TCP.
    package var tcp: TCPTraffic

    /// - Parameter peer: `fleet_engine` or `token_provider`.
    package init(
      peer: String, connections: UInt64 = 0, bytesSent: UInt64 = 0, bytesReceived: UInt64 = 0,
      tcp: TCPTraffic = TCPTraffic()
    ) {
      self.peer = peer
      self.connections = connections
      self.bytesSent = bytesSent
      self.bytesReceived = bytesReceived
      self.tcp = tcp
    }
  }

  /// The agent's state.
  package var snapshot: VehicleAgent.Snapshot
  /// Traffic by peer.
  package var traffic: [Traffic]
  /// Data volume of this month (UTC) in bytes, as last read; nil while the date is unknown.
  package var trafficOfMonth: UInt64?
  /// The line counters of each source that has a line.
  package var lines: [LineReading]
  /// Size of the backlog's files; nil without files.
  package var storeBytes: Int64?
  /// The daemon's release.
  package var version: String
  /// The settings in force; nil if unknown.
  package var settings: SettingsStatus?
  /// Whether the daemon has finished, and this is the last reading.
  package var isLast = false

  /// - Parameters:
  ///   - snapshot: the current state of the agent.
  ///   - traffic: traffic by peer.
  ///   - trafficOfMonth: data volume in bytes; nil while the date is unknown.
  ///   - lines: the line counters of each source that has a line.
  ///   - storeBytes: size of the backlog's files; nil without files.
  ///   - version: the daemon's release.
  ///   - settings: the settings in force; nil if unknown.
  ///   - isLast: whether the daemon has finished.
  package init(
    _ snapshot: VehicleAgent.Snapshot, traffic: [Traffic] = [], trafficOfMonth: UInt64? = nil,
    lines: [LineReading] = [], storeBytes: Int64? = nil, version: String = "", settings: SettingsStatus? = nil,
    isLast: Bool = false
  ) {
    self.snapshot = snapshot
    self.traffic = traffic
    self.trafficOfMonth = trafficOfMonth
    self.lines = lines
    self.storeBytes = storeBytes
    self.version = version
    self.settings = settings
    self.isLast = isLast
  }

  var statistics: Statistics { snapshot.statistics }

  var isOnline: Bool { snapshot.isOnline && !isLast }

  /// Time of the last accepted update by the best clock; nil without one, or if the time is unknown.
  var lastUpdateTime: Timestamp? { snapshot.lastAcceptedAt.flatMap(time(of:)) }

  var lastFixTime: Timestamp? { snapshot.fix == nil ? nil : time(of: snapshot.fixReceivedAt) }

  var fixAge: Duration? { snapshot.fix == nil ? nil : snapshot.now.boot - snapshot.fixReceivedAt }

  /// Remaining lifetime of the token; nil without one.
  var tokenLifetime: Duration? { snapshot.tokenDeadline.map { $0 - snapshot.now.boot } }

  /// How far the machine's clock is ahead; nil if unknown, 0 if it is right.
  var clockOffset: Duration? { snapshot.isTimeKnown ? snapshot.clockError?.offset ?? .zero : nil }

  private func time(of instant: BootInstant) -> Timestamp? { snapshot.time.map { $0 - (snapshot.now.boot - instant) } }
}
