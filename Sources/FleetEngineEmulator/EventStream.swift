// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// One client of the server-sent events. Its connection is suspended while no event is pending.
@safe final class EventStream {
  /// Keeps proxies from closing a silent connection; the client ignores it.
  static let keepAliveComment = Array(": \n\n".utf8)
  /// Maximum bytes that may be pending after the initial state. A client that leaves more unread is disconnected.
  private static let maximumBacklog = 1_000_000
  /// Size of the socket's send buffer in bytes. The kernel doubles it; its default would grow to megabytes.
  private static let socketBuffer: Int32 = 131_072

  private var connection: OpaquePointer
  private var pending: [[UInt8]]
  /// Bytes of the first pending event that have been sent.
  private var sentSize = 0
  /// Bytes pending after the initial state.
  private var backlogSize = 0
  private var isOpeningPending = true
  /// At first larger by the size of the initial state, until what has accumulated while that was sent is sent too.
  private var backlogLimit: Int
  private var isOver = false
  private(set) var isSuspended = false

  @unsafe init(_ connection: OpaquePointer, opening: [UInt8]) {
    unsafe self.connection = connection
    pending = [opening]
    backlogLimit = Self.maximumBacklog + opening.count
    var size = Self.socketBuffer
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The socket, to watch it while libmicrohttpd does not.
  var descriptor: Int32 { unsafe fleet_mhd_connection_fd(connection) }

  /// The response for libmicrohttpd, which then owns it.
  var response: OpaquePointer? {
    unsafe MHD_create_response_from_callback(
      .max, 65_536,
      { context, _, buffer, capacity in
        guard let context = unsafe context, let buffer = unsafe buffer else { return -2 }
        let stream = unsafe Unmanaged<EventStream>.fromOpaque(context).takeUnretainedValue()
        return unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity))
      }, Unmanaged.passRetained(self).toOpaque(),
      { context in
        if let context = unsafe context { unsafe Unmanaged<EventStream>.fromOpaque(context).release() }
      })
  }

  /// - Parameter event: its bytes, which are shared with the other streams, not copied.
  func add(_ event: [UInt8]) {
    guard !isOver else { return }
    pending.append(event)
    backlogSize += event.count
    if backlogSize > backlogLimit {
      // Otherwise libmicrohttpd would wait forever until the socket can be written.
      shutdown(descriptor, Int32(SHUT_RDWR))
      end()
    } else {
      resume()
    }
  }

  /// Closes the connection; pending events are not sent.
  func end() {
    isOver = true
    pending = []
    resume()
  }

  private func resume() {
    guard isSuspended else { return }
    isSuspended = false
    unsafe MHD_resume_connection(connection)
  }

  /// - Returns: the number of bytes written; if it is 0, the connection is suspended.
  @unsafe private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // -2 is MHD_CONTENT_READER_END_WITH_ERROR.
    if isOver { return -2 }
    var filled = 0
    while filled < buffer.count, let event = pending.first {
      let part = event.dropFirst(sentSize).prefix(buffer.count - filled)
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: part)
      filled += part.count
      sentSize += part.count
      if !isOpeningPending { backlogSize -= part.count }
      guard sentSize == event.count else { break }
      pending.removeFirst()
      sentSize = 0
      isOpeningPending = false
    }
    if filled == 0 {
      backlogLimit = Self.maximumBacklog
      isSuspended = true
      unsafe MHD_suspend_connection(connection)
    }
    return filled
  }
}
