// SPDX-License-Identifier: Apache-2.0
import Connectivity
import HTTPClient
import SystemCalls

/// The traffic counters of the connections to both servers; they last as long as the daemon.
struct ConnectionMeters {
  let updates = ConnectionMeter()
  let tokens = ConnectionMeter()
}

/// The data volume on disk, for the next run.
struct TrafficFile {
  private let file = StateFile("traffic")
  private var error = LastingError()

  /// - Returns: what a previous run has stored. An unreadable file counts as missing: the ledger begins with zero, and
  ///   replaces it.
  func read() -> String? { try? file.read() }

  /// Replaces the file. The change is on disk when this returns.
  ///
  /// - Returns: a new error; nil if it succeeded, or failed with the same error as last time.
  mutating func store(_ text: String) -> String? {
    do throws(Errno) {
      try file.store(text)
      return error.report(nil)
    } catch {
      return self.error.report(
        "the traffic counts will not survive a restart: \(file.path ?? "") cannot be written: \(error)")
    }
  }
}
