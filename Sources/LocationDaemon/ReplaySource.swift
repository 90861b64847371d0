// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
import Timekeeping

/// Plays back a recording: a file, a FIFO or standard input. It reads when the session requests bytes.
package final class ReplaySource: SessionSource<ReplaySession> {
  private let isPaced: Bool
  /// Maximum number of reads in one turn of the loop: a FIFO without a position can be endless.
  private static let readsPerTurn = 8

  private var input: RecordingInput?

  /// - Parameters:
  ///   - key: its key in the settings file, for messages.
  ///   - file: path; `-` is standard input.
  ///   - pace: 1 is the recording's own speed, 0 waits for `readyForNextFix`.
  /// - Throws: exit code `configuration` if the file cannot be read, `unavailable` if it does not exist.
  package init(
    loop: EventLoop, key: String = "source", file: String, pace: Double, shiftsTimes: Bool,
    report: @escaping (SourceReport) -> Void
  ) throws(DaemonError) {
    isPaced = pace > 0
    super.init(
      loop: loop,
      session: ReplaySession(
        name: file == "-" ? "standard input" : "the recording \(file)", pace: pace, shiftsTimes: shiftsTimes),
      report: report)
    do {
      input = try RecordingInput(loop: loop, path: file)
    } catch {
      throw DaemonError(ExitCode.ofFile(file), "\(key).file: \(error)", cause: error)
    }
  }

  package override var waits: Bool { !isPaced }

  package override func readyForNextFix() { handle(.readyForNextFix) }

  override func close() { input = nil }

  override func run(_ effects: [ReplaySession.Effect]) {
    var pending = effects[...]
    var reads = 0
    while let effect = pending.popFirst() {
      guard isRunning else { return }
      switch effect {
      case .read where reads < ReplaySource.readsPerTurn:
        reads += 1
        pending += read()
      case .read:
        let rest = [effect] + pending
        return loop.defer { [weak self] in self?.run(rest) }
      case .report(let report): self.report(report)
      }
    }
    arm()
  }

  /// Reads the next bytes; if there are none yet, the input calls back later.
  private func read() -> [ReplaySession.Effect] {
    do {
      switch try input?.read(upTo: 4096) {
      case .bytes(let bytes): return session.receive(bytes, at: loop.now)
      case .wouldBlock:
        input?.whenReadable { [weak self] in self?.run([.read]) }
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
