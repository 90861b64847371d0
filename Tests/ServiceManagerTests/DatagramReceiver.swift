// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Glibc
import Testing

/// A socket such as that of a service manager or of journald, in a directory of its own.
final class DatagramReceiver {
  private let directory: TemporaryDirectory
  private var descriptor: Int32 = -1

  var path: String { directory("socket") }

  init() throws {
    directory = try TemporaryDirectory()
    try bindAnew()
  }

  /// Closes the previous socket, and binds a new one at the same path.
  func bindAnew() throws {
    let path = path
    close(descriptor)
    unlink(path)
    descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    try #require(isBound)
  }

  deinit { close(descriptor) }

  /// The next datagram, which has already arrived: sending is synchronous.
  func receive() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
  }
}
