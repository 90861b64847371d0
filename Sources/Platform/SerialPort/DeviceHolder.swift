// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A process that has a device open.
package nonisolated struct DeviceHolder: Codable, Equatable, Sendable {
  /// The process that has the device open.
  package var processID: pid_t
  /// Its name, as in `gpsd`.
  package var program: String
  /// The systemd service that it belongs to, as in `gpsd.service`; nil for none.
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

/// Which processes have which devices open, but for this process. Only root sees those of others.
package nonisolated struct DeviceHolders: Codable, Equatable, Sendable {
  /// By the path of the device, links followed.
  private var holders: [String: [DeviceHolder]] = [:]
  /// Whether every process could be looked at.
  package private(set) var isComplete = true

  /// Looks at every process.
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

  /// Those that have it open, by their process IDs.
  ///
  /// - Parameter device: links followed.
  package func holders(of device: String) -> [DeviceHolder] { holders[device] ?? [] }

  private static let suffix = " (deleted)"

  /// What a descriptor leads to, if it is under /dev. The node goes with the plug; who holds on to it is still worth a word.
  private static func device(_ target: String?) -> String? {
    guard let target, target.hasPrefix("/dev/"), target != "/dev/null" else { return nil }
    return target.hasSuffix(suffix) ? String(target.dropLast(suffix.count)) : target
  }
}
