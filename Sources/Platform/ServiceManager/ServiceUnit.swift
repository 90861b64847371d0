// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// The systemd unit of this process.
package enum ServiceUnit {
  private static let maxTextSize = 4096

  /// The unit's name, as in `fleet-locationd@van.service`; nil without systemd, and for a process that a user has
  /// started.
  package static var current: String? {
    var buffer = [UInt8](repeating: 0, count: maxTextSize)
    guard let file = try? Descriptor.open("/proc/self/cgroup", O_RDONLY),
      case .bytes(let count)? = try? file.read(into: &buffer)
    else { return nil }
    return unit(inCgroup: String(decoding: buffer.prefix(count), as: UTF8.self))
  }

  /// The unit in a control group. sd_pid_get_unit(3) is not used: it would also read the control group of process 1,
  /// which the unit hides (ProtectProc=).
  ///
  /// - Parameter text: the text of /proc/PID/cgroup.
  static func unit(inCgroup text: String) -> String? {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      // The hierarchy of systemd: that of control groups version 2, or the one that is named after systemd in version
      // 1.
      guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd",
        let unit = fields[2].split(separator: "/").last, unit.hasSuffix(".service")
      else { continue }
      return String(unit)
    }
    return nil
  }
}
