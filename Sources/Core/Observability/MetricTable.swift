// SPDX-License-Identifier: Apache-2.0
import Vehicle
import FixSources
import Connectivity
import PositionBacklog
import FleetEngine
import NMEA
import Positioning
import Timekeeping

/// All metrics. The Prometheus output, `docs/metrics.md` and the tests are generated from this table.
package enum MetricTable {
  /// In the order in which they are written.
  package static let all: [Metric] = service + updates + fixes + lines + tokens + backlog + traffic

  private static let service: [Metric] = [
    .labelled("build_info", .gauge, by: "version", "Always 1; the label is the release.") {
      [($0.version, 1)]
    },
    .labelled(
      "config_info", .gauge, by: "hash", "Always 1; the label is a hash of the settings, equal for equal settings."
    ) {
      $0.settings.map { [($0.hash, 1)] } ?? []
    },
    .labelled(
      "service_info", .gauge, by: "service",
      "Always 1; the label names the service of Fleet Engine that the vehicle belongs to: deliveries or trips."
    ) { [($0.snapshot.service, 1)] },
    .single(
      "config_last_reload_success", .gauge,
      "Whether the settings read last, at the start or at a reload, are in force (1), or have a mistake or wait for a file "
        + "or credential (0)."
    ) { $0.settings.map { $0.isLastReloadGood ? 1 : 0 } },
    .single(
      "config_kept", .gauge,
      "Whether the settings files have a mistake, or were reverted, and the last settings that worked are used instead."
    ) { $0.settings.map { $0.isKept ? 1 : 0 } },
    .single(
      "online", .gauge,
      "Whether Fleet Engine accepted the last update, and there is a network. 0 from the start of a pause to the next accepted update."
    ) { $0.isOnline ? 1 : 0 },
    .single("paused", .gauge, "Whether fleet-locationctl pause is in force, so that no position is sent.") {
      $0.snapshot.pause != nil ? 1 : 0
    },
    .single(
      "off_duty", .gauge,
      "Whether the driver of a vehicle of on-demand trips is off duty (fleet-locationctl offline). Absent where the daemon does not set the state."
    ) { $0.snapshot.duty.map { $0 == .offline ? 1 : 0 } },
    .single(
      "vehicle_online", .gauge,
      "Whether a vehicle of on-demand trips is ONLINE, as Fleet Engine last accepted it. Absent while this is unknown, and where the daemon does not set the state."
    ) { $0.snapshot.vehicleState.map { $0 == .online ? 1 : 0 } },
    .single(
      "clock_offset_seconds", .gauge,
      "How far the machine's clock is ahead; negative when it is behind, 0 when it is within half a minute. Absent while the correct time is unknown."
    ) { $0.clockOffset.map(seconds) },
  ]

  private static let updates: [Metric] = [
    .single("updates_attempted_total", .counter, "Requests to Fleet Engine.") { Double($0.statistics.attempts) },
    .single("updates_accepted_total", .counter, "Requests that Fleet Engine accepted.") {
      Double($0.statistics.accepted)
    },
    .single(
      "updates_abandoned_total", .counter,
      "Requests cancelled because the network changed, the machine resumed from suspend, a pause began, another process has locked the vehicle, or it was set to OFFLINE at the end."
    ) { Double($0.statistics.abandoned) },
    .labelled("updates_failed_total", .counter, by: "category", "Requests that were not accepted.") { reading in
      UpdateFailure.Category.allCases.map {
        ($0.rawValue, Double(reading.statistics.failed[$0, default: 0]))
      }
    },
    .single(
      "last_update_timestamp_seconds", .gauge,
      "When Fleet Engine last accepted an update. Absent before the first, and while the correct time is unknown."
    ) { $0.lastUpdateTime.map(seconds) },
  ]

  private static let fixes: [Metric] = [
    .single(
      "fixes_total", .counter,
      "Fixes of the source in use. While none is in use, the rejected fixes of the first available one are counted."
    ) { Double($0.statistics.fixes) },
    .labelled("fixes_rejected_total", .counter, by: "reason", "Those of them that the filter rejected.") { reading in
      FixRejection.allCases.map { ($0.rawValue, Double(reading.statistics.rejected[$0, default: 0])) }
    },
    .single(
      "fixes_held_total", .counter,
      "Accepted fixes that were not reported, because the clock of their source is behind that of the previous source, or differs from it by more than filter.max_age."
    ) { Double($0.statistics.held) },
    .single(
      "last_fix_timestamp_seconds", .gauge,
      "When the last accepted fix was received. Absent before the first, and while the correct time is unknown."
    ) { $0.lastFixTime.map(seconds) },
    .single("fix_age_seconds", .gauge, "Age of the last accepted fix when this was written.") {
      $0.fixAge.map(seconds)
    },
    .single("fix_horizontal_accuracy_meters", .gauge, "Accuracy of the last accepted fix, one sigma.") {
      $0.snapshot.fix?.horizontalAccuracy
    },
  ]

  private static let lines: [Metric] = [
    line("sentences", "NMEA sentences with the right checksum, from a serial receiver or over the network.") {
      $0.sentences
    },
    line("wrong_checksums", "NMEA sentences with a wrong checksum.") { $0.wrongChecksum },
    line("cut", "Lines that end or break off before their checksum.") { $0.unchecked },
    line("overlong", "Lines longer than any sentence.") { $0.overlong },
    line("late", "Sentences that came after the end of their epoch.") { $0.late },
    line("foreign", "Lines of other protocols (AIS, TAIP, tag blocks), and unknown proprietary sentences.") {
      $0.foreign
    },
    .labelled(
      "line_refused_total", .counter, by: "source",
      "Connections and datagrams that are dropped unread: their senders are not in source.allow, too many are connected, or another port of the sender is in use."
    ) { reading in
      reading.lines.filter { $0.statistics.kind == .network }.map { ($0.source, Double($0.statistics.refusals)) }
    },
  ]

  /// A metric of the lines, labelled with the device or address of the source.
  private static func line(
    _ name: String, _ help: String, _ count: @escaping @Sendable (NMEADecoder.Counters) -> UInt64
  ) -> Metric {
    .labelled("line_\(name)_total", .counter, by: "source", help) { reading in
      reading.lines.map { ($0.source, Double(count($0.statistics.counters))) }
    }
  }

  private static let tokens: [Metric] = [
    .single("token_fetches_total", .counter, "Requests to the token provider.") {
      Double($0.statistics.tokenFetches)
    },
    .single("tokens_obtained_total", .counter, "New tokens.") { Double($0.statistics.tokens) },
    .labelled("token_failures_total", .counter, by: "reason", "Requests that returned no token.") { reading in
      reading.statistics.tokenFailures.sorted { $0.key < $1.key }.map { ($0.key, Double($0.value)) }
    },
    .single("token_failing", .gauge, "Whether the last request to the token provider returned no token.") {
      $0.snapshot.tokenFailure != nil ? 1 : 0
    },
    .single("token_remaining_seconds", .gauge, "Time until the token expires; 0 without a token.") {
      $0.tokenLifetime.map(seconds) ?? 0
    },
  ]

  private static let backlog: [Metric] = [
    .single("backlog_positions", .gauge, "Positions that are queued.") { Double($0.snapshot.pendingCount) },
    .single("backlog_store_bytes", .gauge, "Size of the backlog's files. Absent without any.") {
      $0.storeBytes.map(Double.init)
    },
    .single(
      "backlog_oldest_age_seconds", .gauge,
      "Age of the oldest queued position, relative to the newest fix; 0 when none is queued."
    ) { $0.snapshot.oldestAge.map(seconds) ?? 0 },
    .single(
      "backlog_thinned_within_meters", .gauge,
      "Greatest distance of a position that was thinned out from the track of the remaining ones; 0 without thinning."
    ) { $0.snapshot.thinnedWithin },
    .labelled("backlog_removed_total", .counter, by: "reason", "Positions that were removed from the backlog.") {
      reading in
      Backlog.Removal.allCases.map { ($0.rawValue, Double(reading.statistics.removed[$0, default: 0])) }
    },
    .single("positions_backfilled_total", .counter, "Positions delivered as past locations.") {
      Double($0.statistics.backfilled)
    },
  ]

  private static let traffic: [Metric] = [
    .labelled(
      "sent_bytes_total", .counter, by: "peer", "Bytes of requests, without TLS and TCP."
    ) { $0.traffic.map { ($0.peer, Double($0.bytesSent)) } },
    .labelled(
      "received_bytes_total", .counter, by: "peer", "Bytes of responses, without TLS and TCP."
    ) { $0.traffic.map { ($0.peer, Double($0.bytesReceived)) } },
    .labelled("connections_opened_total", .counter, by: "peer", "Connections opened.") {
      $0.traffic.map { ($0.peer, Double($0.connections)) }
    },
    tcpCounter("sent_bytes", "Bytes that TCP sent: requests in TLS, handshakes, and retransmissions.", \.sent),
    tcpCounter("received_bytes", "Bytes that TCP received: responses in TLS, and handshakes.", \.received),
    tcpCounter("retransmitted_bytes", "Bytes that TCP sent again because they were lost.", \.retransmitted),
    tcpCounter(
      "sent_header_bytes",
      "Bytes of IP and TCP headers sent, from the kernel's number of segments; together with `tcp_sent_bytes_total` this is the data volume.",
      \.sentHeaders),
    tcpCounter("received_header_bytes", "Bytes of IP and TCP headers received, likewise.", \.receivedHeaders),
    .single(
      "traffic_month_bytes", .gauge,
      "Data volume of this month (UTC) in bytes, to and from Fleet Engine and the token provider, as in `status`, across restarts. Updated every 15 minutes. Absent while the date is unknown."
    ) { $0.trafficOfMonth.map { Double($0) } },
  ]

  /// A metric of the kernel's counters (TCP_INFO).
  private static func tcpCounter(
    _ name: String, _ help: String, _ field: any KeyPath<TCPTraffic, UInt64> & Sendable
  ) -> Metric {
    .labelled("tcp_\(name)_total", .counter, by: "peer", help) { reading in
      reading.traffic.map { ($0.peer, Double($0.tcp[keyPath: field])) }
    }
  }

  private static func seconds(_ duration: Duration) -> Double { Double(duration.nanoseconds / 1_000_000) / 1000 }

  private static func seconds(_ time: Timestamp) -> Double { Double(time.milliseconds) / 1000 }
}
