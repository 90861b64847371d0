// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

@testable import HTTP2

/// Frames as a server sends them, valid or not.
struct ScriptedServer {
  var encoder = HPACKEncoder()

  static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    UInt32(payload.count).bytes.dropFirst() + [type, flags] + stream.bytes + payload
  }

  static func settings(_ values: [(UInt16, UInt32)] = []) -> [UInt8] {
    frame(4, 0, 0, values.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] + $1.bytes })
  }

  static let settingsAcknowledgement = frame(4, 1)

  static func goAway(last: UInt32, _ code: HTTP2ErrorCode = .noError) -> [UInt8] {
    frame(7, 0, 0, last.bytes + code.rawValue.bytes)
  }

  static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] { frame(3, 0, stream, code.bytes) }

  static func windowUpdate(_ stream: UInt32, _ increment: UInt32) -> [UInt8] { frame(8, 0, stream, increment.bytes) }

  static func ping(_ byte: UInt8 = 7, flags: UInt8 = 0) -> [UInt8] {
    frame(6, flags, 0, [UInt8](repeating: byte, count: 8))
  }

  static func data(_ stream: UInt32, _ text: String, isLast: Bool = true) -> [UInt8] {
    frame(0, isLast ? 1 : 0, stream, Array(text.utf8))
  }

  mutating func block(_ fields: [(String, String)]) -> [UInt8] {
    var block: [UInt8] = []
    encoder.encode(fields.map { HPACKField($0, $1) }, into: &block)
    return block
  }

  mutating func headers(
    _ stream: UInt32, _ fields: [(String, String)] = [(":status", "200")], isLast: Bool = false
  ) -> [UInt8] {
    ScriptedServer.frame(1, isLast ? 5 : 4, stream, block(fields))
  }

  /// The usual response.
  mutating func answer(_ stream: UInt32, _ body: String = "{}") -> [UInt8] {
    headers(stream, [(":status", "200"), ("content-type", "application/json")]) + ScriptedServer.data(stream, body)
  }
}

/// A connection and its transcript, with one line for each sent frame, for each outcome and for the close.
final class Transcript {
  var connection = HTTP2Connection(userAgent: "test", idleTimeout: .seconds(100))
  var now = BootInstant.boot + .seconds(1000)
  var sent: [UInt8] = []
  private(set) var lines: [String] = []
  private var decoder = HPACKDecoder()
  private var isPrefaceRead = false
  /// The fields of the last request.
  private(set) var fields: [String] = []
  /// The failures, in order.
  private(set) var failures: [HTTP2Failure] = []
  private(set) var responses: [HTTPResponse] = []

  static let address = WebAddress(scheme: "https", host: "localhost", port: 8443, path: "/v1/x?m=y")

  static func request(_ body: String = "{\"a\":1}", maximumSize: Int = 65_536) -> HTTPRequest {
    HTTPRequest(
      method: .patch, url: "https://localhost:8443/v1/x?m=y",
      headers: [.init("Authorization", .secret(prefix: "Bearer ", Secret("abc")))], body: Array(body.utf8),
      maximumResponseSize: maximumSize)
  }

  /// A connection that is established and has received the server's settings.
  init(settings: [(UInt16, UInt32)] = []) {
    handle(.connected)
    handle(.received(ScriptedServer.settings(settings) + ScriptedServer.settingsAcknowledgement))
    _ = takeLines()
  }

  /// A connection that is not established yet.
  init(connection: consuming HTTP2Connection) {
    self.connection = connection
  }

  func canSend(after time: Duration = .zero) -> Bool { connection.canSend(at: now + time) }

  var nextDeadline: BootInstant? { connection.nextDeadline }

  func send(_ request: HTTPRequest = Transcript.request()) {
    handle(.send(request, to: Transcript.address, deadline: now + .seconds(15)))
  }

  func receive(_ bytes: [UInt8]) { handle(.received(bytes)) }

  func handle(_ input: HTTP2Connection.Input) {
    for effect in connection.handle(input, at: now) {
      switch effect {
      case .write(let bytes):
        sent += bytes
        read(bytes)
      case .answered(let response):
        responses.append(response)
        lines.append("answered \(response.status) \(String(decoding: response.body, as: UTF8.self))")
      case .failed(let failure):
        failures.append(failure)
        lines.append("failed \(failure)")
      case .close: lines.append("close")
      }
    }
  }

  /// The transcript since the last call.
  func takeLines() -> [String] {
    defer { lines = [] }
    return lines
  }

  private static let names = [
    "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
    "CONTINUATION",
  ]

  private func read(_ bytes: [UInt8]) {
    var rest = bytes[...]
    let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    if !isPrefaceRead {
      isPrefaceRead = true
      lines.append(rest.starts(with: preface) ? "preface" : "NO PREFACE")
      rest = rest.dropFirst(preface.count)
    }
    while rest.count >= 9 {
      let header = Array(rest.prefix(9))
      let payload = Array(rest.dropFirst(9).prefix(Int(UInt32(bytes: [0] + header[0..<3]))))
      rest = rest.dropFirst(9 + payload.count)
      let stream = UInt32(bytes: header[5...])
      var line = Transcript.names[Int(header[3])]
      if stream != 0 { line += " \(stream)" }
      switch header[3] {
      case 0: line += " \(payload.count)" + (header[4] & 1 != 0 ? " END_STREAM" : "")
      case 1:
        line += header[4] & 1 != 0 ? " END_STREAM" : ""
        if header[4] & 4 != 0 {
          fields = ((try? decoder.decode(payload, limit: 1 << 20)) ?? []).map { "\($0.name): \($0.value)" }
        } else {
          line += " …"
        }
      case 3: line += " \(HTTP2ErrorCode(rawValue: UInt32(bytes: payload)).map(\.name) ?? "?")"
      case 4, 6: line += header[4] & 1 != 0 ? " ACK" : ""
      case 7: line += " \(HTTP2ErrorCode(rawValue: UInt32(bytes: payload.dropFirst(4))).map(\.name) ?? "?")"
      case 8: line += " +\(UInt32(bytes: payload))"
      default: break
      }
      lines.append(line)
    }
    if !rest.isEmpty { lines.append("HALF A FRAME") }
  }
}
