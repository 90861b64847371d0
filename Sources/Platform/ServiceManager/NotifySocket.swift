// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// A connection to the service manager's socket for notifications: one system call for each message. sd_notify(3) makes
/// a socket for each message, which takes eight.
final class NotifySocket: Sendable {
  private let descriptor: Descriptor

  /// Nil if the socket cannot be connected.
  ///
  /// - Parameter address: NOTIFY_SOCKET: a path, or an abstract name after `@`.
  init?(_ address: String) {
    var bytes = Array(address.utf8)
    var socketAddress = sockaddr_un()
    socketAddress.sun_family = sa_family_t(AF_UNIX)
    let isAbstract = bytes.first == UInt8(ascii: "@")
    guard isAbstract || bytes.first == UInt8(ascii: "/"),
      bytes.count < MemoryLayout.size(ofValue: socketAddress.sun_path)
    else { return nil }
    if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
    unsafe withUnsafeMutableBytes(of: &socketAddress.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    do {
      let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
      let descriptor = Descriptor(owning: try Errno.retrying { socket(AF_UNIX, type, 0) })
      let rawValue = descriptor.rawValue
      _ = try Errno.retrying {
        unsafe withUnsafePointer(to: &socketAddress) {
          unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe connect(rawValue, $0, size) }
        }
      }
      self.descriptor = descriptor
    } catch {
      return nil
    }
  }

  /// - Returns: false if the manager has another socket by now, or cannot accept the message at once.
  func send(_ message: String) -> Bool {
    let bytes = Array(message.utf8)
    let sent = try? Errno.retrying {
      unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.send(descriptor.rawValue, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
    }
    return sent == bytes.count
  }
}
