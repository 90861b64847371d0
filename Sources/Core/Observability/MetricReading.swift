// SPDX-License-Identifier: Apache-2.0
package import Connectivity
package import Delivery
import Positioning
import Timekeeping

/// What the metrics are made of, read at one moment. No coordinates.
package struct MetricReading: Equatable, Sendable {
  /// What has gone over the line to one party since the start.
  package struct Traffic: Equatable, Sendable {
    /// `fleet_engine` or `token_provider`.
    package var peer: String
    /// Connections that were opened.
    package var connections: UInt64
    /// Bytes of requests, before TLS and TCP wrap them.
    package var bytesSent: UInt64
    /// Bytes of answers, likewise.
    package var bytesReceived: UInt64
    /// The same, and all that was wrapped around it.
    package var tcp: TCPTraffic

    /// - Parameter peer: `fleet_engine` or `token_provider`.
    package init(peer: String, connections: UInt64, bytesSent: UInt64, bytesReceived: UInt64, tcp: TCPTraffic) {
      self.peer = peer
      self.connections = connections
      self.bytesSent = bytesSent
      self.bytesReceived = bytesReceived
      self.tcp = tcp
    }
  }

  /// Of the agent.
  package var snapshot: VehicleAgent.Snapshot
  /// By peer.
  package var traffic: [Traffic]
  /// Bytes on the air in this month (UTC), as last read; nil while the date is not known.
  package var trafficOfMonth: UInt64?
  /// Of each source with a line of its own.
  package var lines: [LineReading]
  /// Size of the store's files; nil where there are none.
  package var storeBytes: Int64?
  /// The daemon's release.
  package var version: String
  /// Nil where they are not known.
  package var settings: SettingsReading?
  /// The daemon is done, and this is the last reading.
  package var isLast = false

  /// - Parameters:
  ///   - snapshot: of now.
  ///   - traffic: by peer.
  ///   - trafficOfMonth: bytes on the air; nil while the date is not known.
  ///   - lines: of each source with a line of its own.
  ///   - storeBytes: nil where there are no files.
  ///   - version: the daemon's release.
  ///   - settings: nil where they are not known.
  ///   - isLast: when the daemon is done.
  package init(
    _ snapshot: VehicleAgent.Snapshot, traffic: [Traffic] = [], trafficOfMonth: UInt64? = nil,
    lines: [LineReading] = [], storeBytes: Int64? = nil, version: String = "", settings: SettingsReading? = nil,
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

  /// By the best clock that is known; nil when there was none, or nobody knows the time.
  var lastUpdate: Timestamp? { snapshot.lastAcceptedAt.flatMap(time(of:)) }

  var lastFix: Timestamp? { snapshot.fix == nil ? nil : time(of: snapshot.fixCameAt) }

  var fixAge: Duration? { snapshot.fix == nil ? nil : snapshot.now.boot - snapshot.fixCameAt }

  /// What is left of the token's life; nil without one.
  var tokenLife: Duration? { snapshot.tokenDeadline.map { $0 - snapshot.now.boot } }

  /// By how much the machine's clock is ahead; nil when nobody can tell, 0 when it is right.
  var clockOffset: Duration? { snapshot.isTimeTold ? snapshot.clockError?.offset ?? .zero : nil }

  private func time(of instant: BootInstant) -> Timestamp? { snapshot.time.map { $0 - (snapshot.now.boot - instant) } }
}
