// SPDX-License-Identifier: Apache-2.0
package import HTTPMessages
package import Timekeeping

/// The client side of an HTTP/2 connection (RFC 9113) with one request at a time: bytes and time in, bytes and outcomes
/// out. It performs no I/O; after `close` it does nothing more.
///
/// From the second request on, a header block has one byte per field, including the token (`HPACKEncoder`). The type is
/// not copyable: there is only one table with the token, which `wipe` overwrites, and no access copies it.
package struct HTTP2Connection: ~Copyable, Sendable {
  /// Events of the connection.
  package enum Input: Sendable {
    /// The connection is established, and has negotiated `h2`.
    case connected
    /// Send this request; only while `canSend`. The address is that of its URL.
    case send(HTTPRequest, to: WebAddress, deadline: BootInstant)
    /// Data from the server, in chunks of any size.
    case received([UInt8])
    /// The connection was closed or failed, and why.
    case ended(String)
    /// Cancel the current request.
    case cancel
    /// `nextDeadline` has passed.
    case deadline
  }

  /// What its owner has to do, in this order.
  package enum Effect: Equatable, Sendable {
    case write([UInt8])
    /// The current request was answered.
    case answered(HTTPResponse)
    /// The current request has failed.
    case failed(HTTP2Failure)
    /// Close the connection after the data was written.
    case close
  }

  /// The timeout for the server's SETTINGS.
  static let settingsTimeout = Duration.seconds(10)
  /// Maximum size of a header block in bytes, and of the list that it decodes to, beyond which fields are discarded.
  static let maximumHeaderBlock = 65_536
  static let maximumHeaderList = 16_384

  enum State: Equatable {
    case new
    case open
    /// The server accepts no streams after this one.
    case draining(last: UInt32, HTTP2ErrorCode?)
    case closed
  }

  /// The server's settings (RFC 9113, section 6.5.2).
  struct PeerSettings {
    var hasSentSettings = false
    var maxConcurrentStreams = Int.max
    var initialWindow = HTTP2Window.initial
    var maxFrameSize = HTTP2Connection.maximumFrame
    var maxHeaderList = Int.max
  }

  /// An incomplete header block.
  struct PartialBlock {
    var stream: UInt32
    var isLast: Bool
    var bytes: [UInt8]
  }

  /// A header block that is reused.
  private struct EncodedHead {
    var head: HTTP2RequestHead
    var block: [UInt8]
    /// The size of the fields, as `SETTINGS_MAX_HEADER_LIST_SIZE` counts it.
    var size: Int
    /// `HPACKEncoder.additions` after the block was encoded; the block is reused only while this is unchanged.
    var additions: Int
  }

  /// The maximum payload of a received frame, which is the default (RFC 9113, section 4.2).
  static let maximumFrame = 16_384

  private let userAgent: String
  private let idleTimeout: Duration
  var state = State.new
  var peer = PeerSettings()
  var stream: HTTP2Stream?
  /// The ID of the next stream: odd and ascending, up to 2^31-1.
  var nextStream: UInt32 = 1
  var sendWindow = HTTP2Window.initial
  var receiveWindow = HTTP2Window.initial
  var partialBlock: PartialBlock?
  var encoder = HPACKEncoder()
  var decoder = HPACKDecoder()
  private var encodedHead: EncodedHead?
  /// Whether a previous request was answered.
  private var hasServed = false
  /// Whether no data has been received since the request was sent.
  private var isUnanswered = false
  /// An incomplete frame.
  private var partialFrame: [UInt8] = []
  var output: [UInt8] = []
  var effects: [Effect] = []
  private var settingsDeadline: BootInstant?
  private var lastUse = BootInstant.boot
  /// Frames without progress since the last response.
  private var flood = FloodLimit()

  /// - Parameters:
  ///   - userAgent: the User-Agent of every request.
  ///   - idleTimeout: idle time after which the connection is not used again.
  package init(userAgent: String, idleTimeout: Duration) {
    self.userAgent = userAgent
    self.idleTimeout = idleTimeout
  }

  // MARK: - State

  /// Whether a request can be sent now.
  package func canSend(at now: BootInstant) -> Bool {
    (state == .open || state == .new) && stream == nil && nextStream <= 0x7FFF_FFFF
      && (state == .new || now - lastUse < idleTimeout)
  }

  /// Whether a request is in flight.
  package var isBusy: Bool { stream != nil }

  /// When to handle `deadline`; nil if there is none.
  package var nextDeadline: BootInstant? {
    guard state != .closed else { return nil }
    guard let settingsDeadline else { return stream?.deadline }
    return min(stream?.deadline ?? settingsDeadline, settingsDeadline)
  }

  // MARK: - Inputs

  /// Handles an input, and returns the effects in order.
  package mutating func handle(_ input: Input, at now: BootInstant) -> [Effect] {
    guard state != .closed else { return [] }
    do throws(HTTP2Failure) {
      switch input {
      case .connected: connect(at: now)
      case .send(let request, let address, let deadline): try send(request, address, deadline, at: now)
      case .received(let bytes): try receive(bytes, at: now)
      case .ended(let reason): end(reason)
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
    settingsDeadline = now + HTTP2Connection.settingsTimeout
    output += Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    // HEADER_TABLE_SIZE is not sent: Google's front end has mishandled the default value.
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
    // SETTINGS is the server's first frame, so its absence is silence, most often because the path is dead.
    if let settingsDeadline, settingsDeadline <= now {
      throw .ended("no response from the server after the TLS handshake")
    }
  }

  private mutating func end(_ reason: String) {
    if stream != nil {
      stream = nil
      if case .draining(_, let code) = state, code != .noError {
        effects.append(.failed(.goAway(code)))
      } else {
        effects.append(.failed(hasServed && isUnanswered ? .lost(reason) : .ended(reason)))
      }
    }
    close()
  }

  /// The connection has failed.
  private mutating func fail(_ failure: HTTP2Failure) {
    if case .violation(let violation) = failure {
      HTTP2Frame.write(.goAway, UInt32(0).bytes + violation.code.rawValue.bytes, into: &output)
    }
    if stream != nil {
      stream = nil
      effects.append(.failed(failure))
    }
    close()
  }

  mutating func close() {
    state = .closed
    settingsDeadline = nil
    wipe()
    partialFrame = []
    partialBlock = nil
    effects.append(.close)
  }

  /// Overwrites the token in the header table. The owner calls this before it drops a connection that may not have
  /// asked to be closed. Nothing can be sent after that.
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

  /// Sends the head of the current request as soon as the server allows a stream, and as much of the body as its
  /// windows allow.
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
      output.reserveCapacity(output.count + block.count + size + 2 * HTTP2Frame.headerSize)
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
      try checkSize(encodedHead.size)
      block = encodedHead.block
    } else {
      let fields = try head.fields(userAgent: userAgent)
      let size = fields.reduce(0) { $0 + $1.size }
      try checkSize(size)
      let additions = encoder.additions
      let isPlain = !encoder.hasPendingUpdate
      encoder.encode(fields, into: &block)
      let isRepeatable = isPlain && encoder.additions == additions
      encodedHead = isRepeatable ? EncodedHead(head: head, block: block, size: size, additions: additions) : nil
    }
    if let length { encoder.encode([HPACKField("content-length", "\(length)", repeats: false)], into: &block) }
    return block
  }

  private func checkSize(_ size: Int) throws(HTTP2Failure) {
    guard size <= peer.maxHeaderList else { throw .headersTooLarge(size: size, limit: peer.maxHeaderList) }
  }

  /// Sends as much of the body as the windows allow.
  mutating func sendBody() {
    guard let id = stream?.id, id != 0 else { return }
    while let piece = stream?.nextPiece(limit: min(peer.maxFrameSize, sendWindow)) {
      let isLast = stream?.unsent.isEmpty ?? true
      HTTP2Frame.write(.data, flags: isLast ? HTTP2Flag.endStream : 0, stream: id, piece, into: &output)
      sendWindow -= piece.count
    }
  }

  /// Ends the current request without an outcome; resets the stream if necessary.
  mutating func endStream(_ code: HTTP2ErrorCode) {
    guard let ending = stream.take() else { return }
    if ending.id != 0 { HTTP2Frame.write(.resetStream, stream: ending.id, code.rawValue.bytes, into: &output) }
    closeIfDrained()
  }

  /// The response is complete.
  mutating func completeResponse(at now: BootInstant) {
    guard let answered = stream.take() else { return }
    hasServed = true
    lastUse = now
    flood = FloodLimit()
    // The server may reject a request before it has received all of it; an acceptance before that does not count.
    let isEarly = !answered.isSent && (200..<300).contains(answered.response.status)
    effects.append(isEarly ? .failed(.answeredEarly) : .answered(answered.response))
    // The server did not wait for the rest of the request: the stream must be reset.
    if !answered.isSent {
      HTTP2Frame.write(.resetStream, stream: answered.id, HTTP2ErrorCode.cancel.rawValue.bytes, into: &output)
    }
    closeIfDrained()
  }

  /// Closes the connection after a response if no more requests can be made on it.
  mutating func closeIfDrained() {
    guard stream == nil, state != .closed else { return }
    if case .draining = state { close() } else if nextStream > 0x7FFF_FFFF { close() }
  }

  // MARK: - Receiving

  private mutating func receive(_ bytes: [UInt8], at now: BootInstant) throws(HTTP2Failure) {
    isUnanswered = false
    var rest = bytes[...]
    if !partialFrame.isEmpty {
      partialFrame += bytes
      rest = partialFrame[...]
      partialFrame = []
    }
    while state != .closed, rest.count >= HTTP2Frame.headerSize {
      let start = rest.startIndex
      let length = Int(rest[start]) << 16 | Int(rest[start + 1]) << 8 | Int(rest[start + 2])
      let type = rest[start + 3]
      guard peer.hasSentSettings || type == HTTP2FrameType.settings.rawValue else { throw .violation(.noPreface) }
      guard length <= HTTP2Connection.maximumFrame else { throw .violation(.frameTooLong) }
      guard rest.count >= HTTP2Frame.headerSize + length else { break }
      let frame = HTTP2Frame(
        type: type, flags: rest[start + 4], stream: UInt32(bytes: rest[(start + 5)..<(start + 9)]) & 0x7FFF_FFFF,
        payload: rest[(start + 9)..<(start + 9 + length)])
      rest = rest[(start + 9 + length)...]
      try receive(frame, at: now)
    }
    if state != .closed { partialFrame = Array(rest) }
  }

  /// Counts a frame without progress.
  ///
  /// - Throws: `flood` if there are too many.
  mutating func countFrameWithoutProgress(at now: BootInstant) throws(HTTP2Failure) {
    guard flood.admit(at: now) else { throw .violation(.flood) }
  }

  /// The server's SETTINGS were received.
  mutating func settingsArrived() {
    peer.hasSentSettings = true
    settingsDeadline = nil
  }
}
