// SPDX-License-Identifier: Apache-2.0
package import Glibc
import SystemCalls

/// A process that has a device open.
package nonisolated struct DeviceHolder: Codable, Equatable, Sendable {
  /// The process that has the device open.
  package var processID: pid_t
  /// The process's name, as in `gpsd`.
  package var program: String
  /// The process's systemd service, as in `gpsd.service`; nil if it has none, or if this cannot be the name of a unit.
  package var service: String?
  /// Whether the process has the other end of a pseudo-terminal open, and so feeds the device.
  package var isFeeding: Bool

  package init(processID: pid_t, program: String, service: String?, isFeeding: Bool = false) {
    self.processID = processID
    self.program = program
    self.service = service.flatMap { $0.utf8.allSatisfy(DeviceHolder.mayBeInUnitName) ? $0 : nil }
    self.isFeeding = isFeeding
  }

  /// Whether a byte is allowed in the name of a unit (systemd.unit(5)). A user may give a control group any name, and
  /// `doctor` shows the name as part of a command for root.
  private static func mayBeInUnitName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: ":-_.\\@".utf8.contains(byte)
    }
  }

  fileprivate init(_ id: pid_t, isFeeding: Bool) {
    let unit = SystemFile.lines("/proc/\(id)/cgroup").compactMap { $0.split(separator: "/").last }
      .first { $0.hasSuffix(".service") }
    self.init(
      processID: id, program: SystemFile.lines("/proc/\(id)/comm").first ?? "unknown", service: unit.map(String.init),
      isFeeding: isFeeding)
  }
}

/// The processes that have devices open, except this one. Processes of other users are visible only to root.
package nonisolated struct DeviceHolders: Codable, Equatable, Sendable {
  /// The processes, by the resolved path of the device.
  private var holders: [String: [DeviceHolder]] = [:]
  /// Whether all processes could be examined.
  package private(set) var isComplete = true

  /// Examines all processes.
  package init() {
    let terminals = DeviceHolders.fileSystem("/dev/pts"), devices = DeviceHolders.fileSystem("/dev")
    for id in (SystemFile.names(in: "/proc") ?? []).compactMap({ pid_t($0) }).sorted() where id != getpid() {
      let directory = "/proc/\(id)/fd"
      guard let descriptors = SystemFile.names(in: directory) else {
        // The process may also have ended since.
        if unsafe access("/proc/\(id)", F_OK) == 0 { isComplete = false }
        continue
      }
      var open: Set<String> = [], fed: Set<String> = []
      for descriptor in descriptors {
        let link = "\(directory)/\(descriptor)"
        guard let device = DeviceHolders.device(SystemFile.target(ofLink: link)) else { continue }
        if device.hasPrefix("/dev/pts/") || device.hasSuffix("/ptmx") {
          // A container numbers its pseudo-terminals independently, in a file system of its own.
          guard let place = DeviceHolders.fileSystem(link), place == terminals || place == devices else { continue }
        }
        open.insert(device)
        guard device.hasSuffix("/ptmx") else { continue }
        let terminal = DeviceHolders.terminal(SystemFile.lines("/proc/\(id)/fdinfo/\(descriptor)"))
        if let terminal { fed.insert(terminal) }
      }
      for device in open.union(fed) {
        holders[device, default: []].append(DeviceHolder(id, isFeeding: fed.contains(device)))
      }
    }
  }

  /// The processes that have a device open, by process ID.
  ///
  /// - Parameter device: the resolved path.
  package func holders(of device: String) -> [DeviceHolder] { holders[device] ?? [] }

  /// The pseudo-terminal that belongs to an open master, from the master's lines in /proc/PID/fdinfo (proc(5)).
  static func terminal(_ lines: [String]) -> String? {
    for line in lines {
      let words = line.split { $0 == ":" || $0 == " " || $0 == "\t" }
      if words.count == 2, words[0] == "tty-index", let index = UInt32(words[1]) { return "/dev/pts/\(index)" }
    }
    return nil
  }

  /// The number of the file system in which a path is; nil if it cannot be examined.
  private static func fileSystem(_ path: String) -> dev_t? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_dev : nil
  }

  private static let deletedSuffix = " (deleted)"

  /// The target of a descriptor, if it is under /dev. A removed device is reported as well.
  private static func device(_ target: String?) -> String? {
    guard let target, target.hasPrefix("/dev/"), target != "/dev/null" else { return nil }
    return target.hasSuffix(deletedSuffix) ? String(target.dropLast(deletedSuffix.count)) : target
  }
}
