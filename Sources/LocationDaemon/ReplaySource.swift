// SPDX-License-Identifier: Apache-2.0
import Configuration
package import EventLoop
package import Positioning
import SerialPort
package import Timekeeping

/// Plays a recording: a file, a FIFO or standard input, at its own pace, faster, or one fix whenever the one before is
/// settled.
package final class ReplaySource: FixSource {
  private let loop: EventLoop
  private let name: String
  private let pace: Double
  private let shiftsTimes: Bool
  private let report: (SourceReport) -> Void
  private var input: InputFile?
  private var decoder = NMEADecoder()
  private var timeline: ReplayTimeline?
  private var timer: LoopTimer?
  /// Decoded and not yet due, in order.
  private var waiting: [Fix] = []
  private var next: (fix: Fix, due: BootInstant)?
  private var isUnread = true
  private var isAtEnd = false
  /// With pace 0: the daemon is busy with the last fix.
  private var isBusy = false

  /// - Parameters:
  ///   - key: what the settings file calls it, for messages.
  ///   - file: path; `-` is standard input.
  ///   - pace: 1 is the recording's own speed, 0 waits for `settled`.
  /// - Throws: exit code `configuration` when the file cannot be read.
  package init(
    loop: EventLoop, key: String = "source", file: String, pace: Double, shiftsTimes: Bool,
    report: @escaping (SourceReport) -> Void
  ) throws(DaemonError) {
    self.loop = loop
    self.name = file
    self.pace = pace
    self.shiftsTimes = shiftsTimes
    self.report = report
    do {
      timer = try loop.makeTimer { [weak self] in self?.advance() }
      input = try InputFile(loop: loop, path: name)
    } catch {
      throw DaemonError(ExitCode.configuration, "\(key).file: \(error)", cause: error)
    }
  }

  package func start() {
    loop.defer { [weak self] in
      guard let self, input != nil else { return }
      timeline = ReplayTimeline(pace: pace, shiftsTimes: shiftsTimes, start: loop.now)
      report(.reading(name == "-" ? "standard input" : "the recording \(name)"))
      advance()
    }
  }

  package func stop() {
    timer?.close()
    timer = nil
    input = nil
    waiting = []
    next = nil
  }

  package var awaitsSettling: Bool { isBusy }

  package func settled() {
    guard isBusy else { return }
    isBusy = false
    advance()
  }

  package func isProgressing(at now: BootInstant) -> Bool {
    guard let next, !isBusy else { return true }
    return now - next.due < .seconds(30)
  }

  /// Gives the next fix if it is due, and otherwise sees to what it waits for.
  private func advance() {
    guard !isBusy, let timer else { return }
    while next == nil {
      if !waiting.isEmpty {
        next = timeline?.place(waiting.removeFirst())
      } else if isAtEnd {
        stop()
        report(.ended)
        return
      } else if !read() {
        return
      }
    }
    guard let (fix, due) = next else { return }
    guard pace == 0 || due <= loop.now.boot else { return timer.arm(at: due) }
    next = nil
    isBusy = pace == 0
    if pace > 0 { timer.arm(at: due) }
    report(.fix(fix))
  }

  /// Reads and decodes the next portion.
  ///
  /// - Returns: false when nothing is there yet; the input calls when there is.
  private func read() -> Bool {
    do {
      switch try input?.read(upTo: 4096) {
      case .bytes(let bytes):
        if isUnread { decoder.study(bytes.span) }
        isUnread = false
        // When a recording is read says nothing of when its sentences came.
        decoder.decode(bytes, at: .boot) { waiting.append($0) }
      case .wouldBlock:
        input?.whenReadable { [unowned self] in advance() }
        return false
      case .end, nil:
        decoder.finish { waiting.append($0) }
        isAtEnd = true
      }
    } catch {
      report(.lost("\(error)"))
      isAtEnd = true
    }
    return true
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
