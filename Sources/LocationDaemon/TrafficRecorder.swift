// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Delivery
import HTTPClient
import SystemCalls
import Timekeeping

/// The traffic counters of the connections to both servers; they live as long as the daemon.
struct ConnectionMeters {
  let updates = ConnectionMeter()
  let tokens = ConnectionMeter()
}

/// Records data volumes: reads the connections' counters for `TrafficLedger`, and stores it in the state directory.
struct TrafficRecorder {
  private static let name = "traffic"

  private let path: String?
  private let meters: ConnectionMeters
  private(set) var ledger: TrafficLedger
  /// The last error, so that it is reported once.
  private var trouble: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`; its first directory is used; nil stores nothing.
  init(_ meters: ConnectionMeters, stateDirectory: String?, at now: BootInstant) {
    self.meters = meters
    path = stateDirectory?.split(separator: ":").first.map { "\($0)/\(TrafficRecorder.name)" }
    // An unreadable file counts as missing: the ledger begins with zero, and replaces it.
    let stored = path.flatMap { try? AtomicFile.read($0, limit: TrafficLedger.maxTextSize) }
    ledger = TrafficLedger(stored.map { String(decoding: $0, as: UTF8.self) }, at: now)
  }

  /// Whether a periodic reading is due.
  func isDue(at now: BootInstant) -> Bool { now >= ledger.nextReading }

  /// Reads the counters.
  ///
  /// - Parameters:
  ///   - updates: accepted since the start.
  ///   - time: the civil time; nil if it is not known.
  ///   - isLast: whether it is the last reading of this run.
  /// - Returns: events for the journal.
  mutating func read(updates: Int, at now: BootInstant, time: Timestamp?, isLast: Bool = false) -> [Event] {
    let counted = TrafficLedger.Counts(
      fleetEngine: meters.updates.traffic, tokenProvider: meters.tokens.traffic, updates: UInt64(clamping: updates))
    return ledger.record(counted, at: now, time: time, isLast: isLast).compactMap { effect in
      switch effect {
      case .ended(let day): .trafficOfDay(day)
      case .store(let text): store(text)
      }
    }
  }

  private mutating func store(_ text: String) -> Event? {
    guard let path else { return nil }
    var new: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600, isDurable: true)
    } catch {
      new = "the traffic counts will not survive a restart: \(path) cannot be written: \(error)"
    }
    defer { trouble = new }
    return new.flatMap { $0 == trouble ? nil : .settingsWarning($0) }
  }
}
