// SPDX-License-Identifier: Apache-2.0
import Connectivity
import ClockEstimation
import Vehicle
import Observability
import Timekeeping

/// What the daemon publishes: systemd's status line, the metrics file, the data volume, and the state for
/// `fleet-locationctl`.
extension Run {
  /// Publishes what is due after an input; nil: after data from a line.
  mutating func publish(after input: Input?, at now: Moment, _ effects: inout [Effect]) {
    if var watch = monitor {
      effects += watch.items(vehicle, at: now).map { .monitor($0) }
      monitor = watch
    }
    guard publication.hasBegun || isClosed else { return }
    // The journal rate-limits network changes; the status line shows each of them. It also shows the backlog once it
    // has been read.
    let isShownAtOnce =
      switch input {
      case .vehicle(.network), .storeEnded(.read): true
      default: false
      }
    if isShownAtOnce || publication.isStatusDue(after: effects, at: now.boot) {
      publication.statusShown(at: now.boot)
      effects.append(.showStatus(vehicle.snapshot(at: now).publicStatusLine + settingsStatus(at: now).statusSuffix))
    }
    let isDue =
      isClosed || !publication.requests.isEmpty || now.boot >= publication.ledger.nextReading
      || publication.areMetricsDue(at: now.boot, isOnline: isOnline)
    guard isDue, !publication.isMeasuring else { return }
    publication.isMeasuring = true
    effects.append(.measure)
  }

  /// Publishes what was due, with the values that the shell has read for it.
  mutating func measured(_ measurement: Measurement, at now: Moment, _ effects: inout [Effect]) {
    publication.isMeasuring = false
    publication.settings.deletedFile = measurement.deletedFile
    let isLast = isClosed
    let requests = publication.requests
    publication.requests = []
    if isLast || now.boot >= publication.ledger.nextReading || requests.contains(where: { $0.request == .status }) {
      recordTraffic(measurement, isLast: isLast, at: now, &effects)
    }
    if let path = publication.metricsFile,
      publication.areMetricsDue(at: now.boot, isOnline: isOnline, isLast: isLast)
    {
      publication.metricsWritten(at: now.boot, isOnline: isOnline)
      effects.append(.writeMetrics(metrics(measurement, at: now), path: path))
    }
    for (id, request) in requests {
      switch request {
      case .reload, .confirmedReload, .driverCommand, .sendNow, .monitor, .monitorPositions: break
      case .status: effects.append(.respond(id: id, .status(report(measurement, at: now))))
      case .metrics: effects.append(.respond(id: id, .metrics(metrics(measurement, at: now))))
      }
    }
    guard isLast, var ending else { return }
    ending.isStored = ending.isStored && store.hasStoredAll
    self.ending = nil
    publication.hasBegun = false
    effects.append(.finished(ending))
  }

  /// Adds the data volume to the day and the month.
  private mutating func recordTraffic(
    _ measurement: Measurement, isLast: Bool, at now: Moment, _ effects: inout [Effect]
  ) {
    let counts = TrafficLedger.Counts(
      fleetEngine: measurement.fleetEngine.tcp, tokenProvider: measurement.tokenProvider.tcp,
      updates: UInt64(clamping: vehicle.statistics.accepted))
    let time = vehicle.clock.bestTime(at: now)
    let isConfirmed = vehicle.clock.assessment.isConfirmed
    let results = publication.ledger.record(counts, at: now.boot, time: time, isConfirmed: isConfirmed, isLast: isLast)
    for effect in results {
      switch effect {
      case .ended(let day): effects.append(.event(.trafficOfDay(day)))
      case .store(let text): effects.append(.storeTraffic(text))
      }
    }
  }

  private func settingsStatus(at now: Moment) -> SettingsStatus {
    var status = publication.settings
    if let confirmation = settings.confirmation, !confirmation.isOver {
      status.confirmation = SettingsStatus.Confirmation(
        left: confirmation.left(at: now.boot), limit: confirmation.limit,
        holdReason: confirmation.holdReason?.explanation, obstacle: confirmation.obstacle)
    }
    return status
  }

  private var lineReadings: [LineReading] {
    lines.map { LineReading(source: $0.source, statistics: $0.statistics) }
  }

  private func metrics(_ measurement: Measurement, at now: Moment) -> String {
    MetricsText.exposition(
      of: MetricReading(
        vehicle.snapshot(at: now), traffic: [measurement.fleetEngine, measurement.tokenProvider],
        trafficOfMonth: publication.ledger.today?.month.traffic.total, lines: lineReadings,
        storeBytes: measurement.storeBytes, version: publication.version, settings: settingsStatus(at: now),
        isLast: vehicle.lifecycle.isFinished))
  }

  private func report(_ measurement: Measurement, at now: Moment) -> StatusReport {
    var report = StatusReport(vehicle.snapshot(at: now), storeBytes: measurement.storeBytes)
    let settings = settingsStatus(at: now)
    report.summary += settings.statusSuffix
    report.pauseTrouble = choices.pauseTrouble
    report.dutyTrouble = choices.dutyTrouble
    report.settings = settings.report(at: now.boot)
    report.version = publication.version
    report.uptime = (now.boot - publication.startedAt).wholeSeconds
    report.heartbeat = publication.heartbeat.wholeSeconds
    report.transport = measurement.transport
    report.lines = lineReadings.map { StatusReport.Line($0, at: now.boot) }
    report.traffic = publication.ledger.today.map { StatusReport.Traffic($0) }
    report.events = measurement.events
    report.monitors = measurement.monitors
    report.positionMonitors = measurement.positionMonitors
    return report
  }
}
