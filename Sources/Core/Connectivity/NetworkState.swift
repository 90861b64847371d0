// SPDX-License-Identifier: Apache-2.0

/// The machine's connectivity.
package struct NetworkState: Equatable, Sendable {
  /// The global addresses of links that are up and running.
  package var addresses: Set<NetworkTable.Address> = []
  /// The effective default route of each routing table, for each family with an address; IPv4 and the main table first.
  /// The rules that choose a table are unknown.
  package var routes: [NetworkTable.Route] = []
  /// The links of each family's first route, such as `wwan0`.
  package var linkNames: [String] = []
  /// Whether there are no links but the loopback: with the unit's PrivateNetwork=, or in a container without a network.
  package var isIsolated = false

  /// No network.
  package init() {}

  /// Whether a link is up and running, with a global address and a default route.
  package var isUsable: Bool { !routes.isEmpty }

  /// Whether a connection that was made in the state `before` may be dead: its address is gone, or its packets take
  /// another route with another source address. A network that is not the default route does not matter, whether it
  /// appears or disappears.
  package func mayInvalidateConnections(of before: NetworkState) -> Bool {
    let families = Set(before.routes.map(\.family))
    return !before.sourceAddresses.isSubset(of: addresses)
      || before.routes != routes.filter { families.contains($0.family) }
  }

  /// The addresses that connections may have: of each family, those of the default routes' links. All of them if there
  /// is no route, or if the links of one borrow the address of another link.
  private var sourceAddresses: Set<NetworkTable.Address> {
    var result = addresses
    for family in Set(routes.map(\.family)) {
      let ownAddresses = routes.filter { $0.family == family }.map { route in
        addresses.filter { $0.family == family && route.links.contains($0.link) }
      }
      if ownAddresses.contains(where: \.isEmpty) { continue }
      result = ownAddresses.reduce(result.filter { $0.family != family }) { $0.union($1) }
    }
    return result
  }
}
