// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Connectivity

struct NetlinkMessageTests {
  @Test("links are parsed with their names and states")
  func links() throws {
    let links = try NetlinkRecording.links.messages().compactMap { if case .link(let link) = $0 { link } else { nil } }
    let loopback = try #require(links.first { $0.name == "lo" })
    expect(loopback.isLoopback && loopback.isUp)
    let modem = try #require(links.first { $0.name == "wwan0" })
    expect(!modem.isLoopback && modem.isUp && modem.isRunning)
    try expectEqual(NetlinkRecording.links.messages().last, .done)
  }

  @Test("global addresses of both families are parsed, and other addresses are ignored")
  func addresses() throws {
    let addresses = try NetlinkRecording.addresses.messages().compactMap {
      if case .address(let address) = $0 { address } else { nil }
    }
    let ipv6: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 7] + [UInt8](repeating: 0, count: 9) + [2]
    expectEqual(addresses.map(\.bytes), [[10, 64, 7, 2], ipv6])
    expectEqual(addresses.map(\.family), [.ipv4, .ipv6])
  }

  @Test("default routes of both families are parsed; host routes, the local table and unreachable routes are ignored")
  func routes() throws {
    let routes = try NetlinkRecording.routes.messages().compactMap {
      if case .defaultRoute(let route) = $0 { route } else { nil }
    }
    expectEqual(routes.map(\.family), [.ipv4, .ipv6])
    expectEqual(routes.first?.gateway, [10, 64, 7, 1])
    expectEqual(routes.first?.priority, 700)
    expectEqual(routes.map(\.table), [254, 254])
  }

  @Test("OpenVPN's routes to half of all addresses are parsed, and so are numbers of tables above 255")
  func halfRoute() {
    let header: [UInt8] = [44, 0, 0, 0, 24, 0, 0, 0] + [UInt8](repeating: 0, count: 8)
    let attributes: [UInt8] = [8, 0, 15, 0, 0x6C, 0xCA, 0, 0, 8, 0, 4, 0, 3, 0, 0, 0]
    for prefixLength in [UInt8(0), 1, 2] {
      let route = NetworkTable.Route(
        family: .ipv4, links: [3], gateway: [], priority: 0, prefixLength: prefixLength, table: 51_820)
      let rtmsg: [UInt8] = [2, prefixLength, 0, 0, 252, 3, 0, 1, 0, 0, 0, 0]
      let messages = NetlinkMessage.decode(header + rtmsg + attributes).map(\.message)
      expectEqual(messages, [prefixLength < 2 ? .defaultRoute(route) : .other])
    }
  }

  @Test("a default route over two links yields both")
  func multipath() throws {
    let routes = try NetlinkRecording.multipath.messages().compactMap {
      if case .defaultRoute(let route) = $0 { route } else { nil }
    }
    expectEqual(routes.count, 1)
    expectEqual(routes.first?.links.count, 2)
  }

  @Test("notifications are parsed: a lost carrier, a removed address and a removed link")
  func notifications() throws {
    let lost = try NetlinkRecording.carrierLost.messages()
    expect(lost.contains { if case .link(let link) = $0 { link.name == "wwan0" && !link.isRunning } else { false } })
    expect(
      try NetlinkRecording.addressGone.messages().contains {
        if case .addressGone(let address) = $0 { address.bytes == [10, 64, 7, 2] } else { false }
      })
    expect(
      try NetlinkRecording.linkGone.messages().contains { if case .linkGone = $0 { true } else { false } })
  }

  @Test("the kernel sends no notification for a default route that is removed with its address")
  func silentRoutes() throws {
    // This is why the state is never updated from notifications alone.
    expect(
      try !NetlinkRecording.addressGone.messages().contains { if case .defaultRouteGone = $0 { true } else { false } })
  }

  @Test(
    "a truncated datagram gives only the messages before the truncation",
    arguments: [
      NetlinkRecording.links, .addresses, .routes, .multipath, .carrierLost,
    ])
  func truncated(recording: NetlinkRecording) throws {
    let bytes = try recording.bytes()
    let whole = NetlinkMessage.decode(bytes).map(\.message)
    // Each message begins with its length; it is padded to a multiple of four bytes.
    var ends: [Int] = []
    var start = 0
    while start < bytes.count {
      let length = bytes[start..<start + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
      ends.append(start + length)
      start += (length + 3) & ~3
    }
    expectEqual(ends.count, whole.count)
    for count in 0..<bytes.count {
      let part = NetlinkMessage.decode(Array(bytes.prefix(count))).map(\.message)
      expectEqual(part, Array(whole.prefix(ends.count { $0 <= count })))
    }
  }

  @Test(
    "a message with an invalid length is ignored",
    arguments: [0, 1, 15, 17, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
  func invalidLength(length: UInt32) throws {
    var bytes = try NetlinkRecording.routes.bytes()
    for place in 0..<4 { bytes[place] = UInt8(truncatingIfNeeded: length >> UInt32(place * 8)) }
    let messages = NetlinkMessage.decode(bytes).map(\.message)
    expect(messages.isEmpty || messages == [.other])
  }
}
