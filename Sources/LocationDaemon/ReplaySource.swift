// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
package import Timekeeping

/// Plays back a recording: a file, a FIFO or standard input. It reads when the session requests bytes.
package final class ReplaySource: FixSource {
  package let waits: Bool
  /// Maximum number of reads in one turn of the loop: a FIFO without a position can be endless.
  private static let readsPerTurn = 8

  private let loop: EventLoop
  private let report: (SourceReport) -> Void
  private var session: ReplaySession
  private var input: RecordingInput?
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - key: its key in the settings file, for messages.
  ///   - file: path; `-` is standard input.
  ///   - pace: 1 is the recording's own speed, 0 waits for `readyForNextFix`.
  /// - Throws: exit code `configuration` if the file cannot be read, `unavailable` if it does not exist.
  package init(
    loop: EventLoop, key: String = "source", file: String, pace: Double, shiftsTimes: Bool,
    report: @escaping (SourceReport) -> Void
  ) throws(DaemonError) {
    self.loop = loop
    self.report = report
    waits = pace == 0
    session = ReplaySession(
      name: file == "-" ? "standard input" : "the recording \(file)", pace: pace, shiftsTimes: shiftsTimes)
    do {
      timer = try loop.makeTimer { [weak self] in self?.handle(.deadline) }
      input = try RecordingInput(loop: loop, path: file)
    } catch {
      throw DaemonError(ExitCode.ofFile(file), "\(key).file: \(error)", cause: error)
    }
  }

  package func start() {
    loop.defer { [weak self] in self?.handle(.start) }
  }

  package func stop() {
    timer?.close()
    timer = nil
    input = nil
  }

  package func readyForNextFix() {
    handle(.readyForNextFix)
  }

  package var nextDeadline: BootInstant? { timer == nil ? nil : session.nextDeadline }

  private func handle(_ input: ReplaySession.Input) {
    guard timer != nil else { return }
    perform(session.handle(input, at: loop.now))
  }

  private func perform(_ effects: [ReplaySession.Effect]) {
    var pending = effects[...]
    var reads = 0
    while let effect = pending.popFirst() {
      // A report may lead to stopping this source.
      guard timer != nil else { return }
      switch effect {
      case .read where reads < ReplaySource.readsPerTurn:
        reads += 1
        pending += read()
      case .read:
        let rest = [effect] + pending
        return loop.defer { [weak self] in self?.perform(rest) }
      case .report(let report):
        if report == .ended { stop() }
        self.report(report)
      }
    }
    if let deadline = session.nextDeadline { timer?.arm(at: deadline) } else { timer?.disarm() }
  }

  /// Reads the next bytes; if there are none yet, the input calls back later.
  private func read() -> [ReplaySession.Effect] {
    do {
      switch try input?.read(upTo: 4096) {
      case .bytes(let bytes): return session.receive(bytes, at: loop.now)
      case .wouldBlock:
        input?.whenReadable { [weak self] in self?.perform([.read]) }
        return []
      case .end, nil: return session.handle(.endOfInput, at: loop.now)
      }
    } catch {
      return session.handle(.readFailed("\(error)"), at: loop.now)
    }
  }
}

extension ReplaySource {
  /// - Throws: exit code `configuration` when the file cannot be read.
  convenience init(_ settings: ReplaySettings, _ context: FixSources.Context) throws(DaemonError) {
    try self.init(
      loop: context.loop, key: context.key, file: settings.file, pace: settings.pace,
      shiftsTimes: settings.shiftsTimes, report: context.report)
  }
}
