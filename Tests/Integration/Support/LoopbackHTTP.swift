// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc

/// Sockets on 127.0.0.1.
enum Loopback {
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// - Returns: a listening socket, and its port.
  static func listen(port: UInt16 = 0) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = address(port)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && Glibc.listen(descriptor, 16) == 0
          && getsockname(descriptor, pointer, &length) == 0
      }
    }
    guard result else { throw TestFailure("cannot listen: \(String(cString: strerror(errno)))") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// A port without a listener, which no other test gets, below those that the kernel gives to other sockets meanwhile.
  static func freePort() throws -> UInt16 {
    for _ in 0..<100 {
      let port = UInt16.random(in: 30_000..<32_768)
      guard reserve(port), let (descriptor, _) = try? listen(port: port) else { continue }
      close(descriptor)
      return port
    }
    throw TestFailure("no free port")
  }

  /// Reserves a port against the tests of this and other processes, until this one ends: by the name of a socket.
  private static func reserve(_ port: UInt16) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The zero byte makes it an abstract name, which is no file.
    let name = [0] + Array("fleet-locationd-test-port-\(port)".utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = MemoryLayout<sa_family_t>.size + name.count
    let isReserved = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) == 0 }
    }
    if !isReserved { close(descriptor) }
    return isReserved
  }

  /// Whether the port has a listener.
  static func answers(_ port: UInt16) -> Bool {
    guard let descriptor = try? connect(to: port) else { return false }
    close(descriptor)
    return true
  }

  private static func connect(to port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = address(port)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else {
      close(descriptor)
      throw TestFailure("connect to port \(port): \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// Sends one request. Returns the body of its response.
  static func request(_ method: String, _ path: String, port: UInt16, body: String = "") throws -> String {
    let descriptor = try connect(to: port)
    defer { close(descriptor) }
    var limit = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let head =
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
      + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    let bytes = Array((head + body).utf8)
    guard write(descriptor, bytes, bytes.count) == bytes.count else { throw TestFailure("write: \(errno)") }
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while case let count = read(descriptor, &buffer, buffer.count), count > 0 { answer += buffer.prefix(count) }
    let text = String(decoding: answer, as: UTF8.self)
    guard let end = text.range(of: "\r\n\r\n") else { throw TestFailure("no response to \(method) \(path)") }
    guard text.hasPrefix("HTTP/1.1 2") else { throw TestFailure("\(method) \(path): \(text)") }
    return String(text[end.upperBound...])
  }
}

/// A server that sends the same response to every request, and records the requests.
final class CannedServer: Readable {
  let port: UInt16
  var answer: String
  let status: String
  private(set) var requests: [String] = []
  private let listener: Int32

  /// - Parameter status: such as `200 OK`; additional headers may follow on further lines.
  init(answer: String, status: String = "200 OK", port: UInt16 = 0) throws {
    self.answer = answer
    self.status = status
    (listener, self.port) = try Loopback.listen(port: port)
  }

  deinit { close(listener) }

  var descriptor: Int32? { listener }

  func drain() {
    while case let connection = accept(listener, nil, nil), connection >= 0 {
      defer { close(connection) }
      var request: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 8192)
      while !String(decoding: request, as: UTF8.self).contains("\r\n\r\n"),
        case let count = read(connection, &buffer, buffer.count), count > 0
      {
        request += buffer.prefix(count)
      }
      requests.append(String(decoding: request, as: UTF8.self))
      let text =
        "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nConnection: close\r\n"
        + "Content-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
      _ = write(connection, text, text.utf8.count)
    }
  }
}
