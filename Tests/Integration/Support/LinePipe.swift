// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A source of data that is read while a test waits.
protocol Readable: AnyObject {
  /// The descriptor for poll(2); nil at the end of the data.
  var descriptor: Int32? { get }
  /// Reads what is available, without blocking.
  func drain()
}

/// The read end of a pipe, split into lines.
final class LinePipe: Readable {
  private(set) var descriptor: Int32?
  /// The write end, for the child; closed by `closeWriter`.
  private(set) var writer: Int32
  private(set) var lines: [String] = []
  private var rest: [UInt8] = []

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    descriptor = ends[0]
    writer = ends[1]
    // A child that another test starts before this inherits the pipe. That is harmless: no test waits for end of file.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
  }

  deinit {
    closeWriter()
    closeReader()
  }

  /// Closes the read end.
  func closeReader() {
    if let descriptor { close(descriptor) }
    descriptor = nil
  }

  func closeWriter() {
    if writer >= 0 { close(writer) }
    writer = -1
  }

  /// Everything so far, including an incomplete last line.
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

/// Reads the sources until the condition holds.
///
/// - Throws: at the timeout.
func wait(
  for what: String, within limit: Duration, reading sources: [any Readable], until condition: () throws -> Bool
) throws {
  let end = ContinuousClock.now + limit
  while true {
    for source in sources { source.drain() }
    if try condition() {
      // A line that was written before what the condition waited for may have arrived after its pipe was read.
      for source in sources { source.drain() }
      return
    }
    guard ContinuousClock.now < end else { throw TestFailure("\(what): not within \(limit)") }
    var requests = sources.compactMap(\.descriptor).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    // Some conditions, such as the end of a process, make no descriptor readable.
    _ = poll(&requests, nfds_t(requests.count), 20)
  }
}
