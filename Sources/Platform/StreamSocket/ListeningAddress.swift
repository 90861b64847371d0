// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Glibc
import SystemCalls

/// Functions for listening sockets of TCP and UDP.
nonisolated enum ListeningAddress {
  /// Host and port, for messages.
  static func name(_ host: String, _ port: Int) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// A nonblocking, close-on-exec socket bound to a numeric address. `::` also accepts IPv4.
  ///
  /// - Parameter reusesAddress: whether to set SO_REUSEADDR. With it a TCP server can bind its address right after a
  ///   restart, and programs share the datagrams of a group; but the program that was started last would get all
  ///   unicast datagrams.
  static func bind(host: String, port: Int, type: Int32, reusesAddress: Bool) throws(Errno) -> Descriptor {
    guard let address = SocketAddress.withoutLookup(host: host, port: String(port))?.first else { throw Errno(EINVAL) }
    let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = Descriptor(owning: try Errno.retrying { socket(address.family, type | flags, 0) })
    let rawValue = descriptor.rawValue
    if reusesAddress { try SocketOption.enable(rawValue, SOL_SOCKET, SO_REUSEADDR) }
    if address.family == AF_INET6 { try SocketOption.set(rawValue, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    _ = try Errno.retrying { unsafe address.withSockaddr { unsafe Glibc.bind(rawValue, $0, $1) } ?? -1 }
    return descriptor
  }

  /// The peer of a connection; nil if the connection is closed.
  static func peer(of descriptor: Int32) -> IPAddress? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getpeername(descriptor, $0, &size) }
    }
    return result == 0 ? address(in: storage) : nil
  }

  /// The local port; nil if the socket has none.
  static func port(of descriptor: Int32) -> Int? {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = unsafe withUnsafeMutablePointer(to: &storage) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe getsockname(descriptor, $0, &size) }
    }
    return result == 0 ? Int(port(in: storage)) : nil
  }

  /// The port in a `sockaddr` of IPv4 or IPv6.
  static func port(in storage: sockaddr_storage) -> UInt16 {
    // The port has the same offset in both families.
    let bytes = bytes(of: storage)
    return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
  }

  /// The address in a `sockaddr`; nil for another family.
  static func address(in storage: sockaddr_storage) -> IPAddress? {
    let bytes = bytes(of: storage)
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    switch Int32(storage.ss_family) {
    case AF_INET: return IPAddress(v4: UInt32(truncatingIfNeeded: number(4..<8)))
    case AF_INET6: return IPAddress(high: number(8..<16), low: number(16..<24))
    default: return nil
    }
  }

  /// The first 24 bytes, which contain port and address of both families.
  private static func bytes(of storage: sockaddr_storage) -> [UInt8] {
    var storage = storage
    return unsafe withUnsafeBytes(of: &storage) { unsafe Array($0.prefix(24)) }
  }
}
