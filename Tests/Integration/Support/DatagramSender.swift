// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Sends datagrams to a port of 127.0.0.1.
final class DatagramSender {
  private let descriptor: Int32

  /// - Parameter address: the source address, in 127.0.0.0/8.
  init(to port: UInt16, from address: UInt32 = 0x7F00_0001) throws {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var own = Loopback.address(0)
    own.sin_addr.s_addr = address.bigEndian
    guard call(bind, own) == 0, call(connect, Loopback.address(port)) == 0 else {
      throw TestFailure("a sender of datagrams: \(String(cString: strerror(errno)))")
    }
  }

  deinit { close(descriptor) }

  /// Sends a datagram; it is lost if no program receives on the port.
  func send(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  private func call(
    _ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ address: sockaddr_in
  ) -> Int32 {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        function(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
