// SPDX-License-Identifier: Apache-2.0

/// One number, or one for each value of its label, that a monitoring system may collect.
package struct Metric: Sendable {
  package enum Kind: String, Sendable {
    /// Grows from 0 at the start of the daemon. Its name ends in `_total`.
    case counter
    /// Goes up and down.
    case gauge
  }

  /// A value, and of a metric with a label what the label says.
  package struct Sample: Equatable, Sendable {
    package var label: String?
    package var value: Double

    package init(_ value: Double, label: String? = nil) {
      self.label = label
      self.value = value
    }
  }

  /// In base units: seconds, bytes, meters. Begins with ``prefix``.
  package let name: String
  package let kind: Kind
  /// One sentence.
  package let help: String
  package let label: String?
  /// None, when there is nothing to tell.
  package let samples: @Sendable (MetricReading) -> [Sample]

  package static let prefix = "fleet_locationd_"

  /// One value; nil: nothing to tell.
  static func single(
    _ name: String, _ kind: Kind, _ help: String, _ value: @escaping @Sendable (MetricReading) -> Double?
  ) -> Metric {
    Metric(name: prefix + name, kind: kind, help: help, label: nil) { reading in
      value(reading).map { [Sample($0)] } ?? []
    }
  }

  /// A value for each that the label may say.
  static func labelled(
    _ name: String, _ kind: Kind, by label: String, _ help: String,
    _ values: @escaping @Sendable (MetricReading) -> [(label: String, value: Double)]
  ) -> Metric {
    Metric(name: prefix + name, kind: kind, help: help, label: label) { reading in
      values(reading).map { Sample($0.value, label: $0.label) }
    }
  }
}
