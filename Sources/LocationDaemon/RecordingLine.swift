// SPDX-License-Identifier: Apache-2.0
package import EventLoop
package import FixSources
import SerialPort

/// A recording: a file, a FIFO or standard input.
package final class RecordingLine: SourceLine {
  private static let readSize = 4096

  /// The name for messages.
  package let name: String
  private let loop: EventLoop
  private let handlers: LineHandlers
  private var input: RecordingInput?

  /// - Parameters:
  ///   - key: its key in the settings file, for messages.
  ///   - file: path; `-` is standard input.
  /// - Throws: exit code `configuration` if the file cannot be read, `unavailable` if it does not exist.
  package init(
    loop: EventLoop, key: String = "source", file: String, handlers: LineHandlers
  ) throws(DaemonError) {
    name = file == "-" ? "standard input" : "the recording \(file)"
    self.loop = loop
    self.handlers = handlers
    do {
      input = try RecordingInput(loop: loop, path: file)
    } catch {
      throw DaemonError(ExitCode.ofFile(file), "\(key).file: \(error)", cause: error)
    }
  }

  package func perform(_ operation: LineOperation) {
    switch operation {
    // The read waits for another iteration of the loop: a FIFO without a position can be endless.
    case .read: loop.defer { [weak self] in self?.read() }
    case .close, .end: input = nil
    case .open, .setBaud, .pause, .watch, .awaitBytes, .send, .rejoin, .modem: break
    }
  }

  private func read() {
    guard let input else { return }
    do {
      switch try input.read(upTo: RecordingLine.readSize) {
      case .bytes(let bytes): handlers.receive(bytes.span, .peer)
      case .wouldBlock: input.whenReadable { [weak self] in self?.read() }
      case .end: handlers.pass(.endOfInput)
      }
    } catch {
      handlers.pass(.ended("\(error)"))
    }
  }
}
