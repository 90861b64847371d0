// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import ExternalInput
import Glibc
import SystemCalls

/// Receives UDP datagrams at an address: unicast, broadcast, and those of a multicast group that it joins. Senders are
/// filtered by `NMEANetworkSession`.
package final class DatagramSocket {
  /// A multicast group and the interface to join it on.
  nonisolated package struct Group: Equatable, Sendable {
    /// A multicast address.
    package var address: IPAddress
    /// As in `eth0`; nil: chosen by the kernel's routes.
    package var interface: String?

    /// - Parameter interface: as in `eth0`; nil: chosen by the kernel's routes.
    package init(_ address: IPAddress, interface: String?) {
      self.address = address
      self.interface = interface
    }
  }

  /// The maximum size of a datagram.
  private static let bufferSize = 65_536
  /// Maximum number of datagrams per iteration of the loop, so that a flood does not block other events.
  private static let maximumPerTurn = 64
  /// Maximum number of datagrams in `readNow`: more than the kernel queues.
  private static let maximumQueued = 1024

  private let descriptor: Descriptor
  private let name: String
  private let group: Group?
  private let onDatagram: (Span<UInt8>, IPAddress, UInt16) -> Void
  private let onEnd: (StreamSocketError) -> Void
  private var source: EventSource<IOEvents>?
  private var buffer = [UInt8](repeating: 0, count: bufferSize)

  /// Starts to receive with the next iteration of the loop.
  ///
  /// - Parameters:
  ///   - host: a numeric address; an IPv6 address without brackets.
  ///   - port: 0: chosen by the kernel.
  ///   - onDatagram: called with each datagram, its sender and the sender's port; the span is valid during the call.
  ///   - onEnd: called once if receiving fails; the socket is then closed.
  /// - Throws: code `inUse`, `unreachable` if no interface has the address or the name, `failed`.
  package init(
    loop: EventLoop, host: String, port: Int, group: Group? = nil,
    onDatagram: @escaping (Span<UInt8>, IPAddress, UInt16) -> Void, onEnd: @escaping (StreamSocketError) -> Void
  ) throws(StreamSocketError) {
    name = ListeningAddress.name(host, port)
    self.group = group
    self.onDatagram = onDatagram
    self.onEnd = onEnd
    do throws(Errno) {
      descriptor = try ListeningAddress.bind(
        host: host, port: port, type: Int32(SOCK_DGRAM.rawValue), reusesAddress: group != nil)
    } catch {
      throw StreamSocketError(name, error)
    }
    try join()
    do {
      source = try loop.addIO(descriptor.rawValue, .readable) { [weak self] _ in
        self?.receive(upTo: DatagramSocket.maximumPerTurn)
      }
    } catch {
      throw StreamSocketError(.failed, "\(name): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit { close() }

  /// The local port.
  package var port: Int? { ListeningAddress.port(of: descriptor.rawValue) }

  /// Closes the socket. Idempotent, and allowed inside its handlers.
  package func close() {
    source?.close()
    source = nil
  }

  /// Joins the group again, for example after its interface was removed and added again.
  ///
  /// - Throws: as `init`; the socket continues without the group.
  package func rejoin() throws(StreamSocketError) {
    guard group != nil else { return }
    _ = try? setMembership(MCAST_LEAVE_GROUP)
    try join()
  }

  private func join() throws(StreamSocketError) {
    guard let group else { return }
    do throws(Errno) {
      try setMembership(MCAST_JOIN_GROUP)
      // Receive only from the groups that this socket joined, not from those that other programs on this machine
      // joined.
      if group.address.isV4 {
        try SocketOption.set(descriptor.rawValue, Int32(IPPROTO_IP), IP_MULTICAST_ALL, 0)
      } else {
        try SocketOption.set(descriptor.rawValue, Int32(IPPROTO_IPV6), IPV6_MULTICAST_ALL, 0)
      }
    } catch {
      let place = group.interface.map { " on \($0)" } ?? ""
      throw StreamSocketError("\(name): the group \(group.address) cannot be joined\(place)", error)
    }
  }

  private func setMembership(_ option: Int32) throws(Errno) {
    guard let group else { return }
    var request = group_req()
    if let interface = group.interface {
      let index = unsafe if_nametoindex(interface)
      guard index != 0 else { throw Errno(ENODEV) }
      request.gr_interface = index
    }
    guard let address = SocketAddress.withoutLookup(host: "\(group.address)", port: "0")?.first else {
      throw Errno(EINVAL)
    }
    _ = unsafe withUnsafeMutableBytes(of: &request.gr_group) { target in
      unsafe address.withSockaddr { source, size in
        unsafe target.copyMemory(from: UnsafeRawBufferPointer(start: source, count: min(Int(size), target.count)))
      }
    }
    let level = Int32(group.address.isV4 ? IPPROTO_IP : IPPROTO_IPV6)
    let rawValue = descriptor.rawValue
    _ = try Errno.retrying {
      unsafe setsockopt(rawValue, level, option, &request, socklen_t(MemoryLayout<group_req>.size))
    }
  }

  /// Stops watching for datagrams; those that arrive are queued in the kernel, as many as it stores.
  package func pause() { source?.watch(for: []) }

  /// Watches for datagrams again.
  package func watch() { source?.watch(for: .readable) }

  /// Reports the datagrams that have arrived.
  package func readNow() { receive(upTo: DatagramSocket.maximumQueued) }

  private func receive(upTo limit: Int) {
    for _ in 0..<limit {
      // A handler may have closed the socket.
      guard source != nil else { return }
      var storage = sockaddr_storage()
      let count: Int
      do throws(Errno) {
        count = try receive(from: &storage)
      } catch {
        // An ICMP error for a datagram does not concern a receiver, and the next call succeeds again.
        guard error.code != EAGAIN, error.code != ECONNREFUSED else { return }
        return end(StreamSocketError(name, error))
      }
      guard let sender = ListeningAddress.address(in: storage) else { continue }
      let buffer = buffer
      onDatagram(buffer.span.extracting(first: count), sender, ListeningAddress.port(in: storage))
    }
  }

  private func receive(from storage: inout sockaddr_storage) throws(Errno) -> Int {
    let rawValue = descriptor.rawValue
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return try Errno.retrying {
      unsafe withUnsafeMutablePointer(to: &storage) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          unsafe buffer.withUnsafeMutableBytes {
            unsafe recvfrom(rawValue, $0.baseAddress, $0.count, 0, address, &size)
          }
        }
      }
    }
  }

  private func end(_ error: StreamSocketError) {
    close()
    onEnd(error)
  }
}
