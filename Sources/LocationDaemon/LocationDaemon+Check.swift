// SPDX-License-Identifier: Apache-2.0
package import Configuration
import Delivery
import SystemCalls

extension LocationDaemon {
  /// Reads the settings, and the credentials that they name.
  ///
  /// - Throws: exit code `configuration`, with every mistake on a line of its own.
  package static func check(_ load: Loader) throws(DaemonError) -> SettingsFile {
    let file: SettingsFile
    do {
      file = try load()
    } catch {
      throw DaemonError(ExitCode.configuration, error.message, cause: error)
    }
    _ = try VehicleAgent.Configuration(file.settings)
    return file
  }
}
