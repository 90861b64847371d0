// SPDX-License-Identifier: Apache-2.0
// Feeds the session that reads NMEA from the network with inputs from libFuzzer: lines as datagrams and portions of
// streams, from senders that connect, disconnect and are not permitted, while time elapses.
//
// The first byte of a line is a command: its low five bits are the sender, of which 0 to 15 are permitted; with 64 the
// line has no end; with 128 the sender uses its other port, or disconnects. Then 20 ms elapse for each unit of it.
//
//   scripts/fuzz.sh 60 FuzzSenders
import ExternalInput
import FixSources
import Positioning
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let text = String(decoding: input.prefix(64), as: UTF8.self)
  if let address = IPAddress(text) {
    precondition(IPAddress("\(address)") == address, "an address is written as another")
  }
  if let range = AddressRange(text) { precondition(AddressRange("\(range)") == range && range.contains(range.first)) }
  for transport in [.connection, .listener(maximumConnections: 3), .datagrams(isMulticast: true)]
    as [NMEANetworkSession.Transport]
  {
    converse(input, transport)
  }
  return 0
}

private func converse(_ input: [UInt8], _ transport: NMEANetworkSession.Transport) {
  var session = NMEANetworkSession(
    name: "net", transport: transport, allow: [AddressRange("10.0.0.0/28")].compactMap(\.self),
    silenceTimeout: .seconds(10), seed: 1)
  var now = BootInstant.boot
  var connected: [Int] = []
  func follow(_ effects: [SourceEffect]) {
    for effect in effects {
      switch effect {
      case .line(.open): follow(session.handle(.opened(), at: now))
      case .report(.fix(let fix)):
        precondition(fix.heading.map { (0..<360).contains($0) } ?? true)
        precondition(fix.speed.map { $0 >= 0 && $0.isFinite } ?? true)
      case .line, .report: break
      }
    }
  }
  follow(session.handle(.start, at: now))
  for line in input.split(separator: 10, omittingEmptySubsequences: false) {
    let command = line.first ?? 0
    let sender = IPAddress(v4: 0x0A00_0000 + UInt32(command % 32))
    let bytes = Array(line.dropFirst()) + (command & 64 == 0 ? [10] : [])
    switch transport {
    case .connection: follow(session.receive(bytes.span, at: now))
    case .datagrams:
      follow(session.receive(datagram: bytes.span, from: sender, port: command & 128 == 0 ? 1 : 2, at: now))
    case .listener:
      if let admission = session.admit(sender, at: now) {
        connected.removeAll { $0 == admission.replacedID }
        connected.append(admission.id)
      }
      precondition(connected.count <= 3, "more senders than there are places")
      if !connected.isEmpty {
        let id = connected[Int(command) % connected.count]
        follow(session.receive(bytes.span, from: id, at: now))
        if command & 128 != 0 {
          connected.removeAll { $0 == id }
          follow(session.handle(.senderDisconnected(id), at: now))
        }
      }
    }
    now = now + .milliseconds(Int(command) * 20)
    if command == 255 { follow(session.handle(.ended("broken"), at: now)) }
    if command == 255 { connected = [] }
    if let deadline = session.nextDeadline, deadline <= now { follow(session.handle(.deadline, at: now)) }
    precondition(
      session.lineStatistics.refusedSenders.count <= 4 && session.lineStatistics.senders.count <= 8, "memory grows")
  }
}
