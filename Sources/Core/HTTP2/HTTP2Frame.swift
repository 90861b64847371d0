// SPDX-License-Identifier: Apache-2.0

/// The type of a frame (RFC 9113, section 6). Frames of other types are ignored.
enum HTTP2FrameType: UInt8 {
  case data = 0
  case headers = 1
  case priority = 2
  case resetStream = 3
  case settings = 4
  case pushPromise = 5
  case ping = 6
  case goAway = 7
  case windowUpdate = 8
  case continuation = 9
}

/// The bits of a frame's flags; their meaning depends on the type.
enum HTTP2Flag {
  static let endStream: UInt8 = 0x1
  static let acknowledgement: UInt8 = 0x1
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8
  static let priority: UInt8 = 0x20
}

/// A setting (RFC 9113, section 6.5.2). Other settings are ignored.
enum HTTP2Setting: UInt16 {
  case headerTableSize = 1
  case enablePush = 2
  case maxConcurrentStreams = 3
  case initialWindowSize = 4
  case maxFrameSize = 5
  case maxHeaderListSize = 6
}

/// A complete received frame.
struct HTTP2Frame {
  /// Size of a frame's header.
  static let headerSize = 9

  var type: UInt8
  var flags: UInt8
  var stream: UInt32
  var payload: ArraySlice<UInt8>

  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  /// Appends a frame.
  static func write(
    _ type: HTTP2FrameType, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: some Collection<UInt8>,
    into output: inout [UInt8]
  ) {
    let count = payload.count
    output.append(UInt8(truncatingIfNeeded: count >> 16))
    output.append(UInt8(truncatingIfNeeded: count >> 8))
    output.append(UInt8(truncatingIfNeeded: count))
    output.append(type.rawValue)
    output.append(flags)
    for shift in stride(from: 24, through: 0, by: -8) { output.append(UInt8(truncatingIfNeeded: stream >> shift)) }
    output.append(contentsOf: payload)
  }
}

extension UInt32 {
  /// In network byte order.
  var bytes: [UInt8] {
    [
      UInt8(truncatingIfNeeded: self >> 24), UInt8(truncatingIfNeeded: self >> 16),
      UInt8(truncatingIfNeeded: self >> 8),
      UInt8(truncatingIfNeeded: self),
    ]
  }

  /// From network byte order, at most four bytes.
  init(bytes: some Sequence<UInt8>) {
    self = bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }
}
