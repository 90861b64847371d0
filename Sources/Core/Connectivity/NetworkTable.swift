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

  /// A default route.
  package struct Route: Hashable, Sendable {
    /// IPv4 or IPv6.
    package var family: Family
    /// One link, or those of several next hops.
    package var links: [Int32]
    /// Empty for a point-to-point link.
    package var gateway: [UInt8]
    /// The metric: the route with the lowest one is used.
    package var priority: UInt32

    package init(family: Family, links: [Int32], gateway: [UInt8], priority: UInt32) {
      self.family = family
      self.links = links
      self.gateway = gateway
      self.priority = priority
    }
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
      // Of two routes with the same metric the kernel uses the older one, and their age is not visible: the order only
      // has to be stable.
      let best = usable.min {
        let (first, second) = (($0.priority, $0.links.first ?? 0), ($1.priority, $1.links.first ?? 0))
        return first != second ? first < second : $0.gateway.lexicographicallyPrecedes($1.gateway)
      }
      guard let best else { continue }
      state.routes.append(best)
      for link in best.links.compactMap({ links[$0] })
      where link.mayReachOthers && !state.linkNames.contains(link.name) {
        state.linkNames.append(link.name)
      }
    }
    return state
  }
}
