// SPDX-License-Identifier: Apache-2.0
package import Glibc
package import SystemCalls

/// What the system knows of a device without opening it.
package nonisolated struct DeviceStatus: Equatable, Sendable {
  /// What stands at the path.
  package enum Kind: Equatable, Sendable {
    case characterDevice
    case directory
    case other
  }

  /// Where the path leads, links followed.
  package var resolvedPath: String
  package var kind: Kind
  /// User who owns the file.
  package var owner: uid_t
  /// Group of the file, as `dialout`'s.
  package var group: gid_t
  /// The permission bits.
  package var mode: mode_t
  /// Device number, which names the driver; 0 for what is no device.
  package var major: UInt32
  /// Device number, which tells it from others of its driver.
  package var minor: UInt32
  /// What /proc/devices calls its class, as in `ttyUSB`; several where they share a number.
  package var classes: [String]

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

  /// Why there is nothing to tell.
  package enum Refusal: Error, Equatable, Sendable {
    case missing
    /// A link to what is not there.
    case dangling(target: String)
    /// A directory on the way is closed to this user.
    case denied
    /// What the system said.
    case failed(Errno)
  }

  /// Looks at a path.
  package static func of(_ path: String) throws(Refusal) -> DeviceStatus {
    var status = stat()
    do throws(Errno) {
      _ = try Errno.retrying { unsafe stat(path, &status) }
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR:
        if let target = SystemFile.target(ofLink: path) { throw .dangling(target: target) }
        throw .missing
      case EACCES: throw .denied
      default: throw .failed(error)
      }
    }
    let kind: Kind =
      switch status.kind {
      case S_IFCHR: .characterDevice
      case S_IFDIR: .directory
      default: .other
      }
    return DeviceStatus(
      resolvedPath: SystemFile.resolved(path) ?? path, kind: kind, owner: status.st_uid, group: status.st_gid,
      mode: status.st_mode & 0o7777, major: status.deviceMajor, minor: status.deviceMinor,
      classes: kind == .characterDevice ? DeviceClasses().names(of: status.deviceMajor) : [])
  }
}

/// What the kernel calls its character devices, by their major numbers: /proc/devices, which a service may not see.
package nonisolated struct DeviceClasses: Codable, Equatable, Sendable {
  private var names: [UInt32: [String]] = [:]

  /// Reads them; none where they cannot be read.
  package init() {
    for line in SystemFile.lines("/proc/devices") {
      // Block devices have numbers of their own, and come second.
      if line.hasPrefix("Block") { break }
      let words = line.split(separator: " ")
      if words.count == 2, let major = UInt32(words[0]) { names[major, default: []].append(String(words[1])) }
    }
  }

  /// Several where they share a number; none for one that is not known.
  package func names(of major: UInt32) -> [String] { names[major] ?? [] }
}
