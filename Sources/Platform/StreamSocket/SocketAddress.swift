// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An IPv4 or IPv6 address with a port, for a system call.
nonisolated struct SocketAddress: Equatable {
  /// AF_INET or AF_INET6.
  let family: Int32
  /// The bytes of its `sockaddr`.
  private let bytes: [UInt8]

  /// The addresses in a getaddrinfo(3) list, in order.
  static func all(in list: UnsafePointer<addrinfo>?) -> [SocketAddress] {
    var addresses: [SocketAddress] = []
    var next = unsafe list
    while let info = unsafe next?.pointee {
      if let address = unsafe info.ai_addr {
        let bytes = unsafe UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
        addresses.append(SocketAddress(family: unsafe info.ai_family, bytes: unsafe Array(bytes)))
      }
      unsafe next = UnsafePointer(info.ai_next)
    }
    return addresses
  }

  /// Addresses that need no lookup: a numeric address, or those of `localhost` (RFC 6761). Nil if the host is a name.
  static func withoutLookup(host: String, port: String) -> [SocketAddress]? {
    if host.lowercased() == "localhost" {
      return (withoutLookup(host: "127.0.0.1", port: port) ?? []) + (withoutLookup(host: "::1", port: port) ?? [])
    }
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(host, port, &hints, &list) == 0, let list = unsafe list else { return nil }
    defer { unsafe freeaddrinfo(list) }
    return unsafe all(in: list)
  }

  /// Passes the address to a system call.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result? {
    unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else { return nil }
      return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(buffer.count))
    }
  }
}
