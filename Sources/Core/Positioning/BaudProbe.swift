// SPDX-License-Identifier: Apache-2.0
package import Timekeeping

/// Finds the speed of a serial receiver by trying: the one at which sentences have the right checksum.
///
/// It may be asked to find it again, when the port has been opened anew: it begins with the speed that was right last.
package struct BaudProbe: Equatable, Sendable {
  /// Bits per second, the usual ones first: the NMEA 0183 default of most modules, that of old ones and of the standard,
  /// NMEA 0183-HS, and what modules with many satellites are set to.
  package static let rates = [9600, 4800, 38_400, 115_200, 57_600, 19_200, 230_400, 460_800, 921_600]
  /// Sentences with the right checksum that make a speed the right one. One may be chance: the checksum has eight bits.
  package static let proof = 2
  /// How long each speed is tried. A receiver at 1 Hz sends two bursts of sentences in it, wherever it begins.
  package static let dwell = Duration.milliseconds(2500)
  private var order = BaudProbe.rates
  private var index = 0
  private var sentences = 0
  private var since: BootInstant?
  /// Whether the speed is known to be right, on this opening of the port.
  package private(set) var isFound = false

  private let dwell: Duration

  /// - Parameter dwell: how long each speed is tried.
  package init(dwell: Duration = BaudProbe.dwell) {
    self.dwell = dwell
  }

  /// How long it takes to try all speeds.
  package var round: Duration { dwell * BaudProbe.rates.count }

  /// The speed to read at.
  package var baud: Int { order.indices.contains(index) ? order[index] : BaudProbe.rates[0] }

  /// When the next speed is due; nil when the right one is found, or the port is not open.
  package var nextDeadline: BootInstant? { isFound ? nil : since.map { $0 + dwell } }

  /// The port was opened at `baud`.
  package mutating func opened(at now: BootInstant) {
    since = now
    sentences = 0
    isFound = false
  }

  /// The port is closed; the next opening begins with the speed that was found, if one was.
  package mutating func closed() {
    since = nil
    if isFound {
      let found = baud
      order = [found] + BaudProbe.rates.filter { $0 != found }
    }
    index = 0
    isFound = false
  }

  /// Sentences with the right checksum came.
  ///
  /// - Returns: how many there were in all, when that makes the speed the right one, or it was so already; else 0.
  package mutating func received(sentences count: Int) -> Int {
    if isFound { return count }
    sentences += max(count, 0)
    guard sentences >= BaudProbe.proof else { return 0 }
    isFound = true
    return sentences
  }

  /// Time has passed.
  ///
  /// - Returns: the speed to set the line to, when the next is due.
  package mutating func advance(at now: BootInstant) -> Int? {
    guard let nextDeadline, now >= nextDeadline else { return nil }
    since = now
    // A first sentence is a promise: its speed has earned the same time again.
    guard sentences == 0 else {
      sentences = 0
      return nil
    }
    index = (index + 1) % order.count
    return baud
  }

  /// The device does not do the speed; it is not tried again.
  ///
  /// - Returns: the speed to set the line to instead; nil when there is none.
  package mutating func refused() -> Int? {
    guard order.count > 1, order.indices.contains(index) else { return nil }
    order.remove(at: index)
    index %= order.count
    return baud
  }
}
