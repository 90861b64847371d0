// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Glibc
import SystemCalls

/// A recording that is read when its reader wants more: a file, a FIFO, a device or standard input. It never waits.
package final class InputFile {
  /// What one read came to.
  package enum ReadResult: Equatable, Sendable {
    /// One byte or more.
    case bytes([UInt8])
    case end
    /// Nothing yet: ask `whenReadable`.
    case wouldBlock
  }

  /// For messages: the path, or `standard input`.
  private let name: String
  private let loop: EventLoop
  private var descriptor: Descriptor?
  private let kind: mode_t
  private var source: EventSource<IOEvents>?
  private var handler: (() -> Void)?

  /// - Parameter path: `-` is standard input.
  /// - Throws: codes `missing`, `denied`, `wrongKind` (a directory), `failed`.
  package init(loop: EventLoop, path: String) throws(SerialPortError) {
    self.loop = loop
    name = path == "-" ? "standard input" : path
    do throws(Errno) {
      // Standard input keeps its mode: O_NONBLOCK would befall the shell and everybody else who has it open.
      let descriptor =
        path == "-" ? try Descriptor.duplicate(of: STDIN_FILENO) : try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
      kind = try descriptor.status().kind
      self.descriptor = consume descriptor
    } catch {
      throw InputFile.refusal(name, error)
    }
    if kind == S_IFDIR { throw InputFile.refusal(name, Errno(EISDIR)) }
  }

  isolated deinit { close() }

  /// Stops for good; the handler of `whenReadable` is not called any more.
  package func close() {
    handler = nil
    source?.close()
    source = nil
    descriptor = nil
  }

  /// Reads what is there.
  ///
  /// - Parameter limit: the most bytes to read, 1 or more.
  /// - Throws: code `failed`: the medium is broken.
  package func read(upTo limit: Int) throws(SerialPortError) -> ReadResult {
    var buffer = [UInt8](repeating: 0, count: max(limit, 1))
    do throws(Errno) {
      // Asked first, because standard input would wait. A FIFO that nobody has opened yet for writing looks as if it
      // had ended; poll tells it apart, for it reports no hang-up before a writer has come and gone.
      let ready = try poll()
      if ready == 0 { return .wouldBlock }
      guard let result = try descriptor?.read(into: &buffer) else { return .end }
      switch result {
      case .bytes(let count):
        buffer.removeLast(buffer.count - count)
        return .bytes(buffer)
      case .end: return .end
      case .wouldBlock: return .wouldBlock
      }
    } catch {
      throw SerialPortError(.failed, "\(name): cannot be read: \(error)", cause: error)
    }
  }

  /// Calls the handler once, in a later turn, when `read` has something to say. A second call replaces the first.
  package func whenReadable(_ handler: @escaping () -> Void) {
    self.handler = handler
    if let source {
      source.resume()
      return
    }
    guard kind != S_IFREG, let rawValue = descriptor?.rawValue else { return becomeReadableSoon() }
    do {
      source = try loop.addIO(rawValue, .readable) { [weak self] _ in
        // Nobody wants to hear of it until the next time that somebody asks.
        self?.source?.pause()
        self?.becomeReadable()
      }
    } catch {
      // What cannot be watched, such as /dev/null, never makes a reader wait either.
      becomeReadableSoon()
    }
  }

  private func becomeReadableSoon() {
    loop.defer { [weak self] in self?.becomeReadable() }
  }

  private func becomeReadable() {
    let handler = handler
    self.handler = nil
    handler?()
  }

  private func poll() throws(Errno) -> Int32 {
    guard let rawValue = descriptor?.rawValue else { return 1 }
    var request = pollfd(fd: rawValue, events: Int16(POLLIN), revents: 0)
    return try Errno.retrying { unsafe Glibc.poll(&request, 1, 0) }
  }

  private static func refusal(_ name: String, _ error: Errno) -> SerialPortError {
    switch error.code {
    case ENOENT, ENOTDIR:
      SerialPortError(.missing, "\(name): there is no such file; give the path of an NMEA recording", cause: error)
    case EACCES, EPERM:
      SerialPortError(.denied, "\(name): permission denied; this user must be able to read the file", cause: error)
    case EISDIR:
      SerialPortError(.wrongKind, "\(name): this is a directory; give the path of an NMEA recording", cause: error)
    default:
      SerialPortError(.failed, "\(name): cannot be opened: \(error)", cause: error)
    }
  }
}
