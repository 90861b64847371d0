// SPDX-License-Identifier: Apache-2.0
import CZlib

/// Compresses the bodies of requests in the gzip format (RFC 1952): updates with one position with `PositionCode`,
/// others with zlib. zlib's stream is reused, because a new one for each body would take twice the time.
@safe package final class GzipEncoder {
  private enum Parameters {
    /// The best compression: a body has some hundred bytes, or some ten thousand after an outage.
    static let level: Int32 = 9
    /// 4 kB, within which a position finds earlier ones to refer to; adding 16 selects zlib's gzip format.
    static let windowBits: Int32 = 12 + 16
    /// Small tables, because they are cleared for each body. With twice their size a body with a hundred positions is
    /// one percent smaller.
    static let memoryLevel: Int32 = 3
  }

  /// The header before the compressed data: the method, no time, no name (RFC 1952, section 2.3).
  private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3]

  private let positionCode = PositionCode()
  /// Made for the first body that needs it; nil before. It must not move, because zlib compares its address.
  private var stream: UnsafeMutablePointer<z_stream>?

  package init() {}

  deinit {
    guard let stream = unsafe stream else { return }
    _ = unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// - Returns: nil if there is no memory.
  package func encode(_ body: [UInt8]) -> [UInt8]? {
    if let short = positionCode.encode(body, after: GzipEncoder.header, before: trailer(of: body)) { return short }
    guard let stream = unsafe preparedStream() else { return nil }
    let bound = Int(unsafe deflateBound(stream, uLong(body.count)))
    var isComplete = false
    let output = unsafe [UInt8](unsafeUninitializedCapacity: bound) { output, count in
      unsafe body.withUnsafeBufferPointer { input in
        unsafe stream.pointee.next_in = input.baseAddress
        unsafe stream.pointee.avail_in = uInt(input.count)
        unsafe stream.pointee.next_out = output.baseAddress
        unsafe stream.pointee.avail_out = uInt(output.count)
        isComplete = unsafe deflate(stream, Z_FINISH) == Z_STREAM_END
        count = unsafe output.count - Int(stream.pointee.avail_out)
      }
    }
    return isComplete ? output : nil
  }

  /// The stream, ready for a new body; nil if there is no memory.
  private func preparedStream() -> UnsafeMutablePointer<z_stream>? {
    if let stream = unsafe stream { return unsafe deflateReset(stream) == Z_OK ? stream : nil }
    let new = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    unsafe new.initialize(to: z_stream())
    guard unsafe fleet_deflate_init(new, Parameters.level, Parameters.windowBits, Parameters.memoryLevel) == Z_OK else {
      unsafe new.deallocate()
      return nil
    }
    unsafe stream = new
    return unsafe new
  }

  /// The trailer after the compressed data: the checksum and the size of the body (RFC 1952, section 2.3.1).
  private func trailer(of body: [UInt8]) -> [UInt8] {
    let checksum = unsafe body.withUnsafeBufferPointer { unsafe crc32(0, $0.baseAddress, uInt($0.count)) }
    return (0..<8).map { UInt8(truncatingIfNeeded: (UInt64(body.count) << 32 | UInt64(checksum)) >> ($0 * 8)) }
  }
}
