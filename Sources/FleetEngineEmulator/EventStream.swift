// SPDX-License-Identifier: Apache-2.0
import CMicrohttpd
import Glibc

/// One client of the server-sent events. Its connection sleeps while there is nothing to tell.
@safe final class EventStream {
  /// What keeps the connection in use: the client ignores it.
  static let comment = Array(": \n\n".utf8)
  /// Bytes that may wait behind the opening. A client that leaves more unread is dropped.
  private static let maximumBacklog = 1_000_000
  /// Bytes that the kernel keeps of them; it doubles what it is told, and would take megabytes by itself.
  private static let socketBuffer: Int32 = 131_072

  private var connection: OpaquePointer
  private var pending: [[UInt8]]
  /// Bytes of the first pending event that are sent.
  private var sent = 0
  /// Bytes pending behind the opening.
  private var backlog = 0
  private var openingIsPending = true
  private var isOver = false
  private(set) var isSuspended = false

  @unsafe init(_ connection: OpaquePointer, opening: [UInt8]) {
    unsafe self.connection = connection
    pending = [opening]
    var size = Self.socketBuffer
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
  }

  /// The socket, to watch it while libmicrohttpd does not.
  var descriptor: Int32 { unsafe fleet_mhd_connection_fd(connection) }

  /// For libmicrohttpd, whose it is then.
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

  /// - Parameter event: is shared with the other streams, not copied.
  func add(_ event: [UInt8]) {
    guard !isOver else { return }
    pending.append(event)
    backlog += event.count
    if backlog > Self.maximumBacklog {
      // libmicrohttpd waits until the socket can be written, which never comes: nothing else would wake it.
      shutdown(descriptor, Int32(SHUT_RDWR))
      end()
    } else {
      resume()
    }
  }

  /// Breaks the connection off; nothing that waits is sent.
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

  /// - Returns: how many bytes were written; none puts the connection to sleep.
  @unsafe private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    // -2 is MHD_CONTENT_READER_END_WITH_ERROR.
    if isOver { return -2 }
    var filled = 0
    while filled < buffer.count, let event = pending.first {
      let part = event.dropFirst(sent).prefix(buffer.count - filled)
      unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyBytes(from: part)
      filled += part.count
      sent += part.count
      if !openingIsPending { backlog -= part.count }
      guard sent == event.count else { break }
      pending.removeFirst()
      sent = 0
      openingIsPending = false
    }
    if filled == 0 {
      isSuspended = true
      unsafe MHD_suspend_connection(connection)
    }
    return filled
  }
}
