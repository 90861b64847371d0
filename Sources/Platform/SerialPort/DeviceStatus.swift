// SPDX-License-Identifier: Apache-2.0
package import Glibc
package import SystemCalls

/// The state of a device, without opening it.
package nonisolated struct DeviceStatus: Equatable, Sendable {
  /// The kind of file.
  package enum Kind: Equatable, Sendable {
    case characterDevice
    case directory
    case other
  }

  /// The resolved path.
  package var resolvedPath: String
  package var kind: Kind
  /// The file's owner.
  package var owner: uid_t
  /// The file's group, such as `dialout`.
  package var group: gid_t
  /// The permission bits.
  package var mode: mode_t
  /// The major device number, which identifies the driver; 0 if the file is not a device.
  package var major: UInt32
  /// The minor device number, which identifies the device among those of its driver.
  package var minor: UInt32
  /// The device's class in /proc/devices, as in `ttyUSB`; several if they share a number.
  package var classes: [String]
  /// Whether a program has made it with openpty(3); udev rules do not apply to it.
  package var isPseudoTerminal: Bool { classes.contains("pts") || resolvedPath.hasPrefix("/dev/pts/") }

  /// Whether udev, by the rules of ModemManager, knows the device as a modem's port for AT commands.
  package var isCommandPort = false

  package init(
    resolvedPath: String, kind: Kind, owner: uid_t, group: gid_t, mode: mode_t, major: UInt32, minor: UInt32,
    classes: [String]
  ) {
    self.resolvedPath = resolvedPath
    self.kind = kind
    self.owner = owner
    self.group = group
    self.mode = mode
    self.major = major
    self.minor = minor
    self.classes = classes
  }

  /// Why the state is unknown.
  package enum Refusal: Error, Equatable, Sendable {
    case missing
    /// A dangling link.
    case dangling(target: String)
    /// A directory of the path is not accessible to this user.
    case permissionDenied
    /// Any other error.
    case failed(Errno)
  }

  /// Examines a path.
  package static func of(_ path: String) throws(Refusal) -> DeviceStatus {
    var status = stat()
    do throws(Errno) {
      _ = try Errno.retrying { unsafe stat(path, &status) }
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR:
        if let target = SystemFile.target(ofLink: path) { throw .dangling(target: target) }
        throw .missing
      case EACCES: throw .permissionDenied
      default: throw .failed(error)
      }
    }
    let kind: Kind =
      switch status.kind {
      case S_IFCHR: .characterDevice
      case S_IFDIR: .directory
      default: .other
      }
    var device = DeviceStatus(
      resolvedPath: SystemFile.resolved(path) ?? path, kind: kind, owner: status.st_uid, group: status.st_gid,
      mode: status.st_mode & 0o7777, major: status.deviceMajor, minor: status.deviceMinor,
      classes: kind == .characterDevice ? DeviceClasses().names(of: status.deviceMajor) : [])
    device.isCommandPort =
      kind == .characterDevice
      && isCommandPort(SystemFile.lines("/run/udev/data/c\(device.major):\(device.minor)"))
    return device
  }

  /// - Parameter database: the lines of the device in udev's database, as in `E:ID_MM_PORT_TYPE_AT_PRIMARY=1`.
  static func isCommandPort(_ database: [String]) -> Bool {
    database.contains { line in
      ["PRIMARY", "SECONDARY", "PPP"].contains { line == "E:ID_MM_PORT_TYPE_AT_\($0)=1" }
    }
  }
}

/// The classes of character devices by major number, from /proc/devices, which may be hidden from a service.
package nonisolated struct DeviceClasses: Codable, Equatable, Sendable {
  private var names: [UInt32: [String]] = [:]

  /// Reads the classes; there are none if the file cannot be read.
  package init() {
    for line in SystemFile.lines("/proc/devices") {
      // Block devices have separate numbers, and come after the character devices.
      if line.hasPrefix("Block") { break }
      let words = line.split(separator: " ")
      if words.count == 2, let major = UInt32(words[0]) { names[major, default: []].append(String(words[1])) }
    }
  }

  /// The classes of a major number: several if they share it; none if it is unknown.
  package func names(of major: UInt32) -> [String] { names[major] ?? [] }
}
