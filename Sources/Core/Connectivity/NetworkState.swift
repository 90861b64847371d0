// SPDX-License-Identifier: Apache-2.0

/// The machine's connectivity.
package struct NetworkState: Equatable, Sendable {
  /// The global addresses of links that are up and running.
  package var addresses: Set<NetworkTable.Address> = []
  /// The effective default route of each family with an address; IPv4 first.
  package var routes: [NetworkTable.Route] = []
  /// The links of these routes, such as `wwan0`.
  package var linkNames: [String] = []
  /// Whether there are no links but the loopback: with the unit's PrivateNetwork=, or in a container without a network.
  package var isIsolated = false

  /// No network.
  package init() {}

  /// Whether a link is up and running, with a global address and a default route.
  package var isUsable: Bool { !routes.isEmpty }

  /// Whether a connection that was made in the state `before` may be dead: its address is gone, or its packets take
  /// another route with another source address. An additional network whose default route has a higher metric does not
  /// matter.
  package func mayInvalidateConnections(of before: NetworkState) -> Bool {
    !before.addresses.isSubset(of: addresses) || !before.routes.allSatisfy { routes.contains($0) }
  }
}
