// SPDX-License-Identifier: Apache-2.0

/// An archive of regular files in ustar format (POSIX.1-2017, pax, "ustar Interchange Format").
struct TarArchive {
  private static let blockSize = 512
  /// The size of the field `name`, which needs no terminator.
  private static let maxNameSize = 100

  /// Seconds since 1970, for all files.
  let time: Int64
  private(set) var bytes: [UInt8] = []

  init(time: Int64) {
    self.time = time
  }

  /// Adds a file that only its owner may read.
  ///
  /// - Parameter name: relative, at most 100 bytes; a longer name is truncated.
  mutating func add(_ name: String, _ content: [UInt8]) {
    var header: [UInt8] = []
    func field(_ text: some Sequence<UInt8>, _ size: Int) {
      let value = Array(text.prefix(size))
      header += value + [UInt8](repeating: 0, count: size - value.count)
    }
    /// Octal digits, and NUL.
    func number(_ value: Int64, _ size: Int) {
      let digits = String(max(value, 0), radix: 8).utf8
      field([UInt8](repeating: UInt8(ascii: "0"), count: max(size - 1 - digits.count, 0)) + digits, size - 1)
      header.append(0)
    }
    field(name.utf8, TarArchive.maxNameSize)
    number(0o600, 8)
    // After unpacking, the owner is the user who unpacked it.
    number(0, 8)
    number(0, 8)
    number(Int64(content.count), 12)
    number(time, 12)
    // The checksum is computed as if its own field contained spaces.
    let checksumOffset = header.count
    field("        ".utf8, 8)
    field("0".utf8, 1)
    field([], 100)
    field("ustar\u{0}00".utf8, 8)
    field([], TarArchive.blockSize - header.count)
    let checksum = header.reduce(0) { $0 + Int($1) }
    let digits = String(checksum, radix: 8).utf8
    header.replaceSubrange(
      checksumOffset..<checksumOffset + 8,
      with: [UInt8](repeating: UInt8(ascii: "0"), count: 6 - digits.count) + digits + [0, UInt8(ascii: " ")])
    bytes += header + content
    let rest = content.count % TarArchive.blockSize
    if rest > 0 { bytes += [UInt8](repeating: 0, count: TarArchive.blockSize - rest) }
  }

  /// The archive with its end: two blocks of zeros.
  var finished: [UInt8] { bytes + [UInt8](repeating: 0, count: 2 * TarArchive.blockSize) }
}
