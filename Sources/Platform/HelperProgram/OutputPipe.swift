// SPDX-License-Identifier: Apache-2.0
import CLinux
import EventLoop
import Glibc
import SystemCalls

/// One stream of a child's output: what arrives is kept up to a limit, and read on beyond it so that the child never waits.
final class OutputPipe {
  private var readEnd: OneEnd?
  private var otherEnd: OneEnd?
  private let limit: Int
  private var source: EventSource<IOEvents>?
  private(set) var bytes: [UInt8] = []
  /// Bytes that came, kept or not.
  private(set) var received = 0
  /// More came than is kept.
  private(set) var isOverfull = false

  /// - Parameter limit: bytes that are kept.
  init(limit: Int) throws(Errno) {
    self.limit = limit
    var ends: [Int32] = [-1, -1]
    _ = try Errno.retrying { unsafe fleet_pipe(&ends) }
    readEnd = OneEnd(Descriptor(owning: ends[0]))
    otherEnd = OneEnd(Descriptor(owning: ends[1]))
    _ = try Errno.retrying { fcntl(ends[0], F_SETFL, O_NONBLOCK) }
  }

  isolated deinit { close() }

  /// For the child.
  var writeEnd: Int32 { otherEnd?.descriptor.rawValue ?? -1 }

  /// Once the child has its own: as long as one is open, the stream does not end.
  func closeWriteEnd() { otherEnd = nil }

  /// - Parameter onArrival: called after something was read.
  func watch(on loop: EventLoop, _ onArrival: @escaping () -> Void) throws(EventLoopError) {
    guard let readEnd else { return }
    source = try loop.addIO(readEnd.descriptor.rawValue, .readable) { [weak self] _ in
      self?.drain()
      onArrival()
    }
  }

  /// Reads what is there, but no more than a pipe can hold, so that a child which never stops is not read for ever.
  func drain() {
    guard let readEnd else { return }
    var buffer = [UInt8](repeating: 0, count: 16_384)
    for _ in 0..<8 {
      guard let result = try? readEnd.descriptor.read(into: &buffer) else { return stopWatching() }
      switch result {
      case .bytes(let count): keep(buffer.prefix(count))
      case .end: return stopWatching()
      case .wouldBlock: return
      }
    }
  }

  private func keep(_ new: ArraySlice<UInt8>) {
    received += new.count
    let room = max(limit - bytes.count, 0)
    if new.count > room { isOverfull = true }
    bytes += new.prefix(room)
  }

  /// Reads no more: the child gets SIGPIPE when it goes on.
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
    otherEnd = nil
  }

  /// A class around the descriptor, which cannot be moved out of an object otherwise.
  private final class OneEnd {
    let descriptor: Descriptor

    init(_ descriptor: consuming Descriptor) {
      self.descriptor = descriptor
    }
  }
}
