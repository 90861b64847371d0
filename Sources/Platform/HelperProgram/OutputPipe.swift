// SPDX-License-Identifier: Apache-2.0
import CLinux
import EventLoop
import Glibc
import SystemCalls

/// One output stream of a child: stored up to a limit, and read beyond the limit so that the child does not block.
final class OutputPipe {
  private var readEnd: PipeEnd?
  private var childEnd: PipeEnd?
  private let limit: Int
  private var source: EventSource<IOEvents>?
  private(set) var bytes: [UInt8] = []
  /// The number of received bytes, stored or not.
  private(set) var receivedCount = 0
  /// Whether more was received than is stored.
  private(set) var exceedsLimit = false

  /// - Parameter limit: maximum number of stored bytes.
  init(limit: Int) throws(Errno) {
    self.limit = limit
    var ends: [Int32] = [-1, -1]
    _ = try Errno.retrying { unsafe fleet_pipe(&ends) }
    readEnd = PipeEnd(Descriptor(owning: ends[0]))
    childEnd = PipeEnd(Descriptor(owning: ends[1]))
    _ = try Errno.retrying { fcntl(ends[0], F_SETFL, O_NONBLOCK) }
  }

  isolated deinit { close() }

  /// The write end, for the child.
  var writeEnd: Int32 { childEnd?.descriptor.rawValue ?? -1 }

  /// To be called after the child has inherited the write end: the stream does not end while a write end is open.
  func closeWriteEnd() { childEnd = nil }

  /// - Parameter onArrival: called after each read.
  func watch(on loop: EventLoop, _ onArrival: @escaping () -> Void) throws(EventLoopError) {
    guard let readEnd else { return }
    source = try loop.addIO(readEnd.descriptor.rawValue, .readable) { [weak self] _ in
      self?.drain()
      onArrival()
    }
  }

  /// Reads the available data, at most 128 KiB, which is more than a pipe holds, so that a child that never stops
  /// writing is not read forever.
  func drain() {
    guard let readEnd else { return }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<8 {
      guard let result = try? readEnd.descriptor.read(into: &buffer) else { return stopWatching() }
      switch result {
      case .bytes(let count): store(buffer.prefix(count))
      case .end: return stopWatching()
      case .wouldBlock: return
      }
    }
  }

  private func store(_ new: ArraySlice<UInt8>) {
    receivedCount += new.count
    let room = max(limit - bytes.count, 0)
    if new.count > room { exceedsLimit = true }
    bytes += new.prefix(room)
  }

  /// Stops reading: the child gets SIGPIPE if it continues to write.
  func stopReading() {
    stopWatching()
    readEnd = nil
  }

  private func stopWatching() {
    source?.close()
    source = nil
  }

  func close() {
    stopWatching()
    readEnd = nil
    childEnd = nil
  }

  /// A class, because a noncopyable descriptor cannot be moved out of an object.
  private final class PipeEnd {
    let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
      self.descriptor = descriptor
    }
  }
}
