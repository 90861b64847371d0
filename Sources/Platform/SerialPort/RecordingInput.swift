// SPDX-License-Identifier: Apache-2.0
package import EventLoop
import Glibc
import SystemCalls

/// A recording that is read on demand: a file, a FIFO, a device or standard input. Reads never block.
package final class RecordingInput {
  /// The result of one read.
  package enum ReadResult: Equatable, Sendable {
    /// One or more bytes.
    case bytes([UInt8])
    case end
    /// No data yet: use `whenReadable`.
    case wouldBlock
  }

  /// The name for messages: the path, or `standard input`.
  private let name: String
  private let loop: EventLoop
  private var descriptor: Descriptor?
  private let kind: mode_t
  private var source: EventSource<IOEvents>?
  private var handler: (() -> Void)?

  /// - Parameter path: `-` is standard input.
  /// - Throws: codes `missing`, `permissionDenied`, `wrongKind` (a directory), `failed`.
  package init(loop: EventLoop, path: String) throws(SerialPortError) {
    self.loop = loop
    name = path == "-" ? "standard input" : path
    do throws(Errno) {
      // Standard input keeps its mode: O_NONBLOCK would affect the shell and other processes that share it.
      let descriptor =
        path == "-" ? try Descriptor.duplicate(of: STDIN_FILENO) : try Descriptor.open(path, O_RDONLY | O_NONBLOCK)
      kind = try descriptor.status().kind
      self.descriptor = consume descriptor
    } catch {
      throw RecordingInput.openError(name, error)
    }
    if kind == S_IFDIR { throw RecordingInput.openError(name, Errno(EISDIR)) }
  }

  isolated deinit { close() }

  /// Closes the recording; the handler of `whenReadable` is no longer called.
  package func close() {
    handler = nil
    source?.close()
    source = nil
    descriptor = nil
  }

  /// Reads available data.
  ///
  /// - Parameter limit: maximum number of bytes, 1 or more.
  /// - Throws: code `failed` on an I/O error.
  package func read(upTo limit: Int) throws(SerialPortError) -> ReadResult {
    var buffer = [UInt8](repeating: 0, count: max(limit, 1))
    do throws(Errno) {
      // Readiness is checked first, because reading standard input would block. A FIFO without a writer looks like the
      // end of input; poll distinguishes the two, because it reports no hang-up before a writer has opened and closed
      // the FIFO.
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

  /// Calls the handler once, in a later iteration of the loop, when `read` has a result. A second call replaces the
  /// first handler.
  package func whenReadable(_ handler: @escaping () -> Void) {
    self.handler = handler
    if let source {
      source.resume()
      return
    }
    guard kind != S_IFREG, let rawValue = descriptor?.rawValue else { return reportReadableLater() }
    do {
      source = try loop.addIO(rawValue, .readable) { [weak self] _ in
        // Events are not needed until the next call.
        self?.source?.pause()
        self?.reportReadable()
      }
    } catch {
      // A file that cannot be watched, such as /dev/null, never blocks either.
      reportReadableLater()
    }
  }

  private func reportReadableLater() {
    loop.defer { [weak self] in self?.reportReadable() }
  }

  private func reportReadable() {
    let handler = handler
    self.handler = nil
    handler?()
  }

  private func poll() throws(Errno) -> Int32 {
    guard let rawValue = descriptor?.rawValue else { return 1 }
    var request = pollfd(fd: rawValue, events: Int16(POLLIN), revents: 0)
    return try Errno.retrying { unsafe Glibc.poll(&request, 1, 0) }
  }

  private static func openError(_ name: String, _ error: Errno) -> SerialPortError {
    switch error.code {
    case ENOENT, ENOTDIR:
      SerialPortError(.missing, "\(name): there is no such file; give the path of an NMEA recording", cause: error)
    case EACCES, EPERM:
      SerialPortError(
        .permissionDenied, "\(name): permission denied; this user must be able to read the file", cause: error)
    case EISDIR:
      SerialPortError(.wrongKind, "\(name): this is a directory; give the path of an NMEA recording", cause: error)
    default:
      SerialPortError(.failed, "\(name): cannot be opened: \(error)", cause: error)
    }
  }
}
