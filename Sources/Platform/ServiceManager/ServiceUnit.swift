// SPDX-License-Identifier: Apache-2.0
import CSystemd
import Glibc

/// The systemd unit of this process.
package enum ServiceUnit {
  /// As in `fleet-locationd@van.service`; nil without systemd, and for a process that a user has started.
  package static var current: String? {
    var name: UnsafeMutablePointer<CChar>?
    guard unsafe sd_pid_get_unit(0, &name) >= 0, let name = unsafe name else { return nil }
    defer { unsafe free(name) }
    let unit = unsafe String(cString: name)
    return unit.hasSuffix(".service") && !unit.hasPrefix("user@") ? unit : nil
  }
}
