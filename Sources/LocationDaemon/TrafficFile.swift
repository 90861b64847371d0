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
  private static let name = "traffic"

  private let path: String?
  /// The last error, kept so that it is reported only once.
  private var lastError: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; the service's own directory in it is used; nil stores nothing.
  init(stateDirectory: String?) {
    path = Environment.serviceDirectory(in: stateDirectory).map { "\($0)/\(TrafficFile.name)" }
  }

  /// In the service's state directory.
  static var ofService: TrafficFile {
    TrafficFile(stateDirectory: Environment.value(of: "STATE_DIRECTORY"))
  }

  /// - Returns: what a previous run has stored. An unreadable file counts as missing: the ledger begins with zero, and
  ///   replaces it.
  func read() -> String? {
    path.flatMap { try? AtomicFile.read($0, limit: TrafficLedger.maxTextSize) }
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// Replaces the file. The change is on disk when this returns.
  ///
  /// - Returns: a new error; nil if it succeeded, or failed with the same error as last time.
  mutating func store(_ text: String) -> String? {
    guard let path else { return nil }
    var newError: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600, isDurable: true)
    } catch {
      newError = "the traffic counts will not survive a restart: \(path) cannot be written: \(error)"
    }
    defer { lastError = newError }
    return newError == lastError ? nil : newError
  }
}
