// SPDX-License-Identifier: Apache-2.0

extension String {
  /// Percent-encoded for one segment of a URL's path, or one value of its query: everything but the unreserved
  /// characters of RFC 3986 (letters, digits, `-._~`) is encoded.
  package var percentEncoded: String {
    let hex = Array("0123456789ABCDEF".utf8)
    var encoded = [UInt8]()
    encoded.reserveCapacity(utf8.count)
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.append(byte)
      default:
        encoded.append(UInt8(ascii: "%"))
        encoded.append(hex[Int(byte >> 4)])
        encoded.append(hex[Int(byte & 15)])
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
