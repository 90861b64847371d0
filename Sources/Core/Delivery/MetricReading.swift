// SPDX-License-Identifier: Apache-2.0
import Authorization
import FleetEngine
import Positioning
package import Timekeeping

/// What the metrics are made of, read at one moment. No coordinates.
package struct MetricReading: Equatable, Sendable {
  /// What has gone over the line to one party since the start.
  package struct Traffic: Equatable, Sendable {
    /// `fleet_engine` or `token_provider`.
    package var peer: String
    package var connections: UInt64
    package var bytesSent: UInt64
    package var bytesReceived: UInt64

    package init(peer: String, connections: UInt64, bytesSent: UInt64, bytesReceived: UInt64) {
      self.peer = peer
      self.connections = connections
      self.bytesSent = bytesSent
      self.bytesReceived = bytesReceived
    }
  }

  package var statistics = Statistics()
  package var isOnline = false
  package var isPaused = false
  /// By the best clock that is known; nil when there was none, or nobody knows the time.
  package var lastUpdate: Timestamp?
  package var lastFix: Timestamp?
  package var fixAge: Duration?
  /// Metres, one sigma.
  package var horizontalAccuracy: Double?
  package var isTokenFailing = false
  /// What is left of the token's life; nil without one.
  package var tokenLife: Duration?
  package var waiting = 0
  /// How far the oldest lies behind the newest fix.
  package var oldestAge: Duration?
  /// Size of the store's files; nil where there are none.
  package var storeBytes: Int64?
  /// Metres.
  package var thinnedWithin = 0.0
  /// By how much the machine's clock is ahead; nil when nobody can tell, 0 when it is right.
  package var clockOffset: Duration?
  package var traffic: [Traffic] = []
  package var version = ""

  package init() {}
}

extension VehicleAgent {
  /// All that the metrics tell of what is decided here; traffic, store and version are for the shell to add.
  package func metrics(at now: Moment) -> MetricReading {
    var reading = MetricReading()
    reading.statistics = statistics
    reading.isOnline = isOnline && !network.isAbsent
    reading.isPaused = isPaused
    let time = bestTime(at: now)
    func ago(_ instant: BootInstant) -> Timestamp? { time.map { $0 - (now.boot - instant) } }
    reading.lastUpdate = delivery.lastAcceptedAt.flatMap(ago)
    if let lastFix {
      reading.lastFix = ago(lastFixAt)
      reading.fixAge = now.boot - lastFixAt
      reading.horizontalAccuracy = lastFix.horizontalAccuracy
    }
    reading.isTokenFailing = tokens.lastFailure != nil
    reading.tokenLife = tokens.token(at: now.boot).map { $0.deadline - now.boot }
    reading.waiting = delivery.waiting
    if delivery.waiting > 0, let oldest = delivery.backlog.records.first?.location.time {
      reading.oldestAge = newestTime.map { max($0 - oldest, .zero) }
    }
    reading.thinnedWithin = delivery.backlog.thinnedWithin
    if clocks.time(at: now.boot) != nil { reading.clockOffset = clocks.error(at: now)?.offset ?? .zero }
    return reading
  }
}
