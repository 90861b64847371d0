// SPDX-License-Identifier: Apache-2.0

/// How serious an event is, as in syslog(3): the lower the number, the more serious.
///
/// Shared by the core's events, the journal and the setting `log.level`; it is here because every module imports this
/// one.
package enum Priority: Int, Comparable, Sendable, CaseIterable {
  case error = 3
  case warning = 4
  case notice = 5
  case info = 6
  case debug = 7

  package static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }

  /// The name in the settings and the documentation, such as `warning`.
  package var name: String {
    switch self {
    case .error: "error"
    case .warning: "warning"
    case .notice: "notice"
    case .info: "info"
    case .debug: "debug"
    }
  }
}
