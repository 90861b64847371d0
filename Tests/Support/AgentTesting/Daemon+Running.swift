// SPDX-License-Identifier: Apache-2.0
package import Daemon
package import Timekeeping

extension Daemon {
  /// A daemon that runs with these settings from its start.
  package init(
    running configuration: Configuration, seed: UInt64 = 1, version: String = "", traffic: String? = nil,
    at now: BootInstant = .boot
  ) {
    self.init(
      seed: seed, waitsForSettings: true, version: version, buildDate: AgentFixture.start, traffic: traffic, at: now)
    let now = Moment(boot: now, wall: AgentFixture.start)
    _ = handle(.launched, at: now)
    _ = handle(.settingsRead(.valid(configuration)), at: now)
  }
}
