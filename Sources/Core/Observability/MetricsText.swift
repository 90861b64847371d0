// SPDX-License-Identifier: Apache-2.0

import Vehicle

/// The metrics as text for Prometheus.
package enum MetricsText {
  /// Prometheus' text format, version 0.0.4.
  package static func exposition(of reading: MetricReading) -> String {
    exposition(provider: reading.snapshot.provider, vehicle: reading.snapshot.vehicle) { $0.samples(reading) }
  }

  /// The metrics of a daemon that waits for what its settings name.
  ///
  /// - Parameters:
  ///   - provider: nil if it is not known.
  ///   - vehicle: nil if it is not known.
  ///   - version: the daemon's release.
  ///   - isPaused: whether a pause is stored.
  package static func withoutSettings(
    provider: String?, vehicle: String?, version: String, isPaused: Bool
  ) -> String {
    let samples = [
      "build_info": Metric.Sample(1, label: version), "config_last_reload_success": Metric.Sample(0),
      "online": Metric.Sample(0), "paused": Metric.Sample(isPaused ? 1 : 0),
    ]
    return exposition(provider: provider, vehicle: vehicle) { metric in
      samples[String(metric.name.dropFirst(Metric.prefix.count))].map { [$0] } ?? []
    }
  }

  private static func exposition(
    provider: String?, vehicle: String?, _ samples: (Metric) -> [Metric.Sample]
  ) -> String {
    // Labels distinguish the daemons for a collector that reads several files.
    let identity = [("provider", provider), ("vehicle", vehicle)]
      .compactMap { name, value in value.map { (name, $0) } }
    var text = ""
    for metric in MetricTable.all {
      let samples = samples(metric)
      guard !samples.isEmpty else { continue }
      text += "# HELP \(metric.name) \(escaped(metric.help, quotes: false))\n"
      text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      for sample in samples {
        var labels = identity
        if let name = metric.label, let value = sample.label { labels.append((name, value)) }
        let pairs = labels.map { "\($0)=\"\(escaped($1, quotes: true))\"" }.joined(separator: ",")
        text += metric.name + (pairs.isEmpty ? "" : "{\(pairs)}") + " \(number(sample.value))\n"
      }
    }
    return text
  }

  private static func number(_ value: Double) -> String {
    Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  /// Escapes backslashes, line ends and, in labels, quotation marks.
  private static func escaped(_ text: String, quotes: Bool) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where quotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
