// SPDX-License-Identifier: Apache-2.0

/// A message of rtnetlink(7), reduced to what is used here: links, global addresses, default routes.
package enum NetlinkMessage: Equatable, Sendable {
  /// A network interface, new or changed.
  case link(NetworkTable.Link)
  case linkGone(index: Int32)
  /// A global address.
  case address(NetworkTable.Address)
  case addressGone(NetworkTable.Address)
  case defaultRoute(NetworkTable.Route)
  case defaultRouteGone(NetworkTable.Route)
  /// A dump is complete.
  case done
  /// The kernel rejected a request with this errno (0: an acknowledgement).
  case refused(errno: Int32)
  /// The kernel dropped messages.
  case overrun
  /// Anything else: a host route, a neighbour, an address in duplicate address detection.
  case other

  /// The header of a message.
  package struct Header: Equatable, Sendable {
    package var type: UInt16
    /// NLM_F_MULTI and so on.
    package var flags: UInt16
    /// The sequence number of the request.
    package var sequence: UInt32

    /// Part of a dump: NLM_F_MULTI, which notifications do not have.
    package var isPartOfDump: Bool { flags & 0x2 != 0 }
    /// The dump is inconsistent: NLM_F_DUMP_INTR.
    package var isInterrupted: Bool { flags & 0x10 != 0 }
  }

  /// All messages of one datagram, in order, up to the first malformed one.
  package static func decode(_ datagram: [UInt8]) -> [(header: Header, message: NetlinkMessage)] {
    var messages: [(header: Header, message: NetlinkMessage)] = []
    var reader = NetlinkReader(datagram[...])
    while let length = reader.number(UInt32.self), let type = reader.number(UInt16.self),
      let flags = reader.number(UInt16.self), let sequence = reader.number(UInt32.self), reader.skip(4),
      let count = Int(exactly: length), count >= 16, let payload = reader.read(count - 16)
    {
      let header = Header(type: type, flags: flags, sequence: sequence)
      messages.append((header, NetlinkMessage(type: type, payload: payload)))
      reader.align(count)
    }
    return messages
  }

  /// - Parameter payload: the data after the header.
  private init(type: UInt16, payload: ArraySlice<UInt8>) {
    let reader = NetlinkReader(payload)
    switch type {
    case 2: self = NetlinkMessage.refusal(reader)
    case 3: self = .done
    case 4: self = .overrun
    case 16, 17: self = NetlinkMessage.link(reader, isGone: type == 17) ?? .other
    case 20, 21: self = NetlinkMessage.address(reader, isGone: type == 21) ?? .other
    case 24, 25: self = NetlinkMessage.route(reader, isGone: type == 25) ?? .other
    default: self = .other
    }
  }

  private static func refusal(_ reader: NetlinkReader) -> NetlinkMessage {
    var reader = reader
    guard let code = reader.number(Int32.self) else { return .other }
    return .refused(errno: code == .min ? .max : abs(code))
  }

  /// struct ifinfomsg, and IFLA_IFNAME.
  private static func link(_ reader: NetlinkReader, isGone: Bool) -> NetlinkMessage? {
    var reader = reader
    // A bridge reports its ports in messages of the bridge family, which do not mean that a port itself has gone.
    guard let family = reader.number(UInt8.self), family == 0, reader.skip(3), let index = reader.number(Int32.self),
      let flags = reader.number(UInt32.self), reader.skip(4)
    else { return nil }
    if isGone { return .linkGone(index: index) }
    var name = ""
    reader.attributes { type, value in
      if type == 3 { name = String(decoding: value.prefix { $0 != 0 }, as: UTF8.self) }
    }
    // IFF_UP, IFF_LOOPBACK, IFF_RUNNING.
    return .link(
      NetworkTable.Link(
        index: index, name: name, isUp: flags & 0x1 != 0, isRunning: flags & 0x40 != 0, isLoopback: flags & 0x8 != 0))
  }

  /// struct ifaddrmsg, IFA_ADDRESS, IFA_LOCAL and IFA_FLAGS.
  private static func address(_ reader: NetlinkReader, isGone: Bool) -> NetlinkMessage? {
    var reader = reader
    guard let family = NetworkTable.Family(rawValue: reader.number(UInt8.self) ?? 0), reader.skip(1),
      let shortFlags = reader.number(UInt8.self), let scope = reader.number(UInt8.self),
      let index = reader.number(Int32.self)
    else { return nil }
    var flags = UInt32(shortFlags)
    var address: [UInt8]?
    var local: [UInt8]?
    reader.attributes { type, value in
      switch type {
      case 1: address = Array(value)
      case 2: local = Array(value)
      case 8:
        var payload = NetlinkReader(value)
        flags = payload.number(UInt32.self) ?? flags
      default: break
      }
    }
    // RT_SCOPE_UNIVERSE is 0. On a point-to-point link, IFA_ADDRESS is the peer.
    guard scope == 0, let bytes = local ?? address, bytes.count == family.addressLength else { return nil }
    let value = NetworkTable.Address(link: index, family: family, bytes: bytes)
    if isGone { return .addressGone(value) }
    // IFA_F_TENTATIVE without IFA_F_OPTIMISTIC, or IFA_F_DADFAILED: not usable as a source address.
    let isTentative = flags & 0x40 != 0 && flags & 0x4 == 0
    return isTentative || flags & 0x8 != 0 ? nil : .address(value)
  }

  /// struct rtmsg, RTA_OIF, RTA_GATEWAY, RTA_PRIORITY, RTA_MULTIPATH, RTA_TABLE.
  private static func route(_ reader: NetlinkReader, isGone: Bool) -> NetlinkMessage? {
    var reader = reader
    guard let family = NetworkTable.Family(rawValue: reader.number(UInt8.self) ?? 0),
      let prefixLength = reader.number(UInt8.self), reader.skip(2), let table = reader.number(UInt8.self),
      reader.skip(2), let type = reader.number(UInt8.self), let flags = reader.number(UInt32.self)
    else { return nil }
    // OpenVPN's redirect-gateway adds 0.0.0.0/1 and 128.0.0.0/1, or 2000::/4 and 3000::/4.
    guard prefixLength <= (family == .ipv4 ? 1 : 4) else { return nil }
    // RTN_UNICAST: an unreachable or blackhole default route is useless. RTM_F_CLONED; RTNH_F_DEAD, which a removed
    // route may have.
    guard type == 1, flags & 0x200 == 0, isGone || flags & 0x1 == 0 else { return nil }
    var route = NetworkTable.Route(
      family: family, links: [], gateway: [], priority: 0, prefixLength: prefixLength, table: UInt32(table))
    reader.attributes { type, value in
      var payload = NetlinkReader(value)
      switch type {
      case 4: route.links += payload.number(Int32.self).map { [$0] } ?? []
      case 5: route.gateway = Array(value)
      case 6: route.priority = payload.number(UInt32.self) ?? 0
      case 9: route.links += payload.nextHops()
      case 15: route.table = payload.number(UInt32.self) ?? UInt32(table)
      default: break
      }
    }
    return isGone ? .defaultRouteGone(route) : .defaultRoute(route)
  }
}
