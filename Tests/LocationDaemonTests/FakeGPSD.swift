// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

/// A fake gpsd on the test's event loop, with configurable output.
final class FakeGPSD {
  private let loop: EventLoop
  private var listener: Int32 = -1
  private var source: EventSource<IOEvents>?
  private var clients: [Int32: EventSource<IOEvents>] = [:]
  /// The data from all clients, concatenated.
  private(set) var commands = ""
  private(set) var accepted = 0
  let port: Int
  /// Sent to a client after each of its commands.
  var greeting: [String] = []

  /// - Parameter port: 0: the kernel selects a free port.
  init(_ loop: EventLoop, port: Int = 0) throws {
    self.loop = loop
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 8) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    try #require(bound)
    self.port = Int(UInt16(bigEndian: address.sin_port))
    source = try loop.addIO(listener, .readable) { [unowned self] _ in accept() }
  }

  isolated deinit {
    source?.close()
    close(listener)
    dropClients()
  }

  func say(_ lines: [String]) {
    for client in clients.keys { write(client, lines) }
  }

  /// Closes all connections, as if gpsd were killed.
  func dropClients() {
    for (client, source) in clients {
      source.close()
      close(client)
    }
    clients = [:]
  }

  private func accept() {
    let client = accept4(listener)
    guard client >= 0 else { return }
    accepted += 1
    clients[client] = try? loop.addIO(client, .readable) { [unowned self] _ in read(client) }
  }

  private func accept4(_ listener: Int32) -> Int32 {
    let client = Glibc.accept(listener, nil, nil)
    if client >= 0 { _ = fcntl(client, F_SETFD, FD_CLOEXEC) }
    return client
  }

  private func read(_ client: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1000)
    let count = buffer.withUnsafeMutableBytes { Glibc.read(client, $0.baseAddress, $0.count) }
    guard count > 0 else {
      clients.removeValue(forKey: client)?.close()
      close(client)
      return
    }
    commands += String(decoding: buffer.prefix(count), as: UTF8.self)
    write(client, greeting)
  }

  private func write(_ client: Int32, _ lines: [String]) {
    let bytes = Array(lines.map { $0 + "\r\n" }.joined().utf8)
    _ = bytes.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }
}
