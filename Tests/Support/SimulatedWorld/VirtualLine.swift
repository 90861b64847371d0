// SPDX-License-Identifier: Apache-2.0
import HTTPMessages
import Timekeeping

@testable import HTTP2

/// A connection to Fleet Engine in virtual time: the daemon's own HTTP/2, and a server that reads its frames and sends
/// others, split at random. Every request and response passes through both.
struct VirtualLine: ~Copyable {
  /// The part of a request that the server allows.
  struct Allowance: Equatable {
    /// The number of bytes of the body that may be sent before a WINDOW_UPDATE.
    var window: UInt32 = 65_535
    /// SETTINGS_MAX_HEADER_LIST_SIZE.
    var headers: UInt32 = 65_535
  }

  private var random: SplitMix64
  private var client = HTTP2Connection(userAgent: "simulation", idleTimeout: .seconds(100))
  private var isOpen = false
  private var decoder = HPACKDecoder()
  private var encoder = HPACKEncoder()
  private var stream: UInt32 = 0
  /// The number of received bytes of bodies that no WINDOW_UPDATE has confirmed yet.
  private var consumed = 0
  private var outcome: HTTPOutcome?
  private var wasRefused = false
  private var allowance = Allowance()
  /// Violations of the protocol by the client, as text.
  private(set) var offences: [String] = []
  private(set) var carried = 0
  private(set) var connections = 0

  init(seed: UInt64) {
    random = SplitMix64(seed: seed ^ 0x6832)
  }

  /// Whether the next request uses the existing connection.
  func isUsable(at now: BootInstant) -> Bool { isOpen && client.canSend(at: now) }

  /// Transmits a request to the server, and returns it as the server reads it.
  /// - Parameter allowance: if it allows no body, the server gets only the headers; if no headers, nothing.
  mutating func send(
    _ request: HTTPRequest, allowing allowance: Allowance = Allowance(), deadline: BootInstant, at now: BootInstant
  ) -> HTTPRequest {
    if !isUsable(at: now) { connect(at: now) }
    if allowance != self.allowance {
      self.allowance = allowance
      let settings = [0, 4] + allowance.window.bytes + [0, 6] + allowance.headers.bytes
      _ = read(perform(client.handle(.received(frame(4, 0, 0, settings)), at: now)), like: nil)
    }
    if consumed > 30_000 {
      _ = read(perform(client.handle(.received(frame(8, 0, 0, UInt32(consumed).bytes)), at: now)), like: nil)
      consumed = 0
    }
    let path = request.url.dropFirst("https://fleetengine.test".count)
    let address = WebAddress(scheme: "https", host: "fleetengine.test", path: String(path))
    outcome = nil
    carried += 1
    let bytes = perform(client.handle(.send(request, to: address, deadline: deadline), at: now))
    return read(bytes, like: outcome == nil && allowance.window > 0 ? request : nil)
  }

  /// Fails a request on a connection that stays open, unless it failed when it was sent: resets its stream, or accepts
  /// the request before all of it was received.
  mutating func fail(_ kind: TransportFailure.Kind, at now: BootInstant) -> HTTPOutcome {
    if let outcome { return outcome }
    let code = kind == .unprocessed ? HTTP2ErrorCode.refusedStream : .internalError
    let bytes =
      kind == .answeredEarly
      ? frame(1, 4, stream, [0x88]) + frame(0, 1, stream, Array("{}".utf8)) : frame(3, 0, stream, code.rawValue.bytes)
    _ = read(perform(client.handle(.received(bytes), at: now)), like: nil)
    return outcome ?? .failure(TransportFailure(.broken, "a response without an outcome"))
  }

  /// The server closes the connection without a byte of a response.
  mutating func close(at now: BootInstant) -> HTTPOutcome {
    _ = perform(client.handle(.ended("closed"), at: now))
    isOpen = false
    return outcome ?? .failure(TransportFailure(.broken, "a closed connection without an outcome"))
  }

  /// Whether the server refuses the request unread, which it does not do twice in a row.
  mutating func refuses() -> Bool {
    wasRefused = !wasRefused && random.next() % 40 == 0
    return wasRefused
  }

