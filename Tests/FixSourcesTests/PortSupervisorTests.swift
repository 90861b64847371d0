// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Testing
import Timekeeping

struct PortSupervisorTests {
  private func supervisor(firstSentenceTimeout: Duration = .zero, seed: UInt64 = 1) -> PortSupervisor {
    PortSupervisor(
      device: "/dev/gps0", silenceTimeout: .seconds(10), firstSentenceTimeout: firstSentenceTimeout, seed: seed)
  }

  private func at(_ seconds: Int) -> BootInstant { .boot + .seconds(seconds) }

  @Test("a port is opened at the start, its first sentence is reported, and it is closed when silent")
  func silence() {
    var port = supervisor()
    expectEqual(port.handle(.start, at: at(0)), [.open])
    expect(port.handle(.opened, at: at(0)).isEmpty)
    expectEqual(port.handle(.received(sentences: 2), at: at(1)), [.reading])
    expect(port.handle(.received(sentences: 1), at: at(2)).isEmpty)
    expectEqual(port.nextDeadline, at(12))
    expect(port.handle(.deadline, at: at(11)).isEmpty)
    expectEqual(
      port.handle(.deadline, at: at(12)),
      [
        .close,
        .lost("/dev/gps0 is open but silent for 10 s; check the receiver and its power; reopening it"),
      ])
  }

  @Test("bytes without a sentence are reported with the advice to check the baud rate")
  func useless() {
    var port = supervisor(firstSentenceTimeout: .seconds(30))
    _ = port.handle(.start, at: at(0))
    _ = port.handle(.opened, at: at(0))
    expect(port.handle(.received(sentences: 0), at: at(5)).isEmpty)
    expectEqual(port.nextDeadline, at(30))
    expectEqual(
      port.handle(.deadline, at: at(30)),
      [
        .close,
        .lost(
          "/dev/gps0 sends bytes but no complete NMEA sentence for 30 s; check source.baud, or set baud = \"auto\"; "
            + "reopening it"),
      ])
  }

  @Test(
    "opening a port is retried with a backoff, which ends when the device appears and is reset by a sentence"
  )
  func retries() throws {
    var port = supervisor()
    var now = at(0)
    _ = port.handle(.start, at: now)
    for bound in [1, 2, 4, 8, 10, 10] {
      expectEqual(port.handle(.openFailed("no"), at: now), [.lost("no")])
      let next = try #require(port.nextDeadline)
      expect(next - now >= .milliseconds(500 * bound) && next - now <= .seconds(bound))
      expect(port.handle(.deadline, at: next - .milliseconds(1)).isEmpty)
      expectEqual(port.handle(.deadline, at: next), [.open])
      now = next
    }
    _ = port.handle(.openFailed("no"), at: now)
    expectEqual(port.handle(.appeared, at: now), [.open])
    _ = port.handle(.opened, at: now)
    _ = port.handle(.received(sentences: 1), at: now)
    expectEqual(port.handle(.ended("unplugged"), at: now), [.lost("unplugged")])
    expect(try #require(port.nextDeadline) - now <= .seconds(1))
  }

  @Test("inputs that do not fit the state are ignored")
  func ignored() {
    var port = supervisor()
    expect(port.handle(.opened, at: at(0)).isEmpty)
    expect(port.handle(.received(sentences: 1), at: at(0)).isEmpty)
    expect(port.handle(.ended("?"), at: at(0)).isEmpty)
    _ = port.handle(.start, at: at(0))
    expectNil(port.nextDeadline)
    expect(port.handle(.appeared, at: at(1)).isEmpty)
    expect(port.handle(.deadline, at: at(99)).isEmpty)
  }

  @Test("300 vehicles that are powered on at the same moment do not retry opening their ports at the same moment")
  func depot() throws {
    let waits = try (0..<300).map { seed in
      var port = supervisor(seed: UInt64(seed))
      _ = port.handle(.start, at: at(0))
      _ = port.handle(.openFailed("not there yet"), at: at(0))
      return try #require(port.nextDeadline) - at(0)
    }
    expectEqual(Set(waits).count, 300)
    // All waits are between 0.5 s and 1 s; they are grouped by tenths of a second.
    let tenths = Dictionary(grouping: waits) { ($0.nanoseconds - 500_000_000) / 100_000_000 }
    expect(tenths.values.allSatisfy { $0.count < 90 } && tenths.count >= 5)
  }
}
