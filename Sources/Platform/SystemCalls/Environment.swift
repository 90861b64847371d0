// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// The environment variables of this process, and its attributes.
package enum Environment {
  /// The value of a variable, with invalid UTF-8 replaced; nil if it is not set. It may be empty.
  package static func value(of name: String) -> String? {
    unsafe getenv(name).map { unsafe String(cString: $0) }
  }

  /// The service's own directory among those of a variable such as `STATE_DIRECTORY`, which are separated by colons. A
  /// drop-in of the unit may add directories, and systemd 252 and later sorts them by name.
  ///
  /// - Parameter paths: the variable's value; nil if it is not set.
  /// - Returns: the first one whose name begins as the packaged units' does, otherwise the first one; nil if there is
  ///   none.
  package static func serviceDirectory(in paths: String?) -> String? {
    let paths = paths?.split(separator: ":") ?? []
    let own = paths.first { $0.split(separator: "/").last?.hasPrefix("fleet-locationd") == true }
    return (own ?? paths.first).map(String.init)
  }

  /// The path of this process's executable; nil if /proc is not mounted.
  package static var executablePath: String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes { bytes in
      guard let first = bytes.baseAddress else { return -1 }
      return unsafe readlink("/proc/self/exe", first.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }

  /// Forbids core files of this process, which would contain its secrets, and prevents other processes of its user from
  /// reading its memory. Programs that it executes are not affected.
  package static func forbidCoreFiles() { fleet_forbid_core_files() }

  /// Sets a variable for this process and its children.
  package static func set(_ name: String, to value: String) {
    _ = unsafe setenv(name, value, 1)
  }
}