  /// Transmits a response; nil refuses the request, or sends GOAWAY for it.
  mutating func answer(_ response: HTTPResponse?, at now: BootInstant) -> HTTPOutcome {
    guard isOpen else { return .failure(TransportFailure(.broken, "no connection")) }
    var bytes: [UInt8] = []
    if random.next() % 4 == 0 { bytes += frame(6, 0, 0, [UInt8](repeating: 1, count: 8)) }
    if random.next() % 16 == 0 {
      bytes += frame(4, 0, 0, [0, 1] + UInt32([0, 100, 900, 4096][Int(random.next() % 4)]).bytes)
    }
    let isLast = random.next() % 10 == 0
    if isLast { bytes += frame(7, 0, 0, UInt32(0x7FFF_FFFF).bytes + UInt32(0).bytes) }
    if let response {
      if isLast { bytes += frame(7, 0, 0, stream.bytes + UInt32(0).bytes) }
      var block: [UInt8] = []
      encoder.encode(
        [HPACKField(":status", "\(response.status)")]
          + response.headers.map { HPACKField($0.name.lowercased(), $0.value) },
        into: &block)
      let cut = Int(random.next() % UInt64(block.count + 1))
      bytes += frame(1, 0, stream, Array(block[..<cut])) + frame(9, 4, stream, Array(block[cut...]))
      if random.next() % 2 == 0 {
        bytes += frame(0, 9, stream, [3] + response.body + [0, 0, 0])
      } else {
        bytes += frame(0, 0, stream, response.body) + frame(0, 1, stream)
      }
    } else if isLast || random.next() % 2 == 0 {
      bytes += frame(7, 0, 0, (stream - 1).bytes + UInt32(0).bytes)
    } else {
      bytes += frame(3, 0, stream, HTTP2ErrorCode.refusedStream.rawValue.bytes)
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(1 + Int(random.next() % 200))
      rest = rest.dropFirst(piece.count)
      let answers = perform(client.handle(.received(Array(piece)), at: now))
      if random.next() % 8 != 0 { _ = read(answers, like: nil) } else { unread += answers }
    }
    guard let outcome else { return .failure(TransportFailure(.broken, "a response without an outcome")) }
    return outcome
  }

  /// The daemon has abandoned the request.
  mutating func cancel(at now: BootInstant) {
    _ = read(perform(client.handle(.cancel, at: now)), like: nil)
  }

  /// The network or the machine has lost the connection.
  mutating func drop() {
    isOpen = false
  }

  // MARK: - Both ends

  private var unread: [UInt8] = []

  private mutating func connect(at now: BootInstant) {
    client = HTTP2Connection(userAgent: "simulation", idleTimeout: .seconds(100))
    decoder = HPACKDecoder()
    encoder = HPACKEncoder()
    unread = []
    consumed = 0
    allowance = Allowance()
    isOpen = true
    connections += 1
    var bytes = perform(client.handle(.connected, at: now))
    bytes.removeFirst(min(24, bytes.count))
    _ = read(bytes, like: nil)
    _ = read(perform(client.handle(.received(frame(4)), at: now)), like: nil)
  }

  private mutating func perform(_ effects: [HTTP2Connection.Effect]) -> [UInt8] {
    var bytes: [UInt8] = []
    if effects.contains(where: { if case .close = $0 { true } else { false } }) { isOpen = false }
    for effect in effects {
      switch effect {
      case .write(let more): bytes += more
      case .answered(let response): end(.response(response))
      case .failed(let failure):
        end(.failure(TransportFailure(failure.kind, failure.message, isConnectionOpen: isOpen)))
      case .close: break
      }
    }
    return bytes
  }

  private mutating func end(_ outcome: HTTPOutcome) {
    if self.outcome != nil { offences.append("two outcomes of one request") }
    self.outcome = outcome
  }

  /// Reads the client's frames, and assembles a request from them.
  private mutating func read(_ bytes: [UInt8], like original: HTTPRequest?) -> HTTPRequest {
    var request = HTTPRequest(method: .get, url: "")
    var rest = (unread + bytes)[...]
    unread = []
    while rest.count >= 9 {
      let header = Array(rest.prefix(9))
      let payload = Array(rest.dropFirst(9).prefix(Int(UInt32(bytes: [0] + header[0..<3]))))
      rest = rest.dropFirst(9 + payload.count)
      switch header[3] {
      case 0:
        request.body += payload
        consumed += payload.count
      case 1:
        stream = UInt32(bytes: header[5...])
        guard let fields = try? decoder.decode(payload, limit: 1 << 20) else {
          offences.append("a header block that cannot be read")
          break
        }
        apply(fields, to: &request)
      case 3, 4, 6, 8: break
      default: offences.append("a frame of type \(header[3])")
      }
    }
    if !rest.isEmpty { offences.append("half a frame") }
    if let original, original.body != request.body || original.url != request.url || original.method != request.method {
      offences.append("\(request.method) \(request.url) in place of \(original.method) \(original.url)")
    }
    return request
  }

  private mutating func apply(_ fields: [HPACKDecoder.Field], to request: inout HTTPRequest) {
    let names = [
      "content-type": "Content-Type", "x-goog-fieldmask": "X-Goog-FieldMask", "content-encoding": "Content-Encoding",
    ]
    for field in fields {
      switch field.name {
      case ":method": request.method = HTTPRequest.Method(rawValue: field.value) ?? .get
      case ":path": request.url = "https://fleetengine.test" + field.value
      case "authorization":
        request.headers.append(
          .init("Authorization", .secret(prefix: "Bearer ", Secret(String(field.value.dropFirst("Bearer ".count))))))
      default:
        if let name = names[field.name] { request.headers.append(.init(name, .plain(field.value))) }
      }
    }
  }

  private func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
    UInt32(payload.count).bytes.dropFirst() + [type, flags] + stream.bytes + payload
  }
}
