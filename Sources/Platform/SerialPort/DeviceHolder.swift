// SPDX-License-Identifier: Apache-2.0
package import Glibc

/// A process that has a device open.
package nonisolated struct DeviceHolder: Equatable, Sendable {
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

  /// All that have it open, but for this process, and whether all could be looked at: only root sees those of others.
  ///
  /// - Parameter device: links followed.
  package static func all(of device: String) -> (holders: [DeviceHolder], isComplete: Bool) {
    var holders: [DeviceHolder] = []
    var isComplete = true
    for name in SystemFile.names(in: "/proc") ?? [] {
      guard let id = pid_t(name), id != getpid() else { continue }
      let directory = "/proc/\(id)/fd"
      guard let descriptors = SystemFile.names(in: directory) else {
        // It may also have ended since.
        if unsafe access("/proc/\(id)", F_OK) == 0 { isComplete = false }
        continue
      }
      let isHeld = descriptors.contains { descriptor in
        let target = SystemFile.target(ofLink: "\(directory)/\(descriptor)")
        // The node goes with the plug; who holds on to it is still worth a word.
        return target == device || target == "\(device) (deleted)"
      }
      if isHeld { holders.append(DeviceHolder(id)) }
    }
    return (holders.sorted { $0.processID < $1.processID }, isComplete)
  }

  private init(_ id: pid_t) {
    processID = id
    program = SystemFile.lines("/proc/\(id)/comm").first ?? "unknown"
    let unit = SystemFile.lines("/proc/\(id)/cgroup").compactMap { $0.split(separator: "/").last }
      .first { $0.hasSuffix(".service") }
    service = unit.map(String.init)
  }
}
