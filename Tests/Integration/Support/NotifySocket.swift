// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The service manager's side of sd_notify(3).
final class NotifySocket: Readable {
  struct Message {
    let assignments: [String: String]
    let at: ContinuousClock.Instant
  }

  let path: String
  private(set) var descriptor: Int32?
  private(set) var messages: [Message] = []
  private var address = sockaddr_un()

  init(path: String) throws {
    self.path = path
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8) + [0]) }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { throw TestFailure("bind \(path): \(String(cString: strerror(errno)))") }
    self.descriptor = descriptor
  }

  deinit { if let descriptor { close(descriptor) } }

  /// Fills the queue, so that it refuses notifications until `drain`.
  ///
  /// - Returns: the number of messages that it had space for.
  func fill() -> Int {
    let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    defer { close(sender) }
    var address = address
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        (0..<10_000).prefix { _ in sendto(sender, "FILLED=1", 8, 0, address, size) == 8 }.count
      }
    }
  }

  func drain() {
    guard let descriptor else { return }
    var buffer = [UInt8](repeating: 0, count: 8192)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      var assignments: [String: String] = [:]
      for line in String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        assignments[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
      }
      messages.append(Message(assignments: assignments, at: .now))
    }
  }

  /// Every STATUS= so far.
  var statuses: [String] { messages.compactMap { $0.assignments["STATUS"] } }

  func count(of name: String) -> Int { messages.count { $0.assignments[name] != nil } }

  /// The names of the state changes, in the order of their arrival.
  var states: [String] {
    messages.flatMap { message in
      ["READY", "RELOADING", "STOPPING"].filter { message.assignments[$0] == "1" }
    }
  }
}
