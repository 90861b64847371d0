// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// One request and its response on one connection of libmicrohttpd, which owns it from the request line to the end.
@safe final class ServerExchange {
  private(set) var request: Request
  private var connection: OpaquePointer?
  private(set) var hasBegun = false
  /// The response, once it is known; it may be sent later.
  var reply: Reply?
  /// Set while the response is a stream of events.
  private(set) var stream: EventStream?
  /// Steady milliseconds when a suspended response is due; nil if it is never sent.
  var deadline: Int64?

  /// - Parameter target: of the request line, as received.
  init(target: String) {
    request = Request("", target)
  }

  /// Called when the headers are complete.
  @unsafe func begin(_ connection: OpaquePointer, method: String) {
    unsafe self.connection = connection
    hasBegun = true
    request.method = method
    unsafe MHD_get_connection_values(
      connection, .HEADER_KIND,
      { context, _, name, value in
        guard let context = unsafe context, let name = unsafe name else { return .NO }
        let exchange = unsafe Unmanaged<ServerExchange>.fromOpaque(context).takeUnretainedValue()
        let value = unsafe value.map { unsafe String(cString: $0) } ?? ""
        exchange.request.headers.append((unsafe String(cString: name), value))
        return .YES
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  @unsafe func receive(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    guard request.body.count + bytes.count <= limit else {
      request.isTooLarge = true
      return
    }
    unsafe request.body.append(contentsOf: bytes)
  }

  /// The socket, to watch it while libmicrohttpd does not.
  var descriptor: Int32 { unsafe fleet_mhd_connection_fd(connection) }

  func suspend() {
    unsafe MHD_suspend_connection(connection)
  }

  func resume() {
    unsafe MHD_resume_connection(connection)
  }

  /// Sends the response, or resets the connection.
  func finish(_ reply: Reply) -> MHD_Result {
    guard reply.silence == nil else {
      // With a linger time of 0, closing sends RST.
      var linger = linger(l_onoff: 1, l_linger: 0)
      unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
      return .NO
    }
    guard let response = unsafe response(reply.content) else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    for header in reply.headers { unsafe MHD_add_response_header(response, header.name, header.value) }
    return unsafe MHD_queue_response(connection, UInt32(reply.status), response)
  }

  private func response(_ content: Reply.Content) -> OpaquePointer? {
    let source: ContentSource
    switch content {
    case .bytes(var bytes):
      return unsafe MHD_create_response_from_buffer(bytes.count, &bytes, .RESPMEM_MUST_COPY)
    case .truncated(let bytes):
      source = ContentSource(size: UInt64(bytes.count), bytes: Array(bytes.prefix(bytes.count / 2)))
    case .events(let opening):
      guard let connection = unsafe connection else { return nil }
      let stream = unsafe EventStream(connection, opening: opening)
      self.stream = stream
      return unsafe stream.response
    case .endless(let size): source = ContentSource(size: size, bytes: Array("{\"name\":\"".utf8), filler: 0x78)
    }
    return unsafe MHD_create_response_from_callback(
      source.size, 65_536,
      { context, position, buffer, capacity in
        guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
        let source = unsafe Unmanaged<ContentSource>.fromOpaque(context).takeUnretainedValue()
        let room = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
        // -2 is MHD_CONTENT_READER_END_WITH_ERROR: the connection closes before the stated length.
        return unsafe source.read(at: position, into: room) ?? -2
      }, Unmanaged.passRetained(source).toOpaque(),
      { context in
        if let context = unsafe context { unsafe Unmanaged<ContentSource>.fromOpaque(context).release() }
      })
  }
}

/// A body that is generated while it is sent.
private final class ContentSource {
  let size: UInt64
  private let bytes: [UInt8]
  /// The byte that fills the rest of the size; nil if the body ends before its stated size.
  private let filler: UInt8?

  init(size: UInt64, bytes: [UInt8], filler: UInt8? = nil) {
    self.size = size
    self.bytes = bytes
    self.filler = filler
  }

  /// - Returns: the number of bytes written; nil at the end of the body.
  func read(at position: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    if position < UInt64(bytes.count) {
      let rest = bytes[Int(position)...].prefix(buffer.count)
      unsafe buffer.copyBytes(from: rest)
      return rest.count
    }
    guard let filler else { return nil }
    let count = min(buffer.count, Int(clamping: size - position))
    unsafe buffer.initializeMemory(as: UInt8.self, repeating: filler)
    return count
  }
}
