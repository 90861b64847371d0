// SPDX-License-Identifier: Apache-2.0
import ExternalInput

/// A protocol that a receiver, a router or a modem sends instead of NMEA 0183.
package enum ReceiverProtocol: CaseIterable, Sendable {
  /// u-blox: `B5 62`.
  case ubx
  /// SiRF: `A0 A2 … B0 B3`.
  case sirf
  /// Trimble: `10 … 10 03`.
  case tsip
  /// Corrections for another receiver (RTCM 10403): `D3`, the length, a checksum.
  case rtcm
  /// Routers and trackers: `>R…<`.
  case taip
  /// The answers and messages of a modem's command port.
  case at

  /// Its name, as in "it sends …".
  package var name: String {
    switch self {
    case .ubx: "u-blox's binary protocol"
    case .sirf: "SiRF's binary protocol"
    case .tsip: "Trimble's binary protocol (TSIP)"
    case .rtcm: "corrections (RTCM)"
    case .taip: "TAIP"
    case .at: "a modem's answers to AT commands"
    }
  }

  /// What to do, without a full stop.
  package var advice: String {
    switch self {
    case .ubx: "switch NMEA on in the receiver (\(ManualPage.receivers) says how), or let gpsd read it"
    case .sirf, .tsip: "let gpsd read it (source.type = \"gpsd\"), or switch NMEA on in the receiver"
    case .rtcm: "read another port of the receiver, or switch NMEA on: these are corrections for other receivers"
    case .taip: "set the router or receiver to NMEA in place of TAIP, which gpsd does not read either"
    case .at: "read the modem's NMEA port, which is a different one, or use source.type = \"modemmanager\""
    }
  }
}

/// Recognizes the protocol of a receiver that sends no NMEA sentence. At a wrong baud rate, noise can contain the bytes
/// of a message by chance, so a protocol is recognized only by its second message (a modem also by one result code).
package struct ReceiverProtocolDetector: Sendable {
  /// Maximum stored length of a line of TAIP or of a modem.
  private static let maximumLineLength = 128
  private static let resultCodes = ["OK", "ERROR", "RING", "RDY", "NO CARRIER"]

  /// The recognized protocol; nil: none.
  package private(set) var found: ReceiverProtocol?
  private var counts: [ReceiverProtocol: Int] = [:]
  /// Classes of u-blox's messages.
  private static let ubxClasses: Set<UInt64> = [
    0x01, 0x02, 0x04, 0x05, 0x06, 0x09, 0x0A, 0x0B, 0x0D, 0x10, 0x13, 0x21, 0x27, 0x28, 0x29,
  ]
  /// The last eight bytes, the newest lowest.
  private var recent: UInt64 = 0
  /// Bytes until the end of the RTCM message; nil outside a message.
  private var remainingBytes: Int?
  /// Whether a message of RTCM has just ended: the next one begins here.
  private var isAfterMessage = false
  private var line: [UInt8] = []
  /// Whether the line began after the end of another one.
  private var isAfterLine = false

  package init() {}

  /// Processes the next bytes, in chunks of any size.
  package mutating func read(_ bytes: Span<UInt8>) {
    for index in 0..<bytes.count where found == nil { read(bytes[index]) }
  }

  private mutating func read(_ byte: UInt8) {
    recent = recent << 8 | UInt64(byte)
    // Class, ID and a length below 2048 must follow: noise soon contains any two bytes by chance.
    if recent >> 32 & 0xFFFF == 0xB562, byte < 8, ReceiverProtocolDetector.ubxClasses.contains(recent >> 24 & 0xFF) {
      countMessage(.ubx)
    }
    // The end of a message, and the beginning of the next.
    if recent & 0xFFFF_FFFF == 0xB0B3_A0A2 { countMessage(.sirf) }
    if recent & 0xFF_FFFF == 0x10_0310 { countMessage(.tsip) }
    readRTCM(byte)
    readLine(byte)
  }

  private mutating func countMessage(_ name: ReceiverProtocol) {
    counts[name, default: 0] += 1
    if counts[name, default: 0] > 1 { found = name }
  }

  /// `D3`, six bits of zero, ten bits of length, the message, and three bytes of checksum: a message counts if it
  /// follows another one without a gap.
  private mutating func readRTCM(_ byte: UInt8) {
    if let left = remainingBytes {
      remainingBytes = left > 1 ? left - 1 : nil
      isAfterMessage = left <= 1
      return
    }
    if isAfterMessage {
      isAfterMessage = false
      if byte == 0xD3 { countMessage(.rtcm) } else { counts[.rtcm] = 0 }
    }
    if recent & 0xFF_FC00 == 0xD3_0000 { remainingBytes = Int(recent & 0x3FF) + 3 }
  }

  private mutating func readLine(_ byte: UInt8) {
    guard byte != UInt8(ascii: "\r"), byte != UInt8(ascii: "\n") else {
      // A whole line of noise is hardly ever one of these words, so one line is enough.
      if isAfterLine, isResultCode { found = .at } else if isModemLine { countMessage(.at) }
      line.removeAll(keepingCapacity: true)
      isAfterLine = true
      return
    }
    // Lines are text, which noise is not.
    guard (0x20...0x7E).contains(byte) else {
      isAfterLine = false
      return line.removeAll(keepingCapacity: true)
    }
    if byte == UInt8(ascii: ">") { line.removeAll(keepingCapacity: true) }
    if line.count < ReceiverProtocolDetector.maximumLineLength { line.append(byte) }
    if byte == UInt8(ascii: "<"), line.count > 5, line.starts(with: ">R".utf8) { countMessage(.taip) }
  }

  /// A modem's result code, as in `OK`.
  private var isResultCode: Bool {
    ReceiverProtocolDetector.resultCodes.contains { line.elementsEqual($0.utf8) }
  }

  /// A modem's result code, or a message such as `+CREG: 1`.
  private var isModemLine: Bool {
    if isResultCode { return true }
    let name = line.dropFirst().prefix { (0x41...0x5A).contains($0) }
    return line.first == UInt8(ascii: "+") && name.count >= 3
      && line.dropFirst(name.count + 1).first == UInt8(ascii: ":")
  }
}
