// SPDX-License-Identifier: Apache-2.0
import Reporting
import Connectivity
import Vehicle
import Observability
import Timekeeping

/// When systemd's status line, the metrics file and a reading of the data volume are due, and the published data that
/// is not the vehicle's: the settings in force, the data volume, the start.
///
/// It never wakes the machine: what is due is published with the next input.
struct Publication: Sendable {
  /// Maximum age of the status line while the daemon is active, because it contains ages.
  private static let maxStatusAge = Duration.seconds(10)
  /// Interval between two writes of the metrics.
  private static let metricsInterval = Duration.seconds(60)
  /// Minimum interval between two writes of the metrics.
  private static let metricsFloor = Duration.seconds(1)

  /// The daemon's release.
  let version: String
  let startedAt: BootInstant
  /// The settings in force, and how the last reload went.
  var settings: SettingsStatus
  /// Maximum interval of reports.
  private(set) var heartbeat: Duration
  /// Path of the metrics file; nil: none.
  private(set) var metricsFile: String?
  /// The data volume.
  var ledger: TrafficLedger
  /// Requests for status or metrics without a response.
  var requests: [(id: UInt64, request: Daemon.Request)] = []
  /// Nothing is published before the state of previous runs has been passed.
  var hasBegun = false
  /// `measured` follows.
  var isMeasuring = false
  private var statusShownAt: BootInstant?
  private var metricsWrittenAt: BootInstant?
  /// Whether the metrics file says that the vehicle is online.
  private var wasOnline = false

  /// - Parameters:
  ///   - traffic: the data volume that a previous run has stored; nil if there is none.
  ///   - start: when the process was started.
  init(
    _ configuration: Daemon.Configuration, version: String, traffic: String?, from start: BootInstant,
    at now: BootInstant
  ) {
    self.version = version
    startedAt = start
    settings = configuration.settings
    heartbeat = configuration.vehicle.reporting.heartbeat
    metricsFile = configuration.metricsFile
    ledger = TrafficLedger(traffic, at: now)
  }

  /// The settings are in force from now on.
  mutating func configure(_ configuration: Daemon.Configuration, at now: BootInstant) {
    (settings.hash, settings.mistake) = (configuration.settings.hash, configuration.settings.mistake)
    (settings.revertReason, settings.unconfirmedReason) = (configuration.settings.revertReason, nil)
    settings.lastReload = SettingsStatus.Reload(endedAt: now, mistake: nil)
    heartbeat = configuration.vehicle.reporting.heartbeat
    if metricsFile != configuration.metricsFile { metricsWrittenAt = nil }
    metricsFile = configuration.metricsFile
  }

  /// Other settings were refused.
  mutating func reloadRefused(_ mistakes: String, at now: BootInstant) {
    settings.lastReload = SettingsStatus.Reload(endedAt: now, mistake: mistakes)
  }

  // MARK: - The status line

  /// Whether the status line must be sent: at once for events of priority `notice` and above, at most once a second for
  /// results of updates, and every ten seconds for anything else.
  func isStatusDue(after effects: [Daemon.Effect], at now: BootInstant) -> Bool {
    guard let statusShownAt, now - statusShownAt < Publication.maxStatusAge else { return true }
    var hasOutcome = false
    for case .event(let event) in effects {
      if event.kind.priority <= .notice { return true }
      hasOutcome = hasOutcome || event.kind == .updateAccepted || event.kind == .interrupted
    }
    return hasOutcome && now - statusShownAt >= .seconds(1)
  }

  mutating func statusShown(at now: BootInstant) { statusShownAt = now }

  // MARK: - The metrics

  /// Whether the metrics must be written: once a minute, when the vehicle goes online or offline, and at the end.
  func areMetricsDue(at now: BootInstant, isOnline: Bool, isLast: Bool = false) -> Bool {
    guard metricsFile != nil else { return false }
    guard !isLast, let metricsWrittenAt else { return true }
    return now - metricsWrittenAt >= (isOnline == wasOnline ? Publication.metricsInterval : Publication.metricsFloor)
  }

  mutating func metricsWritten(at now: BootInstant, isOnline: Bool) {
    metricsWrittenAt = now
    wasOnline = isOnline
  }
}
