// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Daemon
import Observability
import Timekeeping

/// The data that the daemon has published.
struct Published {
  /// When a status line was last sent to systemd; nil before the first of a run.
  var statusAt: BootInstant?
  /// When the metrics were last written; nil before the first of a run.
  var metricsAt: BootInstant?
  /// The stored data volume.
  var traffic: String?
}

extension Daemon.Effect {
  /// Whether the effect only publishes or queries. Such effects are not counted towards a power cut.
  var publishes: Bool {
    switch self {
    case .showStatus, .measure, .writeMetrics, .storeTraffic, .respond, .readSettings, .readKeptSettings,
      .useSettings, .ready, .monitor, .position:
      true
    default: false
    }
  }
}

extension World {
  func publish(_ effect: Daemon.Effect) {
    switch effect {
    case .showStatus: published.statusAt = now
    case .measure:
      var measurement = Measurement()
      measurement.fleetEngine.tcp.sent = UInt64(attempts.count { $0.runNumber == runNumber }) * 300
      pass(.measured(measurement))
    case .writeMetrics: published.metricsAt = now
    case .storeTraffic(let text): if installation.directoryTrouble == nil { published.traffic = text }
    case .respond(let id, let response): answered(id, response)
    default: break
    }
  }

  /// After each input the status line and the metrics are as recent as required.
  func checkPublished() {
    guard !isOff, finishedAt == nil, isRunning, let statusAt = published.statusAt else { return }
    if now - statusAt >= .seconds(10) { violate("the status line is \((now - statusAt).inSeconds) s old") }
    let metricsAt = published.metricsAt ?? .boot
    if now - metricsAt >= .seconds(60) { violate("the metrics are \((now - metricsAt).inSeconds) s old") }
  }
}
