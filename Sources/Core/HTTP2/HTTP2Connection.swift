// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// The client's end of an HTTP/2 connection (RFC 9113) with one request at a time: bytes and time in, bytes and outcomes out.
/// It performs no I/O; once it has asked to be closed it does nothing more.
///
/// A request's header block is one byte a field from the second request on, the token included (`HPACKEncoder`). It is not
/// copied: there is one table with the token, which `wipe` overwrites, and a question to it costs nothing.
package struct HTTP2Connection: ~Copyable, Sendable {
  /// What happens to it.
  package enum Input: Sendable {
    /// The connection is established, and has negotiated `h2`.
    case connected
    /// Send this request; only while `canSend`. The address is that of its URL.
    case send(HTTPRequest, to: WebAddress, deadline: BootInstant)
    /// Bytes from the server, cut in any way.
    case received([UInt8])
    /// The connection has ended or failed, and why, for a person.
    case ended(String)
    /// The request under way is not wanted any more.
    case cancel
    /// `nextDeadline` has passed.
    case deadline
  }

  /// What its owner is to do, in this order.
  package enum Effect: Equatable, Sendable {
    case write([UInt8])
    /// The request under way was answered.
    case answered(HTTPResponse)
    /// The request under way has failed.
    case failed(HTTP2Failure)
    /// No more bytes are sent or received after what was written. `isGraceful`: the server has announced it, and another
    /// connection will most likely do.
    case close(isGraceful: Bool)
  }

  /// How long the server's SETTINGS may take.
  static let settingsTimeout = Duration.seconds(10)
  /// Bytes of a header block, and of the list that it decodes to, fields past which are passed over.
  static let maximumHeaderBlock = 65_536
  static let maximumHeaderList = 16_384
  /// Frames that cost work and mean no progress, since the last answer; one more is allowed each second.
  static let floodLimit = 200

  enum State: Equatable {
    case new
    case open
    /// The server takes no streams after this one.
    case draining(last: UInt32, HTTP2ErrorCode?)
    case closed
  }

  /// What the server allows (RFC 9113, section 6.5.2).
  struct PeerSettings {
    var hasArrived = false
    var maxConcurrentStreams = Int.max
    var initialWindow = HTTP2Window.initial
    var maxFrameSize = HTTP2Connection.maximumFrame
    var maxHeaderList = Int.max
  }

  /// A header block whose end has not come.
  struct PartialBlock {
    var stream: UInt32
    var isLast: Bool
    var bytes: [UInt8]
  }

  /// A header block that is sent again as it is.
  private struct EncodedHead {
    var head: HTTP2RequestHead
    var block: [UInt8]
    /// Of the encoder, after it was made.
    var additions: Int
  }

  /// The longest payload of a frame that is allowed to the server, which is the default (RFC 9113, section 4.2).
  static let maximumFrame = 16_384

  private let userAgent: String
  private let idleLife: Duration
  var state = State.new
  var peer = PeerSettings()
  var stream: HTTP2Stream?
  /// Of the next stream: odd and rising, past 2^31-1 there is none.
  var nextStream: UInt32 = 1
  var sendWindow = HTTP2Window.initial
  var receiveWindow = HTTP2Window.initial
  var partialBlock: PartialBlock?
  var encoder = HPACKEncoder()
  var decoder = HPACKDecoder()
  private var encodedHead: EncodedHead?
  /// A request before this one was answered.
  private var hasServed = false
  /// Nothing has come since the request was sent.
  private var isUnanswered = false
  /// Bytes that are no whole frame yet.
  private var unread: [UInt8] = []
  var output: [UInt8] = []
  var effects: [Effect] = []
  private var settingsDeadline: BootInstant?
  private var lastUse = BootInstant.boot
  private var floodBudget = HTTP2Connection.floodLimit
  private var floodRefilledAt = BootInstant.boot

  /// - Parameters:
  ///   - userAgent: of every request.
  ///   - idleLife: a connection that carried nothing for this long is not used again.
  package init(userAgent: String, idleLife: Duration) {
    self.userAgent = userAgent
    self.idleLife = idleLife
  }

  // MARK: - What is known

  /// Whether a request may be sent now on this connection.
  package func canSend(at now: BootInstant) -> Bool {
    (state == .open || state == .new) && stream == nil && nextStream <= 0x7FFF_FFFF
      && (state == .new || now - lastUse < idleLife)
  }

  /// Whether a request is under way.
  package var isBusy: Bool { stream != nil }

  /// Whether the server has spoken HTTP/2.
  package var hasPeerSettings: Bool { peer.hasArrived }

  /// When to say `deadline`; nil: nothing is waited for.
  package var nextDeadline: BootInstant? {
    guard state != .closed else { return nil }
    guard let settingsDeadline else { return stream?.deadline }
    return min(stream?.deadline ?? settingsDeadline, settingsDeadline)
  }

  // MARK: - Inputs

  /// Takes what happened, and returns what is to be done.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    guard state != .closed else { return [] }
    do throws(HTTP2Failure) {
      switch input {
      case .connected: connect(at: now)
      case .send(let request, let address, let deadline): try send(request, address, deadline, at: now)
      case .received(let bytes): try receive(bytes, at: now)
      case .ended(let words): end(words)
      case .cancel: endStream(.cancel)
      case .deadline: try checkDeadlines(at: now)
      }
    } catch {
      fail(error)
    }
    if !output.isEmpty { effects.insert(.write(output), at: 0) }
    output = []
    defer { effects = [] }
    return effects
  }

  private mutating func connect(at now: BootInstant) {
    state = .open
    lastUse = now
    floodRefilledAt = now
    settingsDeadline = now + HTTP2Connection.settingsTimeout
    output += Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    // No HEADER_TABLE_SIZE: Google's front end has answered the default value wrongly.
    let settings: [(HTTP2Setting, UInt32)] = [
      (.enablePush, 0), (.maxHeaderListSize, UInt32(HTTP2Connection.maximumHeaderList)),
    ]
    HTTP2Frame.write(
      .settings,
      settings.flatMap {
        [UInt8(truncatingIfNeeded: $0.rawValue >> 8), UInt8(truncatingIfNeeded: $0.rawValue)] + $1.bytes
      },
      into: &output)
  }

  private mutating func checkDeadlines(at now: BootInstant) throws(HTTP2Failure) {
    if let stream, stream.deadline <= now { throw .timedOut }
    if let settingsDeadline, settingsDeadline <= now { throw .violation(.settingsMissing) }
  }

  private mutating func end(_ words: String) {
    if stream != nil {
      stream = nil
      if case .draining(_, let code) = state, code != .noError {
        effects.append(.failed(.goAway(code)))
      } else {
        effects.append(.failed(hasServed && isUnanswered ? .lost(words) : .ended(words)))
      }
    }
    close(isGraceful: false)
  }

  /// The connection is of no use any more.
  private mutating func fail(_ failure: HTTP2Failure) {
    if case .violation(let violation) = failure {
      HTTP2Frame.write(.goAway, UInt32(0).bytes + violation.code.rawValue.bytes, into: &output)
    }
    if stream != nil {
      stream = nil
      effects.append(.failed(failure))
    }
    close(isGraceful: false)
  }

  mutating func close(isGraceful: Bool) {
    state = .closed
    settingsDeadline = nil
    wipe()
    unread = []
    partialBlock = nil
    effects.append(.close(isGraceful: isGraceful))
  }

  /// Overwrites the token in the table of headers: for its owner, before it lets go of a connection that may not have asked to
  /// be closed. Nothing can be sent after that.
  package mutating func wipe() {
    state = .closed
    encodedHead = nil
    encoder.wipe()
  }

  // MARK: - Sending

  private mutating func send(
    _ request: HTTPRequest, _ address: WebAddress, _ deadline: BootInstant, at now: BootInstant
  ) throws(HTTP2Failure) {
    guard state == .open, canSend(at: now) else { return effects.append(.failed(.unprocessed)) }
    lastUse = now
    let head = HTTP2RequestHead(method: request.method, address: address, headers: request.headers)
    stream = HTTP2Stream(request, head, deadline: deadline)
    isUnanswered = true
    openStream()
  }

  /// Sends the head of the request under way as soon as the server allows a stream, and what its windows allow of the body.
  mutating func openStream() {
    guard let head = stream?.head, let size = stream?.unsent.count, stream?.id == 0, peer.maxConcurrentStreams > 0,
      state == .open
    else { return }
    do {
      let id = nextStream
      let block = try headerBlock(head, length: size > 0 ? size : nil)
      nextStream += 2
      stream?.id = id
      stream?.sendWindow = peer.initialWindow
      var rest = block[...]
      var type = HTTP2FrameType.headers
      repeat {
        let piece = rest.prefix(peer.maxFrameSize)
        rest = rest.dropFirst(piece.count)
        var flags = rest.isEmpty ? HTTP2Flag.endHeaders : 0
        if type == .headers, size == 0 { flags |= HTTP2Flag.endStream }
        HTTP2Frame.write(type, flags: flags, stream: id, piece, into: &output)
        type = .continuation
      } while !rest.isEmpty
      sendBody()
    } catch {
      stream = nil
      effects.append(.failed(error))
    }
  }

  private mutating func headerBlock(_ head: HTTP2RequestHead, length: Int?) throws(HTTP2Failure) -> [UInt8] {
    var block: [UInt8] = []
    if let encodedHead, encodedHead.additions == encoder.additions, !encoder.hasPendingUpdate, encodedHead.head == head
    {
      block = encodedHead.block
    } else {
      let fields = try head.fields(userAgent: userAgent)
      let size = fields.reduce(0) { $0 + $1.size }
      guard size <= peer.maxHeaderList else {
        throw .unsendable(
          "the server accepts no more than \(peer.maxHeaderList) bytes of request headers; these are \(size)")
      }
      let additions = encoder.additions
      let isPlain = !encoder.hasPendingUpdate
      encoder.encode(fields, into: &block)
      let isRepeatable = isPlain && encoder.additions == additions
      encodedHead = isRepeatable ? EncodedHead(head: head, block: block, additions: additions) : nil
    }
    if let length { encoder.encode([HPACKField("content-length", "\(length)", repeats: false)], into: &block) }
    return block
  }

  /// Sends of the body what the windows allow.
  mutating func sendBody() {
    guard let id = stream?.id, id != 0 else { return }
    while let piece = stream?.nextPiece(limit: min(peer.maxFrameSize, sendWindow)) {
      let isLast = stream?.unsent.isEmpty ?? true
      HTTP2Frame.write(.data, flags: isLast ? HTTP2Flag.endStream : 0, stream: id, piece, into: &output)
      sendWindow -= piece.count
    }
  }

  /// Ends the request under way without an outcome; the server is informed where it cannot know.
  mutating func endStream(_ code: HTTP2ErrorCode) {
    guard let ending = stream.take() else { return }
    if ending.id != 0 { HTTP2Frame.write(.resetStream, stream: ending.id, code.rawValue.bytes, into: &output) }
    closeIfDrained()
  }

  /// The request under way has its answer.
  mutating func answer(at now: BootInstant) {
    guard let answered = stream.take() else { return }
    hasServed = true
    lastUse = now
    floodBudget = HTTP2Connection.floodLimit
    effects.append(.answered(answered.response))
    // The server did not want the rest of the request: the stream stays open until it learns that none comes.
    if !answered.isSent {
      HTTP2Frame.write(.resetStream, stream: answered.id, HTTP2ErrorCode.cancel.rawValue.bytes, into: &output)
    }
    closeIfDrained()
  }

  /// A server that wants no more requests gets the end of the connection once it has answered.
  mutating func closeIfDrained() {
    guard stream == nil, state != .closed else { return }
    if case .draining = state { close(isGraceful: true) } else if nextStream > 0x7FFF_FFFF { close(isGraceful: true) }
  }

  // MARK: - Receiving

  private mutating func receive(_ bytes: [UInt8], at now: BootInstant) throws(HTTP2Failure) {
    isUnanswered = false
    var rest = bytes[...]
    if !unread.isEmpty {
      unread += bytes
      rest = unread[...]
      unread = []
    }
    while state != .closed, rest.count >= HTTP2Frame.headerSize {
      let start = rest.startIndex
      let length = Int(rest[start]) << 16 | Int(rest[start + 1]) << 8 | Int(rest[start + 2])
      let type = rest[start + 3]
      guard peer.hasArrived || type == HTTP2FrameType.settings.rawValue else { throw .violation(.noPreface) }
      guard length <= HTTP2Connection.maximumFrame else { throw .violation(.frameTooLong) }
      guard rest.count >= HTTP2Frame.headerSize + length else { break }
      let frame = HTTP2Frame(
        type: type, flags: rest[start + 4], stream: UInt32(bytes: rest[(start + 5)..<(start + 9)]) & 0x7FFF_FFFF,
        payload: rest[(start + 9)..<(start + 9 + length)])
      rest = rest[(start + 9 + length)...]
      try take(frame, at: now)
    }
    if state != .closed { unread = Array(rest) }
  }

  /// Counts a frame that brings nothing on.
  ///
  /// - Throws: `flood` when there are too many.
  mutating func countIdleFrame(at now: BootInstant) throws(HTTP2Failure) {
    let seconds = (now - floodRefilledAt).wholeSeconds
    if seconds > 0 {
      floodBudget = Int(min(Int64(floodBudget) + seconds, Int64(HTTP2Connection.floodLimit)))
      floodRefilledAt = now
    }
    guard floodBudget > 0 else { throw .violation(.flood) }
    floodBudget -= 1
  }

  /// The server's settings have come.
  mutating func settingsArrived() {
    peer.hasArrived = true
    settingsDeadline = nil
  }
}
