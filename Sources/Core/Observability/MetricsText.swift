// SPDX-License-Identifier: Apache-2.0

import Vehicle

/// The metrics as text for Prometheus.
package enum MetricsText {
  /// Prometheus' text format, version 0.0.4.
  package static func exposition(of reading: MetricReading) -> String {
    exposition(provider: reading.snapshot.provider, vehicle: reading.snapshot.vehicle) { $0.samples(reading) }
  }

  /// The metrics of a daemon that waits for a file or credential that its settings name.
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
    let commonLabels = [("provider", provider), ("vehicle", vehicle)]
      .compactMap { name, value in value.map { pair(name, $0) } }.joined(separator: ",")
    var text = ""
    text.reserveCapacity(16_384)
    for metric in MetricTable.all {
      let samples = samples(metric)
      guard !samples.isEmpty else { continue }
      for part in ["# HELP ", metric.name, " ", escaped(metric.help, includingQuotes: false), "\n"] { text += part }
      for part in ["# TYPE ", metric.name, " ", metric.kind.rawValue, "\n"] { text += part }
      for sample in samples {
        text += metric.name
        let sampleLabel = metric.label.flatMap { name in sample.label.map { pair(name, $0) } }
        let separator = commonLabels.isEmpty || sampleLabel == nil ? "" : ","
        if !commonLabels.isEmpty || sampleLabel != nil {
          for part in ["{", commonLabels, separator, sampleLabel ?? "", "}"] { text += part }
        }
        for part in [" ", number(sample.value), "\n"] { text += part }
      }
    }
    return text
  }

  private static func pair(_ name: String, _ value: String) -> String {
    "\(name)=\"\(escaped(value, includingQuotes: true))\""
  }

  private static func number(_ value: Double) -> String {
    Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  /// Escapes backslashes, line ends and, in labels, quotation marks.
  private static func escaped(_ text: String, includingQuotes: Bool) -> String {
    // Almost no text has a line end, a quotation mark or a backslash.
    guard text.utf8.contains(where: { $0 == 10 || $0 == 34 || $0 == 92 }) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\n": escaped += "\\n"
      case "\"" where includingQuotes: escaped += "\\\""
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
