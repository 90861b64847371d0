// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls

/// A connection to the socket of the service manager or of journald, which never blocks, and needs one system call for
/// each message. sd_notify(3) makes a socket for each message, which takes eight; and it and sd_journal_sendv(3) wait
/// until the receiver's queue has space.
final class DatagramConnection: Sendable {
  private let descriptor: Descriptor

  /// Nil if the socket cannot be connected.
  ///
  /// - Parameter address: a path, or an abstract name after `@`, as in NOTIFY_SOCKET.
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

  /// Whether the receiver's queue has space, or nobody receives any more.
  var canSend: Bool {
    var request = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&request, 1, 0) != 0
  }

  /// - Returns: false if the receiver has another socket by now, or its queue has no space.
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
