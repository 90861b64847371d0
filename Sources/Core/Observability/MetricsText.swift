// SPDX-License-Identifier: Apache-2.0

import Delivery

/// The metrics as text for Prometheus.
package enum MetricsText {
  /// Prometheus' text format, version 0.0.4.
  package static func exposition(of reading: MetricReading) -> String {
    // Labels distinguish the daemons for a collector that reads several files.
    let identity = [("provider", reading.snapshot.provider), ("vehicle", reading.snapshot.vehicle)]
      .compactMap { name, value in value.map { (name, $0) } }
    var text = ""
    for metric in MetricTable.all {
      let samples = metric.samples(reading)
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
