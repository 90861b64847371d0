// SPDX-License-Identifier: Apache-2.0
import CLinux
package import Timekeeping

/// The release of this program.
package enum Release {
  /// Semantic version.
  package static let version = "0.3.0"

  /// SOURCE_DATE_EPOCH of the build: clock times before it are implausible.
  package static let buildDate = Timestamp(seconds: fleet_build_epoch())

  /// The output of `--version`: name, version, licence.
  package static func banner(_ program: String) -> String {
    "\(program) \(version)\nLicence Apache-2.0: <https://www.apache.org/licenses/LICENSE-2.0>\n"
  }
}
