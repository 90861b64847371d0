// SPDX-License-Identifier: Apache-2.0

/// A page of the documentation, as a message names it: the file that the package installs.
package enum ManualPage: String, CustomStringConvertible, Sendable, CaseIterable {
  case containers, crashes, network, receivers, troubleshooting
  case tokenProvider = "token-provider"

  /// Its path.
  package var description: String { "/usr/share/doc/fleet-locationd/docs/\(rawValue).md" }
}
