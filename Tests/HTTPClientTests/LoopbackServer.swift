// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SystemCalls
import Testing

/// A TCP server on the test's own loop that sends arbitrary bytes.
final class LoopbackServer {
  enum Reply {
    case bytes(String)
    /// Sends the bytes, then closes the connection.
    case closing(String)
    /// Sends the first text, then the second one repeatedly, as fast as it is read.
    case endless(String, String)
    /// Never responds.
    case silence
    /// Resets the connection (RST).
    case reset
  }

  private let loop: EventLoop
  private let listener: Int32
  private var source: EventSource<IOEvents>?
  private var connections: [Int32: EventSource<IOEvents>] = [:]
  private let reply: (String) -> Reply

  let port: UInt16
  /// The complete requests, as received.
  private(set) var requests: [String] = []
  private(set) var accepted = 0
  /// The number of bytes of endless replies that were sent.
  private(set) var sent = 0

  /// - Parameter reply: called with each complete request; one with a body must have a Content-Length.
  init(_ loop: EventLoop, _ reply: @escaping (String) -> Reply) throws {
    self.loop = loop
    self.reply = reply
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC, 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    try #require(bound)
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    source = try loop.addIO(listener, .readable) { [unowned self] _ in accept() }
  }

  isolated deinit {
    source?.close()
    for descriptor in connections.keys { drop(descriptor) }
    close(listener)
  }

  /// Whether the server responds as soon as it has received a request's headers, and does not read the rest.
  var answersHeads = false
  /// Whether the server responds to the first bytes that it receives, whatever they are.
  var answersAnything = false

  var url: String { "http://127.0.0.1:\(port)" }

  /// Refuses further connections; existing ones stay open.
  func stopAccepting() {
    source?.close()
    source = nil
    // On Linux this also stops listening.
    shutdown(listener, Int32(SHUT_RDWR))
  }

  var openConnections: Int { connections.count }

  /// Closes all connections, as a server does after an idle timeout.
  func dropConnections() {
    for descriptor in connections.keys { drop(descriptor) }
  }

  private func accept() {
    let descriptor = accept4(listener)
    guard descriptor >= 0 else { return }
    accepted += 1
    var received = ""
    do {
      connections[descriptor] = try loop.addIO(descriptor, .readable) { [unowned self] _ in
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return drop(descriptor) }
        received += String(decoding: buffer.prefix(count), as: UTF8.self)
        if answersAnything { return answer(received, descriptor) }
        if answersHeads, let end = received.firstIndex(ofText: "\r\n\r\n") {
          connections[descriptor]?.close()
          return answer(String(received[..<end]), descriptor)
        }
        while let request = takeRequest(&received) { answer(request, descriptor) }
      }
    } catch {
      close(descriptor)
    }
  }

  private func answer(_ request: String, _ descriptor: Int32) {
    requests.append(request)
    switch reply(request) {
    case .bytes(let text): send(text, descriptor)
    case .closing(let text):
      send(text, descriptor)
      drop(descriptor)
    case .endless(let start, let unit):
      send(start, descriptor)
      let piece = String(repeating: unit, count: max(16_384 / unit.utf8.count, 1))
      connections[descriptor]?.close()
      var rest: ArraySlice<UInt8> = []
      // A write may end anywhere in the piece, as on a network.
      connections[descriptor] = try? loop.addIO(descriptor, .writable) { [unowned self] _ in
        if rest.isEmpty { rest = Array(piece.utf8)[...] }
        let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count > 0 { sent += count } else if errno != EAGAIN { return drop(descriptor) }
        rest = rest.dropFirst(max(count, 0))
      }
    case .silence: break
    case .reset:
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      drop(descriptor)
    }
  }

  private func drop(_ descriptor: Int32) {
    guard let source = connections.removeValue(forKey: descriptor) else { return }
    source.close()
    close(descriptor)
  }

  private func send(_ text: String, _ descriptor: Int32) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
  }

  private func accept4(_ listener: Int32) -> Int32 {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else { return descriptor }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  private func takeRequest(_ received: inout String) -> String? {
    guard let end = received.firstIndex(ofText: "\r\n\r\n") else { return nil }
    var length = 0
    for line in received[..<end].split(separator: "\r\n") where line.lowercased().hasPrefix("content-length:") {
      length = Int(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " }) ?? 0
    }
    let bytes = received.utf8
    guard let last = bytes.index(end, offsetBy: 4 + length, limitedBy: bytes.endIndex) else { return nil }
    let request = String(received[..<last])
    received = String(received[last...])
    return request
  }
}

extension String {
  /// The first position of `text`, compared byte by byte.
  fileprivate func firstIndex(ofText text: String) -> Index? {
    let wanted = Array(text.utf8)
    let bytes = Array(utf8)
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...(bytes.count - wanted.count) where bytes[start..<(start + wanted.count)].elementsEqual(wanted) {
      return utf8.index(startIndex, offsetBy: start)
    }
    return nil
  }
}

/// A plain response with a body.
func answer(_ body: String, status: String = "200 OK", headers: [String] = []) -> String {
  (["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers).joined(separator: "\r\n") + "\r\n\r\n" + body
}
