// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import CLinux
import Glibc
import SystemCalls
import Timekeeping

/// Answers questions at a Unix socket: one line in, one line out, and the connection ends.
///
/// The socket file is for its owner and group (0660); the kernel's word on who connected is looked at as well, so that a
/// file whose mode somebody loosened does not let more people in. Questions are short, clients few, and none may keep a
/// connection for long.
package final class ControlServer {
  private static let longestQuestion = 4096
  private static let mostClients = 8
  private static let patience = Duration.seconds(5)

  private let loop: EventLoop
  private let path: String
  private let answer: (_ question: [UInt8]) -> [UInt8]
  private let descriptor: Descriptor
  private var source: EventSource<IOEvents>?
  private var clients: [ObjectIdentifier: ControlClientConnection] = [:]

  /// Listens at `path`, in place of a socket that a dead process left there.
  ///
  /// - Parameters:
  ///   - path: at most 107 bytes.
  ///   - answer: the line for a line, both without their line ends.
  /// - Throws: code `failed`.
  package init(
    loop: EventLoop, path: String, answer: @escaping (_ question: [UInt8]) -> [UInt8]
  ) throws(ControlSocketError) {
    self.loop = loop
    self.path = path
    self.answer = answer
    do {
      descriptor = try UnixSocket.make(Int32(SOCK_NONBLOCK.rawValue))
      let rawValue = descriptor.rawValue
      _ = unsafe unlink(path)
      // The mode is right from the start: nobody slips in between bind and chmod.
      let mask = umask(0o117)
      defer { umask(mask) }
      try unsafe UnixSocket.with(path) { unsafe bind(rawValue, $0, $1) }
      _ = try Errno.retrying { listen(rawValue, 8) }
    } catch {
      throw ControlSocketError(.failed, "\(path): the control socket cannot be made: \(error)", cause: error)
    }
    do {
      source = try loop.addIO(descriptor.rawValue, .readable) { [unowned self] _ in accept() }
    } catch {
      throw ControlSocketError(.failed, "\(path): \(error.message)", cause: error.cause)
    }
  }

  isolated deinit {
    source?.close()
    _ = unsafe unlink(path)
  }

  private func accept() {
    let rawValue = fleet_accept(descriptor.rawValue)
    // A client that has gone again is no client.
    guard rawValue >= 0 else { return }
    let connection = Descriptor(owning: rawValue)
    guard clients.count < ControlServer.mostClients, isWelcome(rawValue) else { return }
    guard let client = ControlClientConnection(loop, connection, patience: ControlServer.patience) else { return }
    let key = ObjectIdentifier(client)
    clients[key] = client
    client.begin(
      limit: ControlServer.longestQuestion, answer: answer, end: { [weak self] in self?.clients[key] = nil })
  }

  /// Root, the daemon's own user, and members of its group.
  private func isWelcome(_ rawValue: Int32) -> Bool {
    guard let peer = try? UnixSocket.peer(of: rawValue) else { return false }
    if peer.user == 0 || peer.user == geteuid() || peer.group == getegid() { return true }
    var groups = [gid_t](repeating: 0, count: 256)
    var length = socklen_t(groups.count * MemoryLayout<gid_t>.size)
    guard unsafe getsockopt(rawValue, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 else { return false }
    return groups.prefix(Int(length) / MemoryLayout<gid_t>.size).contains(getegid())
  }
}

/// One client: reads its line, answers, ends.
private final class ControlClientConnection {
  private let loop: EventLoop
  private let descriptor: Descriptor
  private var source: EventSource<IOEvents>?
  private var timer: LoopTimer?
  private var question: [UInt8] = []
  private var reply: ArraySlice<UInt8> = []
  private var answer: (([UInt8]) -> [UInt8])?
  private var end: (() -> Void)?
  private var limit = 0

  /// Nil when the system has no timer left.
  init?(_ loop: EventLoop, _ descriptor: consuming Descriptor, patience: Duration) {
    self.loop = loop
    self.descriptor = descriptor
    guard let timer = try? loop.makeTimer({ [unowned self] in finish() }) else { return nil }
    self.timer = timer
    timer.arm(at: loop.now.boot + patience)
  }

  func begin(limit: Int, answer: @escaping ([UInt8]) -> [UInt8], end: @escaping () -> Void) {
    self.limit = limit
    self.answer = answer
    self.end = end
    source = try? loop.addIO(descriptor.rawValue, .readable) { [unowned self] events in
      events.contains(.writable) ? write() : read()
    }
    if source == nil { finish() }
  }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 1024)
    guard case .bytes(let count)? = try? descriptor.read(into: &buffer) else { return finish() }
    question += buffer.prefix(count)
    if let newline = question.firstIndex(of: UInt8(ascii: "\n")) {
      reply = ArraySlice((answer?(Array(question[..<newline])) ?? []) + [UInt8(ascii: "\n")])
      source?.watch(for: .writable)
    } else if question.count > limit {
      finish()
    }
  }

  private func write() {
    let count = unsafe reply.withUnsafeBytes {
      unsafe send(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard count > 0 else { return errno == EAGAIN ? () : finish() }
    reply = reply.dropFirst(count)
    if reply.isEmpty { finish() }
  }

  private func finish() {
    source?.close()
    timer?.close()
    let end = end
    self.end = nil
    end?()
  }
}
