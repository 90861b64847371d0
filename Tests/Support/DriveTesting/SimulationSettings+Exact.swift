// SPDX-License-Identifier: Apache-2.0
package import SimulatedDrives
package import SimulatedDrives

extension SimulationSettings {
  /// A drive that ends, seen by a receiver without noise.
  package static var exact: SimulationSettings {
    var settings = SimulationSettings()
    settings.loops = false
    settings.noise = 0
    settings.seed = 0
    return settings
  }
}
