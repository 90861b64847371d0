// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import NMEA
import NMEATesting

struct NMEACadenceTests {
  private static let (rmc, gga, gsa): (UInt64, UInt64, UInt64) = (1, 2, 3)

  /// Receives the sentences of an epoch, and ends it at a time in milliseconds of the day.
  ///
  /// - Returns: the sentences after which the epoch was complete.
  private func epoch(
    _ cadence: inout NMEACadence, _ sentences: [UInt64] = [rmc, gga], at time: Int64?
  ) -> [UInt64] {
    var complete = [UInt64]()
    for sentence in sentences {
      cadence.note(sentence)
      if cadence.isComplete { complete.append(sentence) }
    }
    cadence.close(at: time)
    return complete
  }

  /// The index of the first of many equal epochs that is recognized as complete.
  private func firstComplete(_ cadence: inout NMEACadence, every period: Int64, from start: Int64 = 0) -> Int? {
    for number in 0..<1000 where epoch(&cadence, at: start + Int64(number) * period) == [Self.gga] { return number }
    return nil
  }

  @Test("a sequence of sentences is trusted after at least three equal epochs that span at least two seconds")
  func learns() {
    var cadence = NMEACadence()
    expectEqual(firstComplete(&cadence, every: 1000), 3)
    // At 10 Hz the two seconds take 21 epochs; at low rates three are enough.
    cadence = NMEACadence()
    expectEqual(firstComplete(&cadence, every: 100), 21)
    cadence = NMEACadence()
    expectEqual(firstComplete(&cadence, every: 10_000), 3)
  }

  @Test("an epoch is complete after its last sentence, and incomplete again if another sentence follows")
  func last() {
    var cadence = NMEACadence()
    _ = firstComplete(&cadence, every: 1000)
    expectEqual(epoch(&cadence, [Self.rmc, Self.gga, Self.gsa], at: 4000), [Self.gga])
    // After this the sequence is learned again.
    expectEqual(epoch(&cadence, at: 5000), [])
    expectEqual(firstComplete(&cadence, every: 1000, from: 6000), 2)
  }

  @Test("the same sentences in a different order do not match the learned sequence")
  func order() {
    var cadence = NMEACadence()
    _ = firstComplete(&cadence, every: 1000)
    expectEqual(epoch(&cadence, [Self.gga, Self.rmc], at: 4000), [])
  }

  @Test("a receiver that sends additional sentences once a second is never trusted")
  func alternates() {
    var cadence = NMEACadence()
    for number in 0..<100 {
      let sentences = number % 5 == 0 ? [Self.rmc, Self.gga, Self.gsa] : [Self.rmc, Self.gga]
      expectEqual(epoch(&cadence, sentences, at: Int64(number) * 200), [])
    }
  }

  @Test(
    "an epoch without a time, and midnight, restart the learning of the sequence", arguments: [nil, 500] as [Int64?])
  func beginsAnew(time: Int64?) {
    var cadence = NMEACadence()
    _ = firstComplete(&cadence, every: 1000, from: 86_000_000)
    // The sequence was trusted until this epoch ended.
    expectEqual(epoch(&cadence, at: time), [Self.gga])
    expectEqual(epoch(&cadence, at: 1500), [])
    expectEqual(epoch(&cadence, at: 2500), [])
  }

  @Test("each late sentence doubles the time for which the sequence must be confirmed")
  func contradicted() {
    var cadence = NMEACadence()
    expectEqual(firstComplete(&cadence, every: 1000), 3)
    cadence.contradict()
    expectEqual(firstComplete(&cadence, every: 1000, from: 10_000), 6)
    cadence.contradict()
    expectEqual(firstComplete(&cadence, every: 1000, from: 20_000), 12)
    cadence.contradict()
    // The two seconds of 10 Hz sentences have been doubled three times: 16 s.
    expectEqual(firstComplete(&cadence, every: 100, from: 40_000), 161)
  }

  @Test(
    "on a disturbed line, epochs that lack a sentence are not learned as a sequence, however often they are repeated")
  func damaged() {
    var cadence = NMEACadence()
    for number in 0..<10 {
      cadence.noteDamage()
      expectEqual(epoch(&cadence, [Self.rmc], at: Int64(number) * 1000), [])
    }
    expectEqual(firstComplete(&cadence, every: 1000, from: 10_000), 3)
    // From now on the sequence is known, even in an epoch with another damaged line.
    for number in 20..<30 {
      cadence.noteDamage()
      expectEqual(epoch(&cadence, [Self.rmc], at: Int64(number) * 1000), [])
    }
    cadence.noteDamage()
    expectEqual(epoch(&cadence, at: 30_000), [Self.gga])
    expectEqual(epoch(&cadence, at: 31_000), [Self.gga])
  }

  @Test("damaged epochs do not confirm the shorter sequence of an epoch that lost a sentence unnoticed")
  func untracedDamage() {
    var cadence = NMEACadence()
    _ = firstComplete(&cadence, every: 1000)
    expectEqual(epoch(&cadence, [Self.rmc], at: 5000), [])
    for number in 6..<10 {
      cadence.noteDamage()
      expectEqual(epoch(&cadence, [Self.rmc], at: Int64(number) * 1000), [])
    }
    expectEqual(firstComplete(&cadence, every: 1000, from: 10_000), 3)
  }
}
