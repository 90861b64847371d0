// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Something that gives data while a test waits.
protocol Readable: AnyObject {
  /// What poll(2) is to watch; nil when no more comes.
  var descriptor: Int32? { get }
  /// Takes what is there, without waiting.
  func drain()
}

/// The reading end of a pipe, cut into lines.
final class LinePipe: Readable {
  private(set) var descriptor: Int32?
  /// For the child; closed by `closeWriter`.
  private(set) var writer: Int32
  private(set) var lines: [String] = []
  private var rest: [UInt8] = []

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    descriptor = ends[0]
    writer = ends[1]
    // A child of another test may inherit an end in between; no harm, because no test waits for the end of the pipe.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
  }

  deinit {
    closeWriter()
    closeReader()
  }

  /// Leaves the writer without a reader.
  func closeReader() {
    if let descriptor { close(descriptor) }
    descriptor = nil
  }

  func closeWriter() {
    if writer >= 0 { close(writer) }
    writer = -1
  }

  /// Everything so far, with a last line that has not ended yet.
  var text: String { (lines + [String(decoding: rest, as: UTF8.self)]).joined(separator: "\n") }

  func drain() {
    guard let descriptor else { return }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0 { return }
      guard count > 0 else {
        close(descriptor)
        self.descriptor = nil
        return
      }
      rest += buffer.prefix(count)
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        lines.append(String(decoding: rest[..<end], as: UTF8.self))
        rest.removeSubrange(...end)
      }
    }
  }
}

/// Waits until the condition holds, while it takes what the sources give.
///
/// - Throws: when the time is over.
func wait(
  for what: String, within limit: Duration, reading sources: [any Readable], until condition: () throws -> Bool
) throws {
  let end = ContinuousClock.now + limit
  while true {
    for source in sources { source.drain() }
    if try condition() { return }
    guard ContinuousClock.now < end else { throw TestFailure("\(what): not within \(limit)") }
    var requests = sources.compactMap(\.descriptor).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // Some conditions, such as the end of a process, show nowhere else.
    _ = poll(&requests, nfds_t(requests.count), 20)
  }
}
