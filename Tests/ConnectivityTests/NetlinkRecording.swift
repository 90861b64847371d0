// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Connectivity

/// Messages of a Linux kernel (6.18) in a network namespace with two veth pairs; `Recordings` contains the unchanged
/// datagrams.
enum NetlinkRecording: String {
  case links, addresses, routes, multipath
  case routesWithoutAddress = "routes-without-address"
  case carrierLost = "carrier-lost"
  case addressGone = "address-gone"
  case linkGone = "link-gone"

  /// The datagrams, with this number in place of the recorded sequence number, 77.
  func bytes(sequence: UInt32 = 77) throws -> [UInt8] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "Recordings/\(rawValue)")
    var bytes = [UInt8](try Data(contentsOf: path))
    var offset = 0
    while offset + 16 <= bytes.count {
      let length = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
      try #require(length >= 16)
      if bytes[offset + 8] == 77 {
        for place in 0..<4 { bytes[offset + 8 + place] = UInt8(truncatingIfNeeded: sequence >> UInt32(place * 8)) }
      }
      offset += (length + 3) & ~3
    }
    return bytes
  }

  func messages() throws -> [NetlinkMessage] { NetlinkMessage.decode(try bytes()).map(\.message) }
}
