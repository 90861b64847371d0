// SPDX-License-Identifier: Apache-2.0
import Glibc
import SystemCalls
import Timekeeping
import Varlink

/// Sends a request to the daemon and waits for the response: for command line tools.
package nonisolated enum ControlClient {
  private static let maximumResponseSize = 1 << 20

  /// - Parameters:
  ///   - path: the daemon's socket.
  ///   - call: a Varlink message, without its NUL.
  ///   - timeout: the timeout of each step, in whole seconds.
  /// - Returns: the reply, without its NUL; nil if the daemon is of a release before 0.3.0, which has no Varlink.
  /// - Throws: code `absent` if the daemon is not running, `permissionDenied`, `silent` after the timeout.
  package static func call(
    _ call: [UInt8], at path: String, timeout: Duration = .seconds(5)
  ) throws(ControlSocketError) -> [UInt8]? {
    // A daemon of such a release waits for the end of a line, and then replies that this is not a command.
    let request = call + [MessageFraming.varlinkTerminator, MessageFraming.lineTerminator]
    let response = try exchange(request, at: path, timeout: timeout)
    return response.last == MessageFraming.varlinkTerminator ? response.dropLast() : nil
  }

  /// Asks a daemon of a release before 0.3.0.
  ///
  /// - Parameters:
  ///   - path: the daemon's socket.
  ///   - request: one line, without its end.
  ///   - timeout: the timeout of each step, in whole seconds.
  /// - Returns: the response, without its line end.
  /// - Throws: code `absent` if the daemon is not running, `permissionDenied`, `silent` after the timeout.
  package static func ask(
    _ request: [UInt8], at path: String, timeout: Duration = .seconds(5)
  ) throws(ControlSocketError) -> [UInt8] {
    try exchange(request + [MessageFraming.lineTerminator], at: path, timeout: timeout).dropLast()
  }

  /// How `follow` ended.
  package enum End: Sendable {
    /// The daemon has closed the connection.
    case closed
    /// The handler wants no more replies, or standard output is a pipe whose reader has closed its end.
    case stopped
    /// The daemon is of a release before 0.3.0, which has no Varlink.
    case unsupported
  }

  /// Makes a call with any number of replies, and waits for them.
  ///
  /// - Parameters:
  ///   - path: the daemon's socket.
  ///   - socket: which of the daemon's sockets this is.
  ///   - call: a Varlink message, without its NUL.
  ///   - handle: is passed each reply, without its NUL; returns false to end.
  /// - Throws: code `absent` if the daemon is not running, `permissionDenied`, `silent` without a first reply.
  package static func follow(
    _ call: [UInt8], at path: String, of socket: LocalSocket = .control, _ handle: ([UInt8]) -> Bool
  ) throws(ControlSocketError) -> End {
    do throws(Errno) {
      let daemon = try send(
        call + [MessageFraming.varlinkTerminator, MessageFraming.lineTerminator], to: path, timeout: 5)
      var received: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 16_384)
      var hasReplied = false
      while true {
        // After the first reply, the next one may take any time.
        if hasReplied, try daemon.waitUntilReadable(orUnread: STDOUT_FILENO) { return .stopped }
        switch try daemon.read(into: &buffer) {
        case .bytes(let count): received += buffer.prefix(count)
        case .wouldBlock: throw Errno(EAGAIN)
        case .end: return .closed
        }
        while let index = received.firstIndex(of: MessageFraming.varlinkTerminator) {
          hasReplied = true
          guard handle(Array(received[..<index])) else { return .stopped }
          received.removeFirst(index + 1)
        }
        if received.last == MessageFraming.lineTerminator { return .unsupported }
        guard received.count < maximumResponseSize else { throw Errno(EBADMSG) }
      }
    } catch {
      throw explained(error, path, socket)
    }
  }

  private static func exchange(
    _ request: [UInt8], at path: String, timeout: Duration
  ) throws(ControlSocketError) -> [UInt8] {
    do throws(Errno) {
      return try exchange(request, at: path, timeout: Int(clamping: timeout.wholeSeconds))
    } catch {
      throw explained(error, path, .control)
    }
  }

  private static func explained(_ error: Errno, _ path: String, _ socket: LocalSocket) -> ControlSocketError {
    switch error.code {
    case ENOENT, ECONNREFUSED: ControlSocketError(.absent, socket.absenceMessage(at: path), cause: error)
    case EACCES, EPERM:
      ControlSocketError(
        .permissionDenied, "\(path): permission denied; be root or a member of the group \(socket.group)", cause: error)
    case EAGAIN, EPIPE, ECONNRESET, EBADMSG:
      ControlSocketError(.silent, "\(path): the daemon does not answer", cause: error)
    default:
      ControlSocketError(.failed, "\(path): \(error)", cause: error)
    }
  }

  /// - Returns: the response with its end: NUL, or the end of a line after which the connection was closed.
  private static func exchange(
    _ request: [UInt8], at path: String, timeout: Int
  ) throws(Errno) -> [UInt8] {
    let descriptor = try send(request, to: path, timeout: timeout)
    var response: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while response.count < maximumResponseSize {
      switch try descriptor.read(into: &buffer) {
      case .bytes(let count):
        response += buffer.prefix(count)
        if response.last == MessageFraming.varlinkTerminator { return response }
      case .wouldBlock: throw Errno(EAGAIN)
      case .end:
        guard response.last == MessageFraming.lineTerminator else { throw Errno(EBADMSG) }
        return response
      }
    }
    throw Errno(EBADMSG)
  }
  /// Connects, and sends a request.
  private static func send(_ request: [UInt8], to path: String, timeout: Int) throws(Errno) -> Descriptor {
    let descriptor = try UnixSocket.make(0)
    let rawValue = descriptor.rawValue
    try setTimeout(descriptor, SO_RCVTIMEO, seconds: timeout)
    try setTimeout(descriptor, SO_SNDTIMEO, seconds: timeout)
    try unsafe UnixSocket.withAddress(path) { unsafe connect(rawValue, $0, $1) }
    var rest = request[...]
    while !rest.isEmpty {
      let count = try Errno.retrying {
        unsafe rest.withUnsafeBytes { unsafe Glibc.send(rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      }
      rest = rest.dropFirst(count)
    }
    return descriptor
  }

  private static func setTimeout(_ descriptor: borrowing Descriptor, _ option: Int32, seconds: Int) throws(Errno) {
    var timeout = timeval(tv_sec: seconds, tv_usec: 0)
    let rawValue = descriptor.rawValue
    let size = socklen_t(MemoryLayout<timeval>.size)
    _ = try Errno.retrying { unsafe setsockopt(rawValue, SOL_SOCKET, option, &timeout, size) }
  }
}
