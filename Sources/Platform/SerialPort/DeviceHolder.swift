// SPDX-License-Identifier: Apache-2.0
package import Glibc
import SystemCalls

/// A process that has a device open.
package nonisolated struct DeviceHolder: Codable, Equatable, Sendable {
  /// The process that has the device open.
  package var processID: pid_t
  /// Its name, as in `gpsd`.
  package var program: String
  /// Its systemd service, as in `gpsd.service`; nil for none.
  package var service: String?

  package init(processID: pid_t, program: String, service: String?) {
    self.processID = processID
    self.program = program
    self.service = service
  }

  fileprivate init(_ id: pid_t) {
    processID = id
    program = SystemFile.lines("/proc/\(id)/comm").first ?? "unknown"
    let unit = SystemFile.lines("/proc/\(id)/cgroup").compactMap { $0.split(separator: "/").last }
      .first { $0.hasSuffix(".service") }
    service = unit.map(String.init)
  }
}

/// The processes that have devices open, without this one. Those of other users are only visible to root.
package nonisolated struct DeviceHolders: Codable, Equatable, Sendable {
  /// By the resolved path of the device.
  private var holders: [String: [DeviceHolder]] = [:]
  /// Whether all processes could be examined.
  package private(set) var isComplete = true

  /// Examines all processes.
  package init() {
    for id in (SystemFile.names(in: "/proc") ?? []).compactMap({ pid_t($0) }).sorted() where id != getpid() {
      let directory = "/proc/\(id)/fd"
      guard let descriptors = SystemFile.names(in: directory) else {
        // It may also have ended since.
        if unsafe access("/proc/\(id)", F_OK) == 0 { isComplete = false }
        continue
      }
      let devices = descriptors.compactMap { DeviceHolders.device(SystemFile.target(ofLink: "\(directory)/\($0)")) }
      for device in Set(devices) { holders[device, default: []].append(DeviceHolder(id)) }
    }
  }

  /// The processes that have a device open, by process ID.
  ///
  /// - Parameter device: the resolved path.
  package func holders(of device: String) -> [DeviceHolder] { holders[device] ?? [] }

  private static let suffix = " (deleted)"

  /// The target of a descriptor, if it is under /dev. A removed device is reported as well.
  private static func device(_ target: String?) -> String? {
    guard let target, target.hasPrefix("/dev/"), target != "/dev/null" else { return nil }
    return target.hasSuffix(suffix) ? String(target.dropLast(suffix.count)) : target
  }
}
