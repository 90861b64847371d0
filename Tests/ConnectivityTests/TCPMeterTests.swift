// SPDX-License-Identifier: Apache-2.0
import Connectivity
import Expectations
import Testing

struct TCPMeterTests {
  static func traffic(_ sent: UInt64, _ received: UInt64 = 0, again: UInt64 = 0, segments: UInt64 = 0) -> TCPTraffic {
    TCPTraffic(
      sent: sent, received: received, retransmitted: again, segmentsSent: segments, segmentsReceived: segments,
      headerSize: 52)
  }

  @Test("each segment is counted with its IPv4 or IPv6 and TCP headers, including TCP timestamps if in use")
  func headers() {
    expectEqual(TCPTraffic.headerSize(isIPv6: false, hasTimestamps: true), 52)
    expectEqual(TCPTraffic.headerSize(isIPv6: false, hasTimestamps: false), 40)
    expectEqual(TCPTraffic.headerSize(isIPv6: true, hasTimestamps: true), 72)
    let traffic = TCPTraffic(
      sent: 349, received: 126, retransmitted: 0, segmentsSent: 2, segmentsReceived: 1, headerSize: 52)
    expect(traffic.totalSent == 453 && traffic.totalReceived == 178 && traffic.total == 631)
  }

  @Test("the bytes of a connection that is read several times, and at its end, are counted once")
  func readOften() {
    var meter = TCPMeter()
    meter.opened(5)
    for sent in [100, 100, 250, 400] as [UInt64] { meter.record(5, Self.traffic(sent, sent / 2)) }
    expectEqual(meter.total, Self.traffic(400, 200))
    meter.willClose(5, Self.traffic(420, 230, again: 20, segments: 9))
    expectEqual(meter.total, Self.traffic(420, 230, again: 20, segments: 9))
    expect(meter.openDescriptors.isEmpty)
    // Events of connections that are closed, or were never opened here, are ignored.
    meter.willClose(5, Self.traffic(999))
    meter.record(6, Self.traffic(999))
    expectEqual(meter.total.sent, 420)
  }

  @Test("a connection that reuses the descriptor of another is counted from its own start")
  func replaced() {
    var meter = TCPMeter()
    meter.opened(5)
    meter.opened(6)
    meter.record(5, Self.traffic(1000))
    meter.willClose(5, Self.traffic(1100))
    meter.opened(5)
    meter.willClose(5, Self.traffic(1500, 10))
    expectEqual(meter.total, Self.traffic(2600, 10))
    // The end of the previous connection was not seen.
    meter.opened(6)
    meter.record(6, Self.traffic(30))
    meter.opened(6)
    meter.record(6, Self.traffic(40))
    expectEqual(meter.total.sent, 2670)
    expectEqual(meter.openDescriptors, [6])
  }

  @Test("decreasing counters are treated as reset, and differences are never negative")
  func restarted() {
    var meter = TCPMeter()
    meter.opened(5)
    meter.record(5, Self.traffic(1000, 500, segments: 10))
    meter.record(5, Self.traffic(1200, 40, segments: 2))
    expectEqual(meter.total, Self.traffic(2200, 540, segments: 12))
  }

  @Test("if a connection's counters cannot be read when it ends, their last reading counts")
  func unreadable() {
    var meter = TCPMeter()
    meter.opened(5)
    meter.record(5, Self.traffic(700))
    meter.willClose(5, nil)
    expect(meter.total.sent == 700 && meter.openDescriptors.isEmpty)
  }
}
