// SPDX-License-Identifier: Apache-2.0
import Timekeeping

/// Processes the server's frames. A thrown error ends the connection; an error of one stream only ends that stream.
extension HTTP2Connection {
  mutating func receive(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    if partialBlock != nil, frame.type != HTTP2FrameType.continuation.rawValue { throw .violation(.continuation) }
    guard let type = HTTP2FrameType(rawValue: frame.type) else { return try countFrameWithoutProgress(at: now) }
    switch type {
    case .data: try receiveData(frame, at: now)
    case .headers: try receiveHeaders(frame, at: now)
    case .continuation: try receiveContinuation(frame, at: now)
    case .priority:
      guard frame.stream != 0 else { throw .violation(.frameStream) }
      guard frame.payload.count == 5 else { throw .violation(.frameLength) }
      try countFrameWithoutProgress(at: now)
    case .resetStream: try receiveReset(frame, at: now)
    case .settings: try receiveSettings(frame, at: now)
    case .pushPromise: throw .violation(.push)
    case .ping: try receivePing(frame, at: now)
    case .goAway: try receiveGoAway(frame, at: now)
    case .windowUpdate: try receiveWindowUpdate(frame, at: now)
    }
  }

  /// Whether a frame is for the current request; false for a request that has ended, for which frames may still arrive.
  private func isCurrent(_ frame: HTTP2Frame) throws(HTTP2Failure) -> Bool {
    guard frame.stream != 0 else { throw .violation(.frameStream) }
    // The server has opened no stream, because push is disabled, and client streams have ascending odd numbers.
    guard frame.stream & 1 == 1, frame.stream < nextStream else { throw .violation(.idleStream) }
    return stream?.id == frame.stream
  }

  /// The payload without its padding (RFC 9113, sections 6.1 and 6.2).
  private func unpadded(_ frame: HTTP2Frame) throws(HTTP2Failure) -> ArraySlice<UInt8> {
    guard frame.has(HTTP2Flag.padded) else { return frame.payload }
    guard let count = frame.payload.first, Int(count) < frame.payload.count else { throw .violation(.padding) }
    return frame.payload.dropFirst().dropLast(Int(count))
  }

  /// The response to the current request is invalid.
  private mutating func failStream(_ failure: HTTP2Failure) {
    effects.append(.failed(failure))
    endStream(failure == .tooLarge ? .cancel : .protocolError)
  }

  // MARK: - Responses

  private mutating func receiveData(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    let isCurrent = try isCurrent(frame)
    let data = try unpadded(frame)
    let isLast = frame.has(HTTP2Flag.endStream)
    // Padding counts too, and so does data of requests that have ended (RFC 9113, section 6.9.1).
    receiveWindow -= frame.payload.count
    guard receiveWindow >= 0 else { throw .violation(.flowControl) }
    if HTTP2Window.initial - receiveWindow >= HTTP2Window.threshold {
      HTTP2Frame.write(.windowUpdate, UInt32(HTTP2Window.initial - receiveWindow).bytes, into: &output)
      receiveWindow = HTTP2Window.initial
    }
    if !isCurrent || (data.isEmpty && !isLast) { try countFrameWithoutProgress(at: now) }
    guard isCurrent, let window = stream?.receiveWindow else { return }
    let left = window - frame.payload.count
    guard left >= 0 else { throw .violation(.flowControl) }
    stream?.receiveWindow = left
    if !isLast, HTTP2Window.initial - left >= HTTP2Window.threshold {
      HTTP2Frame.write(
        .windowUpdate, stream: frame.stream, UInt32(HTTP2Window.initial - left).bytes, into: &output)
      stream?.receiveWindow = HTTP2Window.initial
    }
    do throws(HTTP2Failure) {
      try stream?.receive(data)
      if isLast { try stream?.finish() }
    } catch {
      return failStream(error)
    }
    if isLast { completeResponse(at: now) }
  }

  private mutating func receiveHeaders(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    _ = try isCurrent(frame)
    var fragment = try unpadded(frame)
    if frame.has(HTTP2Flag.priority) {
      guard fragment.count >= 5 else { throw .violation(.frameLength) }
      fragment = fragment.dropFirst(5)
    }
    try receiveFieldBlockFragment(
      fragment, of: PartialBlock(stream: frame.stream, isLast: frame.has(HTTP2Flag.endStream), bytes: []),
      isEnd: frame.has(HTTP2Flag.endHeaders), at: now)
  }

  private mutating func receiveContinuation(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    guard let partial = partialBlock, partial.stream == frame.stream else { throw .violation(.continuation) }
    partialBlock = nil
    try countFrameWithoutProgress(at: now)
    try receiveFieldBlockFragment(frame.payload, of: partial, isEnd: frame.has(HTTP2Flag.endHeaders), at: now)
  }

  private mutating func receiveFieldBlockFragment(
    _ fragment: ArraySlice<UInt8>, of partial: consuming PartialBlock, isEnd: Bool, at now: BootInstant
  ) throws(HTTP2Failure) {
    guard partial.bytes.count + fragment.count <= HTTP2Connection.maximumHeaderBlock else {
      throw .violation(.headerBlockTooLong)
    }
    partial.bytes += fragment
    if isEnd { try receiveFieldBlock(partial, at: now) } else { partialBlock = partial }
  }

