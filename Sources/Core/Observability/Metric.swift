// SPDX-License-Identifier: Apache-2.0

/// One number, or one for each value of its label, for a monitoring system to collect.
package struct Metric: Sendable {
  /// As in Prometheus' `# TYPE`.
  package enum Kind: String, Sendable {
    /// Grows from 0 at the start of the daemon. Its name ends in `_total`.
    case counter
    /// Can increase and decrease.
    case gauge
  }

  /// A value, with the value of the label if the metric has one.
  package struct Sample: Equatable, Sendable {
    /// Any text; nil if the metric has no label.
    package var label: String?
    /// In the unit of the metric's name.
    package var value: Double

    /// - Parameter label: only for a metric that has one.
    package init(_ value: Double, label: String? = nil) {
      self.label = label
      self.value = value
    }
  }

  /// In base units: seconds, bytes, meters. Begins with ``prefix``.
  package let name: String
  /// Whether it is a counter or a gauge.
  package let kind: Kind
  /// One sentence.
  package let help: String
  /// The name of its label; nil: it has a single value.
  package let label: String?
  /// Empty if there is no value.
  package let samples: @Sendable (MetricReading) -> [Sample]

  /// What the name of each metric begins with.
  package static let prefix = "fleet_locationd_"

  /// A metric with a single value; it is omitted while the value is nil.
  static func single(
    _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (MetricReading) -> Double?
  ) -> Metric {
    Metric(name: prefix + name, kind: kind, help: help, label: nil) { reading in
      value(reading).map { [Sample($0)] } ?? []
    }
  }

  /// A metric with one value for each value of its label.
  static func labelled(
    _ name: String, _ kind: Kind, by label: String, _ help: String,
    _ values: @escaping @Sendable (MetricReading) -> [(label: String, value: Double)]
  ) -> Metric {
    Metric(name: prefix + name, kind: kind, help: help, label: label) { reading in
      values(reading).map { Sample($0.value, label: $0.label) }
    }
  }
}
