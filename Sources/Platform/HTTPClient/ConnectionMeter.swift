// SPDX-License-Identifier: Apache-2.0
import CCurl
import CLinux
package import Connectivity
import Glibc

/// Counts the TCP traffic of one or more clients in libcurl's socket callbacks, including failed attempts and Happy
/// Eyeballs. It costs a system call per closed connection, and one per open connection for each reading.
@safe package final class ConnectionMeter {
  private var meter = TCPMeter()
  /// The sockets that use IPv6.
  private var ipv6Sockets: Set<Int32> = []

  package init() {}

  /// The traffic so far. Segments after a close (FIN and acknowledgements) are not counted, and nothing is counted
  /// if the kernel does not have these counters (before 4.19).
  package var traffic: TCPTraffic {
    for descriptor in meter.openDescriptors {
      if let counted = counters(of: descriptor) { meter.record(descriptor, counted) }
    }
    return meter.total
  }

  /// Counts the sockets of a handle. This object must outlive them, so `TransferDriver` retains it.
  func watch(_ easy: borrowing EasyHandle) throws(CurlOptionError) {
    let context = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    try unsafe easy.set(CURLOPT_OPENSOCKETDATA, pointer: context)
    try unsafe easy.set(CURLOPT_CLOSESOCKETDATA, pointer: context)
    try easy.check(
      CURLOPT_OPENSOCKETFUNCTION,
      unsafe fleet_easy_set_open_callback(easy.raw) { context, _, address in
        guard let address = unsafe address?.pointee else { return -1 }
        let descriptor = fleet_socket_open(address.family, address.socktype, address.protocol)
        unsafe ConnectionMeter.at(context)?.opened(descriptor, isIPv6: address.family == AF_INET6)
        return descriptor
      })
    try easy.check(
      CURLOPT_CLOSESOCKETFUNCTION,
      unsafe fleet_easy_set_close_callback(easy.raw) { context, descriptor in
        unsafe ConnectionMeter.at(context)?.willClose(descriptor)
        return close(descriptor)
      })
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> ConnectionMeter? {
    unsafe context.map { unsafe Unmanaged<ConnectionMeter>.fromOpaque($0).takeUnretainedValue() }
  }

  private func opened(_ descriptor: Int32, isIPv6: Bool) {
    guard descriptor >= 0 else { return }
    meter.opened(descriptor)
    if isIPv6 { ipv6Sockets.insert(descriptor) } else { ipv6Sockets.remove(descriptor) }
  }

  private func willClose(_ descriptor: Int32) {
    meter.willClose(descriptor, counters(of: descriptor))
    ipv6Sockets.remove(descriptor)
  }

  private func counters(of descriptor: Int32) -> TCPTraffic? {
    var counters = fleet_tcp_counters()
    guard unsafe fleet_tcp_read(descriptor, &counters) == 0 else { return nil }
    return TCPTraffic(
      sent: counters.sent, received: counters.received, retransmitted: counters.retransmitted,
      segmentsSent: counters.segments_sent, segmentsReceived: counters.segments_received,
      headerSize: TCPTraffic.headerSize(
        isIPv6: ipv6Sockets.contains(descriptor), hasTimestamps: counters.has_timestamps))
  }
}
