// SPDX-License-Identifier: Apache-2.0

/// Whether and how this machine can reach others.
package struct NetworkState: Equatable, Sendable {
  /// The global addresses of links that are up and have a carrier.
  package var addresses: Set<NetworkTable.Address> = []
  /// The default route that is used of each family which also has an address; IPv4 first.
  package var ways: [NetworkTable.Route] = []
  /// The links that these ways go through, as in `wwan0`.
  package var names: [String] = []

  /// No network.
  package init() {}

  /// Some link is up and running, with a global address and a default route.
  package var isUsable: Bool { !ways.isEmpty }

  /// Whether a connection that was made in the state `before` may be dead now: its address is gone, or packets leave by
  /// another way, where nobody knows it. A second network that comes in addition, with a worse route, harms nobody.
  package func mayHaveBroken(_ before: NetworkState) -> Bool {
    !before.addresses.isSubset(of: addresses) || !before.ways.allSatisfy { ways.contains($0) }
  }
}
