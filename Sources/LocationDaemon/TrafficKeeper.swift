// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Delivery
import HTTPClient
import SystemCalls
import Timekeeping

/// The counters of the connections to the two parties, for as long as the daemon runs, whatever its settings.
struct ConnectionMeters {
  let updates = ConnectionMeter()
  let tokens = ConnectionMeter()
}

/// Performs what `TrafficLedger` decides: reads the connections' counters, and keeps its account in the state directory.
struct TrafficKeeper {
  private static let name = "traffic"

  private let path: String?
  private let meters: ConnectionMeters
  private(set) var ledger: TrafficLedger
  /// What the system said the last time, so that it is reported once.
  private var trouble: String?

  /// - Parameter stateDirectory: `$STATE_DIRECTORY`, whose first directory counts; nil keeps nothing.
  init(_ meters: ConnectionMeters, stateDirectory: String?, at now: BootInstant) {
    self.meters = meters
    path = stateDirectory?.split(separator: ":").first.map { "\($0)/\(TrafficKeeper.name)" }
    // A file that cannot be read is as good as none: the account begins anew, and is written over it.
    let kept = path.flatMap { try? AtomicFile.read($0, limit: TrafficLedger.longestText) }
    ledger = TrafficLedger(kept.map { String(decoding: $0, as: UTF8.self) }, at: now)
  }

  /// Whether a reading is due that no client asked for. The machine is awake anyway.
  func isDue(at now: BootInstant) -> Bool { now >= ledger.nextReading }

  /// Reads what was carried up to now.
  ///
  /// - Parameters:
  ///   - updates: accepted since the start.
  ///   - time: the civil time; nil when it is not known.
  ///   - isLast: of this run.
  /// - Returns: what the journal is to say.
  mutating func read(updates: Int, at now: BootInstant, time: Timestamp?, isLast: Bool = false) -> [Event] {
    let counted = TrafficLedger.Counts(
      fleetEngine: meters.updates.traffic, tokenProvider: meters.tokens.traffic, updates: UInt64(clamping: updates))
    return ledger.record(counted, at: now, time: time, isLast: isLast).compactMap { effect in
      switch effect {
      case .ended(let day): .trafficOfDay(day)
      case .keep(let text): keep(text)
      }
    }
  }

  private mutating func keep(_ text: String) -> Event? {
    guard let path else { return nil }
    var new: String?
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o600, isDurable: true)
    } catch {
      new = "the account of the traffic will not survive a restart: \(path) cannot be written: \(error)"
    }
    defer { trouble = new }
    return new.flatMap { $0 == trouble ? nil : .settingsWarning($0) }
  }
}
