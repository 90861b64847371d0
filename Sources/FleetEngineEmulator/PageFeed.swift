// SPDX-License-Identifier: Apache-2.0

/// Messages for the pages of the live map, with a limited number of bytes per second for each page.
///
/// Within the rate, each message is due at once. Above it, messages are queued: those of one vehicle are merged into
/// its newest state, and the vehicle that has been pending longest is next.
package struct PageFeed: Sendable {
  /// Default rate in bytes per second.
  package static let defaultRate = 100_000
  /// Milliseconds whose bytes may be sent at once. An event is written only when the server's loop comes to its stream:
  /// a large credit at the end of a slow round would arrive together with the one before it.
  private static let longestCredit: Int64 = 200
  /// Pending past positions of a vehicle; older ones are dropped.
  private static let maximumPast = 300
  /// Pending lines of the log; older ones are dropped.
  private static let maximumLines = 50
  /// Maximum lines of accepted updates in a second: those of a large fleet would be more than a person can read.
  private static let maximumAcceptedLines = 20

  /// Bytes per second.
  private let rate: Int64
  /// Bytes that may be sent now, at most those of `longestCredit`; negative after a message that was larger.
  private var allowance: Int64
  /// Steady milliseconds up to which `allowance` is credited.
  private var creditedUntil: Int64?
  private var faults: LiveMapState.Message?
  private var lines: [LiveMapState.Message] = []
  /// At most one of each name for a vehicle, the newest last.
  private var pending: [String: [LiveMapState.Message]] = [:]
  /// The pending vehicles from `head` on.
  private var order: [String] = []
  private var head = 0
  /// The figures that all pages have, by vehicle.
  private var sentFigures: [String: JSON] = [:]
  private var currentSecond: Int64 = 0
  private var linesInSecond = 0

  /// - Parameter rate: average bytes per second to a page; those of a fifth of a second may be sent at once.
  package init(rate: Int = PageFeed.defaultRate) {
    self.rate = Int64(rate)
    allowance = Int64(rate) * Self.longestCredit / 1000
  }

  /// Enqueues a message.
  package mutating func add(_ message: LiveMapState.Message, at now: ServerTime) {
    if let vehicle = message.data["vehicle"]?.string, message.name != "log" {
      merge(message, vehicle)
    } else if message.name == "faults" {
      faults = message
    } else if admit(message, at: now) {
      lines.append(message)
      if lines.count > Self.maximumLines { lines.removeFirst() }
    }
  }

  /// Must be called when a new page is opened. It has the newest figures, which the other pages may not have, so all
  /// figures are sent again.
  package mutating func pageOpened() {
    sentFigures = [:]
  }

  /// Drops all pending messages, because there is no page.
  package mutating func dropPending() {
    (faults, lines, pending, order, head, sentFigures) = (nil, [], [:], [], 0, [:])
  }

  /// The next message; nil if the rate is exhausted or nothing is pending. `spend` must be called for it.
  package mutating func next(at now: ServerTime) -> LiveMapState.Message? {
    let elapsed = max(0, now.steady - (creditedUntil ?? now.steady))
    creditedUntil = now.steady
    allowance = min(rate * Self.longestCredit / 1000, allowance + rate * min(elapsed, 10_000) / 1000)
    guard allowance > 0 else { return nil }
    if let message = faults {
      faults = nil
      return message
    }
    if !lines.isEmpty { return lines.removeFirst() }
    guard head < order.count, var messages = pending.removeValue(forKey: order[head]) else { return nil }
    let vehicle = order[head]
    var message = messages.removeFirst()
    if messages.isEmpty {
      head += 1
      if head == order.count || head > 1000 {
        order.removeFirst(head)
        head = 0
      }
    } else {
      pending[vehicle] = messages
    }
    if let stats = message.data["stats"] {
      let before = sentFigures.updateValue(stats, forKey: vehicle)?.members ?? []
      message.data["stats"] = .object(stats.members.filter { !before.contains($0) })
    }
    return message
  }

  /// Accounts for a message.
  ///
  /// - Parameter bytes: size of the event as it is sent.
  package mutating func spend(_ bytes: Int) {
    allowance -= Int64(bytes)
  }

  /// Steady milliseconds when the rate allows the next message; nil when nothing is pending.
  package var deadline: Int64? {
    guard faults != nil || !lines.isEmpty || head < order.count else { return nil }
    // Wake-ups send the bytes of at least a tenth of a second, instead of one for each message.
    let wanted = rate / 10
    return (creditedUntil ?? 0) + max(1, (wanted - allowance) * 1000 / max(1, rate))
  }

  private mutating func merge(_ message: LiveMapState.Message, _ vehicle: String) {
    var message = message
    var messages = pending.removeValue(forKey: vehicle) ?? []
    if messages.isEmpty { order.append(vehicle) }
    if let index = messages.firstIndex(where: { $0.name == message.name }) {
      let older = messages.remove(at: index).data
      if message.name == "update" {
        if message.data["position"] == nil { message.data["position"] = older["position"] ?? .null }
        let past = (older["past"]?.array ?? []) + (message.data["past"]?.array ?? [])
        message.data["past"] = .array(past.suffix(Self.maximumPast))
      }
    }
    messages.append(message)
    pending[vehicle] = messages
  }

  private mutating func admit(_ line: LiveMapState.Message, at now: ServerTime) -> Bool {
    guard line.data["kind"]?.string == "accepted" else { return true }
    if currentSecond != now.wallSeconds { (currentSecond, linesInSecond) = (now.wallSeconds, 0) }
    linesInSecond += 1
    return linesInSecond <= Self.maximumAcceptedLines
  }
}
