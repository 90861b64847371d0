// SPDX-License-Identifier: Apache-2.0
import CLinux
package import Timekeeping

/// Which release this is.
package enum Release {
  /// Semantic version.
  package static let version = "0.1.0"

  /// SOURCE_DATE_EPOCH of the build: no clock that shows an earlier time can be right.
  package static let buildDate = Timestamp(seconds: fleet_build_epoch())

  /// What `--version` prints: name, version, licence.
  package static func banner(_ program: String) -> String {
    "\(program) \(version)\nLicence Apache-2.0: <https://www.apache.org/licenses/LICENSE-2.0>\n"
  }
}
