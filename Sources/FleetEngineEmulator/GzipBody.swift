// SPDX-License-Identifier: Apache-2.0
import CZlib

/// A body in gzip format (RFC 1952).
enum GzipBody {
  /// Decompresses it.
  ///
  /// - Parameter limit: in bytes; a longer text is refused, however small the body is.
  /// - Throws: `APIError`: INVALID_ARGUMENT if it is damaged, incomplete or followed by other data, and with 413 if the
  ///   text is too long.
  static func decoded(_ body: [UInt8], limit: Int) throws(APIError) -> [UInt8] {
    var stream = unsafe z_stream()
    // A window of 15 bits; adding 16 accepts only a gzip header.
    guard unsafe fleet_inflate_init(&stream, 15 + 16) == Z_OK else {
      throw APIError(.internal, "There is no memory to decompress the body.", reason: "NO_MEMORY")
    }
    defer { _ = unsafe inflateEnd(&stream) }
    var text: [UInt8] = []
    var status = Z_OK
    var trailingByteCount = 0
    unsafe body.withUnsafeBufferPointer { input in
      unsafe stream.next_in = input.baseAddress
      unsafe stream.avail_in = uInt(input.count)
      while status == Z_OK, text.count <= limit {
        let piece = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { output, count in
          unsafe stream.next_out = output.baseAddress
          unsafe stream.avail_out = uInt(output.count)
          status = unsafe inflate(&stream, Z_NO_FLUSH)
          count = unsafe output.count - Int(stream.avail_out)
        }
        text += piece
      }
      trailingByteCount = unsafe Int(stream.avail_in)
    }
    guard text.count <= limit else {
      throw APIError(
        .invalidArgument, "The decompressed body is larger than the server takes.", reason: "REQUEST_TOO_LARGE",
        httpStatus: 413)
    }
    guard status == Z_STREAM_END, trailingByteCount == 0 else {
      throw .invalid("The body is not in the format that Content-Encoding names.", reason: "INVALID_ENCODING")
    }
    return text
  }
}
