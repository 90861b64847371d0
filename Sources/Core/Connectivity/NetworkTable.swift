// SPDX-License-Identifier: Apache-2.0

/// The machine's links, global addresses and default routes, as reported by the kernel.
package struct NetworkTable: Equatable, Sendable {
  /// AF_INET and AF_INET6.
  package enum Family: UInt8, Sendable {
    case ipv4 = 2
    case ipv6 = 10

    var addressLength: Int { self == .ipv4 ? 4 : 16 }
  }

  /// A network interface.
  package struct Link: Hashable, Sendable {
    /// The interface index, one or more (if_nametoindex(3)).
    package var index: Int32
    /// Such as `wwan0`.
    package var name: String
    /// IFF_UP: administratively up.
    package var isUp: Bool
    /// IFF_RUNNING: there is a carrier.
    package var isRunning: Bool
    /// IFF_LOOPBACK.
    package var isLoopback: Bool

    package init(index: Int32, name: String, isUp: Bool, isRunning: Bool, isLoopback: Bool) {
      self.index = index
      self.name = name
      self.isUp = isUp
      self.isRunning = isRunning
      self.isLoopback = isLoopback
    }

    /// Whether other machines may be reachable through it.
    var mayReachOthers: Bool { isUp && isRunning && !isLoopback }
  }

  /// A global address of this machine.
  package struct Address: Hashable, Sendable {
    /// Index of the interface.
    package var link: Int32
    /// IPv4 or IPv6.
    package var family: Family
    /// 4 or 16 bytes.
    package var bytes: [UInt8]

    package init(link: Int32, family: Family, bytes: [UInt8]) {
      self.link = link
      self.family = family
      self.bytes = bytes
    }
  }

  /// A default route, or a route to a large part of all addresses, which VPNs use in its place.
  package struct Route: Hashable, Sendable {
    /// IPv4 or IPv6.
    package var family: Family
    /// One link, or those of several next hops.
    package var links: [Int32]
    /// Empty for a point-to-point link.
    package var gateway: [UInt8]
    /// The metric: of routes with the same prefix length, the one with the lowest metric is used.
    package var priority: UInt32
    /// Zero for a default route, one for a route to half of all addresses. The longest is used.
    package var prefixLength: UInt8
    /// The routing table.
    package var table: UInt32

    /// RT_TABLE_MAIN.
    package static let mainTable: UInt32 = 254

    package init(
      family: Family, links: [Int32], gateway: [UInt8], priority: UInt32, prefixLength: UInt8 = 0,
      table: UInt32 = Route.mainTable
    ) {
      self.family = family
      self.links = links
      self.gateway = gateway
      self.priority = priority
      self.prefixLength = prefixLength
      self.table = table
    }

    /// Whether the kernel uses this route rather than another one of the same table. Of two routes with the same metric
    /// it uses the older one, and their age is not visible: then the order only has to be stable.
    func precedes(_ other: Route) -> Bool {
      let (own, others) = (order, other.order)
      return own != others ? own < others : gateway.lexicographicallyPrecedes(other.gateway)
    }

    private var order: (Int, UInt32, Int32) { (-Int(prefixLength), priority, links.first ?? 0) }

    /// The main table comes first.
    var tableOrder: UInt32 { table == Route.mainTable ? 0 : table }
  }

  private var links: [Int32: Link] = [:]
  private var addresses: Set<Address> = []
  private var routes: Set<Route> = []

  package init() {}

  /// Adds one message of a dump.
  package mutating func add(_ message: NetlinkMessage) {
    switch message {
    case .link(let link): links[link.index] = link
    case .address(let address): addresses.insert(address)
    case .defaultRoute(let route): routes.insert(route)
    default: break
    }
  }

  /// Whether a notification contains a change.
  package func isChange(_ message: NetlinkMessage) -> Bool {
    switch message {
    case .link(let link): links[link.index] != link
    case .linkGone(let index): links[index] != nil
    case .address(let address): !addresses.contains(address)
    case .addressGone(let address): addresses.contains(address)
    case .defaultRoute(let route): !routes.contains(route)
    case .defaultRouteGone(let route): routes.contains(route)
    case .done, .refused, .overrun, .other: false
    }
  }

  /// The resulting state.
  package var state: NetworkState {
    var state = NetworkState()
    let global = addresses.filter { links[$0.link]?.mayReachOthers == true }
    state.addresses = global
    state.isIsolated = !links.isEmpty && links.values.allSatisfy(\.isLoopback)
    for family in [Family.ipv4, .ipv6] where global.contains(where: { $0.family == family }) {
      // The address may be on a different link from the route: unnumbered links borrow one.
      let usable = routes.filter { route in
        route.family == family && route.links.contains { links[$0]?.mayReachOthers == true }
      }
      // A VPN's halves of all addresses outlast the network that carries them.
      guard usable.contains(where: { $0.prefixLength == 0 }) else { continue }
      let best = Dictionary(grouping: usable) { $0.table }.values
        .compactMap { routes in routes.min { $0.precedes($1) } }
        .sorted { $0.tableOrder < $1.tableOrder }
      guard let first = best.first else { continue }
      state.routes += best
      for link in first.links.compactMap({ links[$0] })
      where link.mayReachOthers && !state.linkNames.contains(link.name) {
        state.linkNames.append(link.name)
      }
    }
    return state
  }
}
