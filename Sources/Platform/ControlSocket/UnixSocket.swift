// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import SystemCalls

/// System calls of unix(7) for both ends.
nonisolated enum UnixSocket {
  static func make(_ flags: Int32) throws(Errno) -> Descriptor {
    Descriptor(
      owning: try Errno.retrying {
        socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0)
      })
  }

  /// Passes the address of a path to a call such as bind(2) or connect(2).
  ///
  /// - Throws: ENAMETOOLONG, or the call's error.
  static func withAddress(
    _ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(Errno) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    // One byte is reserved for the NUL.
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { throw Errno(ENAMETOOLONG) }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    _ = try Errno.retrying {
      unsafe withUnsafePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
  }

  /// The credentials of the peer when it connected (SO_PEERCRED).
  static func peer(of descriptor: Int32) throws(Errno) -> (user: uid_t, group: gid_t) {
    var user = uid_t.max
    var group = gid_t.max
    _ = try Errno.retrying { unsafe fleet_peer(descriptor, &user, &group) }
    return (user, group)
  }
}
