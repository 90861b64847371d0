// SPDX-License-Identifier: Apache-2.0
// Feeds an HTTP/2 connection with inputs from libFuzzer, whole and in two portions, with the same result.
//
//   scripts/fuzz.sh 60 FuzzHTTP2
import HTTP2
import HTTPMessages
import Timekeeping

@_cdecl("LLVMFuzzerTestOneInput")
func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
  let split = count == 0 ? 0 : Int(input[0]) * count / 256
  let whole = Conversation([input], requests: 1)
  let parts = Conversation([Array(input[..<split]), Array(input[split...])], requests: 1)
  precondition(whole.written == parts.written && whole.outcomes == parts.outcomes, "a split changes the result")
  // More requests, sent as the responses come.
  _ = Conversation(input.map { [$0] }, requests: 4)
  return 0
}

/// A request, and then new requests up to a maximum, each when the previous one has ended.
private struct Conversation: ~Copyable {
  private var connection = HTTP2Connection(userAgent: "fuzz", idleTimeout: .seconds(100))
  private var now = BootInstant.boot + .seconds(1)
  private(set) var written: [UInt8] = []
  private(set) var outcomes: [HTTP2Connection.Effect] = []
  private var requests = 0
  private let maximum: Int
  private var isClosed = false

  init(_ portions: [[UInt8]], requests maximum: Int) {
    self.maximum = maximum
    perform(connection.handle(.connected, at: now))
    send()
    // With a valid beginning from the server, more of the input is used.
    receive([0, 0, 0, 4, 0, 0, 0, 0, 0])
    let size = written.count
    for portion in portions { receive(portion) }
    let received = portions.reduce(0) { $0 + $1.count }
    precondition(written.count - size <= 4096 + received * 40, "more is written than was asked for")
    perform(connection.handle(.ended("over"), at: now))
    precondition(outcomes.count == requests, "a request has no end, or two")
    precondition(isClosed && connection.nextDeadline == nil && !connection.isBusy)
    precondition(connection.handle(.received([0, 0, 0, 4, 0, 0, 0, 0, 0]), at: now).isEmpty)
  }

  private mutating func send() {
    guard requests < maximum, connection.canSend(at: now) else { return }
    requests += 1
    let request = HTTPRequest(
      method: .patch, url: "https://localhost/v1/x",
      headers: [.init("Authorization", .secret(prefix: "Bearer ", Secret("abc")))], body: Array("{\"a\":1}".utf8),
      maximumResponseSize: 1000)
    let address = WebAddress(scheme: "https", host: "localhost", path: "/v1/x")
    perform(connection.handle(.send(request, to: address, deadline: now + .seconds(15)), at: now))
  }

  private mutating func receive(_ bytes: [UInt8]) {
    perform(connection.handle(.received(bytes), at: now))
    send()
  }

  private mutating func perform(_ effects: [HTTP2Connection.Effect]) {
    for effect in effects {
      precondition(!isClosed, "something follows the end")
      switch effect {
      case .write(let bytes): written += bytes
      case .answered(let response):
        precondition((200..<600).contains(response.status) && response.body.count <= 1000)
        outcomes.append(effect)
      case .failed: outcomes.append(effect)
      case .close: isClosed = true
      }
    }
  }
}