  private mutating func receiveFieldBlock(_ block: PartialBlock, at now: BootInstant) throws(HTTP2Failure) {
    // The block is always decoded, because it changes the tables of both ends (RFC 9113, section 4.3).
    let fields: [HPACKDecoder.Field]
    do {
      fields = try decoder.decode(block.bytes, limit: HTTP2Connection.maximumHeaderList)
    } catch {
      throw .violation(.compression)
    }
    guard stream?.id == block.stream else { return try countFrameWithoutProgress(at: now) }
    do throws(HTTP2Failure) {
      try stream?.receive(fields, isLast: block.isLast)
      if block.isLast { try stream?.finish() }
    } catch {
      return failStream(error)
    }
    // An interim response does not count as progress.
    if stream?.status == nil { try countFrameWithoutProgress(at: now) }
    if block.isLast { completeResponse(at: now) }
  }

  private mutating func receiveReset(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    let isCurrent = try isCurrent(frame)
    guard frame.payload.count == 4 else { throw .violation(.frameLength) }
    guard isCurrent else { return try countFrameWithoutProgress(at: now) }
    let code = HTTP2ErrorCode(rawValue: UInt32(bytes: frame.payload))
    stream = nil
    effects.append(.failed(code == .refusedStream ? .unprocessed : .reset(code)))
    closeIfDrained()
  }

  // MARK: - The connection

  private mutating func receiveSettings(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    guard frame.stream == 0 else { throw .violation(.frameStream) }
    if frame.has(HTTP2Flag.acknowledgement) {
      guard peer.hasSentSettings else { throw .violation(.noPreface) }
      guard frame.payload.isEmpty else { throw .violation(.frameLength) }
      return try countFrameWithoutProgress(at: now)
    }
    guard frame.payload.count.isMultiple(of: 6) else { throw .violation(.frameLength) }
    try countFrameWithoutProgress(at: now)
    var rest = frame.payload
    while !rest.isEmpty {
      let identifier = UInt16(truncatingIfNeeded: UInt32(bytes: rest.prefix(2)))
      let value = UInt32(bytes: rest.dropFirst(2).prefix(4))
      rest = rest.dropFirst(6)
      if let setting = HTTP2Setting(rawValue: identifier) { try apply(setting, Int(value)) }
    }
    settingsArrived()
    HTTP2Frame.write(.settings, flags: HTTP2Flag.acknowledgement, [], into: &output)
    openStream()
    sendBody()
  }

  private mutating func apply(_ setting: HTTP2Setting, _ value: Int) throws(HTTP2Failure) {
    switch setting {
    case .headerTableSize: encoder.setPeerCapacity(value)
    case .enablePush:
      // A server must not enable push (RFC 9113, section 6.5.2).
      guard value == 0 else { throw .violation(.setting) }
    case .maxConcurrentStreams: peer.maxConcurrentStreams = value
    case .initialWindowSize:
      guard value <= HTTP2Window.maximumSize else { throw .violation(.flowControl) }
      if let current = stream, current.id != 0 {
        let window = current.sendWindow + value - peer.initialWindow
        guard window <= HTTP2Window.maximumSize else { throw .violation(.flowControl) }
        stream?.sendWindow = window
      }
      peer.initialWindow = value
    case .maxFrameSize:
      guard (HTTP2Connection.maximumFrame...0xFF_FFFF).contains(value) else { throw .violation(.setting) }
      peer.maxFrameSize = value
    case .maxHeaderListSize: peer.maxHeaderList = value
    }
  }

  private mutating func receivePing(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    guard frame.stream == 0 else { throw .violation(.frameStream) }
    guard frame.payload.count == 8 else { throw .violation(.frameLength) }
    try countFrameWithoutProgress(at: now)
    guard !frame.has(HTTP2Flag.acknowledgement) else { return }
    HTTP2Frame.write(.ping, flags: HTTP2Flag.acknowledgement, frame.payload, into: &output)
  }

  private mutating func receiveGoAway(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    guard frame.stream == 0 else { throw .violation(.frameStream) }
    guard frame.payload.count >= 8 else { throw .violation(.frameLength) }
    try countFrameWithoutProgress(at: now)
    let last = UInt32(bytes: frame.payload) & 0x7FFF_FFFF
    let code = HTTP2ErrorCode(rawValue: UInt32(bytes: frame.payload.dropFirst(4)))
    if case .draining(let before, _) = state, last > before { throw .violation(.goAwayRises) }
    state = .draining(last: last, code)
    if let current = stream, current.id == 0 || current.id > last {
      stream = nil
      switch code {
      // A new connection does not help with these.
      case .enhanceYourCalm, .inadequateSecurity, .http11Required: effects.append(.failed(.goAway(code)))
      default: effects.append(.failed(.unprocessed))
      }
    }
    closeIfDrained()
  }

  private mutating func receiveWindowUpdate(_ frame: HTTP2Frame, at now: BootInstant) throws(HTTP2Failure) {
    guard frame.payload.count == 4 else { throw .violation(.frameLength) }
    let increment = Int(UInt32(bytes: frame.payload) & 0x7FFF_FFFF)
    let unsent = stream?.unsent.count
    if frame.stream == 0 {
      guard increment > 0 else { throw .violation(.emptyWindowUpdate) }
      guard sendWindow + increment <= HTTP2Window.maximumSize else { throw .violation(.flowControl) }
      sendWindow += increment
    } else {
      guard try isCurrent(frame), let current = stream else { return try countFrameWithoutProgress(at: now) }
      guard increment > 0 else { return failStream(.violation(.emptyWindowUpdate)) }
      guard current.sendWindow + increment <= HTTP2Window.maximumSize else {
        return failStream(.violation(.flowControl))
      }
      stream?.sendWindow += increment
    }
    sendBody()
    // An update that allows more of the body to be sent is progress; an update of a window that was not exhausted is
    // not.
    if stream?.unsent.count == unsent { try countFrameWithoutProgress(at: now) }
  }
}
