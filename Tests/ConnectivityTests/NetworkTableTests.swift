// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Connectivity

struct NetworkTableTests {
  private static func table(
    isUp: Bool = true, isRunning: Bool = true, isLoopback: Bool = false, address: [UInt8]? = [10, 0, 0, 2],
    routes: [NetworkTable.Route] = [
      NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 100)
    ]
  ) -> NetworkTable {
    var table = NetworkTable()
    table.add(
      .link(
        NetworkTable.Link(index: 2, name: "wwan0", isUp: isUp, isRunning: isRunning, isLoopback: isLoopback)))
    if let address {
      table.add(.address(NetworkTable.Address(link: 2, family: address.count == 4 ? .ipv4 : .ipv6, bytes: address)))
    }
    for route in routes { table.add(.defaultRoute(route)) }
    return table
  }

  @Test("a usable network has a running link, a global address and a default route of the same family")
  func usable() {
    expect(NetworkTableTests.table().state.isUsable)
    expect(!NetworkTableTests.table(isUp: false).state.isUsable)
    expect(!NetworkTableTests.table(isRunning: false).state.isUsable)
    expect(!NetworkTableTests.table(isLoopback: true).state.isUsable)
    expect(!NetworkTableTests.table(address: nil).state.isUsable)
    expect(!NetworkTableTests.table(routes: []).state.isUsable)
    expect(!NetworkTableTests.table(address: [UInt8](repeating: 0x20, count: 16)).state.isUsable)
  }

  @Test(
    "a machine is isolated if its only link is the loopback, but not if a link has no carrier or no link is known yet")
  func isolated() {
    expect(NetworkTableTests.table(isLoopback: true).state.isIsolated)
    expect(!NetworkTableTests.table(isRunning: false, address: nil, routes: []).state.isIsolated)
    expect(!NetworkTable().state.isIsolated)
  }

  @Test("a route over a link that does not exist is not usable")
  func danglingRoute() {
    let route = NetworkTable.Route(family: .ipv4, links: [7], gateway: [], priority: 0)
    expect(!NetworkTableTests.table(routes: [route]).state.isUsable)
  }

  @Test(
    "connections count as possibly dead after an address has changed or a better default route was added, not after a worse one"
  )
  func moves() {
    let before = NetworkTableTests.table().state
    let other = NetworkTableTests.table(address: [10, 0, 0, 3]).state
    expect(other.mayInvalidateConnections(of: before))
    let current = NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 100)
    let better = NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 9], priority: 50)
    let worse = NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 9], priority: 600)
    expect(NetworkTableTests.table(routes: [current, better]).state.mayInvalidateConnections(of: before))
    expect(!NetworkTableTests.table(routes: [current, worse]).state.mayInvalidateConnections(of: before))
    expect(NetworkState().mayInvalidateConnections(of: before))
    expect(!before.mayInvalidateConnections(of: NetworkState()))
  }

  @Test("of two default routes that differ only in their gateways, always the same one is chosen")
  func twoGateways() {
    let routes = [1, 9].map {
      NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, $0], priority: 100)
    }
    // The order of a set depends on where it is in memory, so all tables are kept.
    let tables = (0..<200).map { _ in NetworkTableTests.table(routes: routes) }
    expectEqual(Set(tables.map(\.state.routes)), [[routes[0]]])
  }

  @Test("connections survive the loss of a link that is not the default route, unless that route borrows its address")
  func otherLink() {
    func state(hasOther: Bool, hasRoute: Bool = true, address: [UInt8]? = [10, 0, 0, 2]) -> NetworkState {
      let route = NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 100)
      var table = NetworkTableTests.table(address: address, routes: hasRoute ? [route] : [])
      table.add(.link(NetworkTable.Link(index: 3, name: "eth0", isUp: true, isRunning: hasOther, isLoopback: false)))
      table.add(.address(NetworkTable.Address(link: 3, family: .ipv4, bytes: [192, 168, 1, 5])))
      return table.state
    }
    let both = state(hasOther: true)
    expect(both.isUsable)
    expect(!state(hasOther: false).mayInvalidateConnections(of: both))
    expect(state(hasOther: true, address: [10, 0, 0, 3]).mayInvalidateConnections(of: both))
    // An unnumbered link.
    let borrowed = state(hasOther: true, address: nil)
    expect(borrowed.isUsable)
    expect(state(hasOther: false, address: nil).mayInvalidateConnections(of: borrowed))
    // Without a default route, a host route may use any address.
    expect(state(hasOther: false, hasRoute: false).mayInvalidateConnections(of: state(hasOther: true, hasRoute: false)))
    expect(!both.mayInvalidateConnections(of: state(hasOther: true, hasRoute: false)))
  }

  /// wwan0 with the main table's default route of metric 700, and another link with a route of its own.
  private static func state(
    modemAddress: UInt8 = 2, other: String, otherAddress: UInt8 = 5, metric: UInt32 = 0, prefixLength: UInt8 = 0,
    table number: UInt32 = NetworkTable.Route.mainTable, hasOtherRoute: Bool = true, hasModemRoute: Bool = true
  ) -> NetworkState {
    let modemRoute = NetworkTable.Route(family: .ipv4, links: [2], gateway: [10, 0, 0, 1], priority: 700)
    var table = NetworkTableTests.table(
      address: [10, 0, 0, modemAddress], routes: hasModemRoute ? [modemRoute] : [])
    table.add(.link(NetworkTable.Link(index: 3, name: other, isUp: true, isRunning: true, isLoopback: false)))
    table.add(.address(NetworkTable.Address(link: 3, family: .ipv4, bytes: [192, 168, 1, otherAddress])))
    if hasOtherRoute {
      table.add(
        .defaultRoute(
          NetworkTable.Route(
            family: .ipv4, links: [3], gateway: [192, 168, 1, 1], priority: metric, prefixLength: prefixLength,
            table: number)))
    }
    return table.state
  }

  @Test("connections may be dead after a change of the main table's default route, or of another table's")
  func policyRouting() {
    let both = NetworkTableTests.state(other: "eth0", table: 100)
    expectEqual(both.linkNames, ["wwan0"])
    expect(NetworkTableTests.state(modemAddress: 3, other: "eth0", table: 100).mayInvalidateConnections(of: both))
    expect(NetworkTableTests.state(other: "eth0", otherAddress: 6, table: 100).mayInvalidateConnections(of: both))
    let main = NetworkTableTests.state(other: "eth0", hasOtherRoute: false)
    expect(main.mayInvalidateConnections(of: both))
    // A VPN that has just been started, such as wg-quick's, may have its route in a table of its own.
    expect(both.mayInvalidateConnections(of: main))
    let route = NetworkTable.Route(family: .ipv4, links: [2], gateway: [], priority: 0, table: 51_820)
    expect(NetworkTableTests.table(routes: [route]).state.isUsable)
  }

  @Test("connections through a VPN that routes 0.0.0.0/1 and 128.0.0.0/1 may be dead after its address changes")
  func halves() {
    func state(modem: UInt8 = 2, tunnel: UInt8 = 5, hasVPN: Bool = true) -> NetworkState {
      NetworkTableTests.state(
        modemAddress: modem, other: "tun0", otherAddress: tunnel, metric: 800, prefixLength: 1, hasOtherRoute: hasVPN)
    }
    expectEqual(state().linkNames, ["tun0"])
    expect(state(tunnel: 6).mayInvalidateConnections(of: state()))
    // The tunnel may survive a new address of the modem.
    expect(!state(modem: 3).mayInvalidateConnections(of: state()))
    expect(state(hasVPN: false).mayInvalidateConnections(of: state()))
    expect(state().mayInvalidateConnections(of: state(hasVPN: false)))
    let lost = NetworkTableTests.state(other: "tun0", metric: 800, prefixLength: 1, hasModemRoute: false)
    expect(!lost.isUsable)
  }
}
