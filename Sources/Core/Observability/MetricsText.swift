// SPDX-License-Identifier: Apache-2.0

/// The metrics as text for Prometheus.
package enum MetricsText {
  /// Prometheus' text format, version 0.0.4.
  package static func exposition(of reading: MetricReading) -> String {
    var text = ""
    for metric in MetricTable.all {
      let samples = metric.samples(reading)
      guard !samples.isEmpty else { continue }
      text += "# HELP \(metric.name) \(escaped(metric.help, quotes: false))\n"
      text += "# TYPE \(metric.name) \(metric.kind.rawValue)\n"
      for sample in samples {
        text += metric.name
        if let name = metric.label, let value = sample.label {
          text += "{\(name)=\"\(escaped(value, quotes: true))\"}"
        }
        text += " \(number(sample.value))\n"
      }
    }
    return text
  }

  private static func number(_ value: Double) -> String {
    Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  /// A backslash, a line end and, in a label, a quote are written with a backslash.
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
