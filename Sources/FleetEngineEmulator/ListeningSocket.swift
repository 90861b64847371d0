// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A listening TCP socket, on the loopback interface unless `isPublic`.
struct ListeningSocket: ~Copyable {
  private let descriptor: Int32
  /// The requested port, or the free one that was selected.
  let port: UInt16

  /// - Parameters:
  ///   - address: `127.0.0.1`, another address of 127.0.0.0/8, or `::1`.
  ///   - port: 0 selects a free port.
  ///   - isPublic: whether addresses that other machines can reach are allowed.
  /// - Throws: `EmulatorError` if the address is not allowed, or the port is in use.
  init(address: String, port: UInt16, isPublic: Bool = false) throws(EmulatorError) {
    var storage = sockaddr_storage()
    var (four, six) = (in_addr(), in6_addr())
    let size: Int
    if unsafe inet_pton(AF_INET, address, &four) == 1,
      isPublic || UInt32(bigEndian: four.s_addr) >> 24 == 127
    {
      size = MemoryLayout<sockaddr_in>.size
      let name = sockaddr_in(
        sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian, sin_addr: four, sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
      unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: name, as: sockaddr_in.self) }
    } else if unsafe inet_pton(AF_INET6, address, &six) == 1, isPublic || address == "::1" {
      size = MemoryLayout<sockaddr_in6>.size
      let name = sockaddr_in6(
        sin6_family: sa_family_t(AF_INET6), sin6_port: port.bigEndian, sin6_flowinfo: 0, sin6_addr: six,
        sin6_scope_id: 0)
      unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0.storeBytes(of: name, as: sockaddr_in6.self) }
    } else {
      throw EmulatorError(
        .address,
        isPublic
          ? "cannot listen on \(address): expected an IPv4 or IPv6 address of this machine"
          : "cannot listen on \(address): every client gets tokens, so it listens on 127.0.0.1 or ::1 only")
    }
    let descriptor = socket(Int32(storage.ss_family), Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Self.failure(address, port) }
    var one: Int32 = 1
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var length = socklen_t(size)
    let bound = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        guard unsafe bind(descriptor, pointer, length) == 0, listen(descriptor, 1024) == 0 else { return false }
        return unsafe getsockname(descriptor, pointer, &length) == 0
      }
    }
    guard bound else {
      let error = Self.failure(address, port)
      _ = close(descriptor)
      throw error
    }
    // The port has the same offset in both address structures.
    self.port = unsafe withUnsafeBytes(of: storage) {
      unsafe UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self))
    }
    self.descriptor = descriptor
  }

  deinit { _ = close(descriptor) }

  /// Passes the ownership of the socket to a library that closes it.
  consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  private static func failure(_ address: String, _ port: UInt16) -> EmulatorError {
    let code = errno
    let reason = unsafe String(cString: strerror(code))
    let advice =
      switch code {
      case EADDRNOTAVAIL: "; this machine has no such address"
      case EADDRINUSE, EACCES: "; --port 0 selects a free port"
      default: ""
      }
    return EmulatorError(.listening, "cannot listen on \(address) port \(port): \(reason)\(advice)")
  }
}
