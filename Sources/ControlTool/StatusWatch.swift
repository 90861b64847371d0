// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import EventLoop
import Glibc
import Observability
import SystemCalls
import Terminal
import Timekeeping

/// `status --watch` on a terminal: asks the daemon, lays out and paints repeatedly, until a key or a signal ends it.
///
/// The terminal is always restored before the program ends or is stopped.
@MainActor final class StatusWatch {
  /// Timeout of a request to the daemon; keys are not read during a request.
  static let timeout = Duration.seconds(1)
  /// Signals that end the program, after the terminal is restored.
  private static let endSignals = [SIGTERM, SIGHUP, SIGQUIT]
  private static let otherSignals = [SIGINT, SIGWINCH, SIGTSTP, SIGCONT]

  private let interval: Duration
  private let service: InstalledService?
  private let ask: () -> Result<StatusReport, CommandError>
  private let capabilities: TerminalCapabilities
  private let terminal: Terminal
  private let loop: EventLoop
  private var painter: ScreenPainter
  private var timer: LoopTimer?
  private var signalSources: [EventSource<Void>] = []
  private var keyboardSource: EventSource<IOEvents>?
  private var rows: StatusRows?
  private var answeredAt: BootInstant?
  private var lastError: CommandError?
  private var failingSince: BootInstant?
  private var isOnline = false
  private var endingSignal: Int32?

  /// - Parameters:
  ///   - interval: between two requests.
  ///   - service: for the commands in its texts; nil for the main one.
  ///   - ask: must return within ``timeout``.
  init(
    every interval: Duration, of service: InstalledService?, capabilities: TerminalCapabilities,
    ask: @escaping () -> Result<StatusReport, CommandError>
  ) throws(CommandError) {
    self.interval = interval
    self.service = service
    self.ask = ask
    self.capabilities = capabilities
    painter = ScreenPainter(capabilities)
    // From here on the loop handles signals, so that none ends the program before the terminal is restored.
    SignalMask.block(StatusWatch.endSignals + StatusWatch.otherSignals)
    do {
      terminal = try Terminal()
      loop = try EventLoop()
      timer = try loop.makeTimer { [unowned self] in refresh() }
      for signal in StatusWatch.endSignals {
        signalSources.append(
          try loop.addSignal(signal) { [unowned self] in
            endingSignal = signal
            loop.exit(0)
          })
      }
      signalSources += [
        try loop.addSignal(SIGINT) { [unowned self] in loop.exit(0) },
        try loop.addSignal(SIGWINCH) { [unowned self] in paint() },
        try loop.addSignal(SIGTSTP) { [unowned self] in pause() },
        try loop.addSignal(SIGCONT) { [unowned self] in enterScreen() },
      ]
      if let keyboard = terminal.keyboard {
        keyboardSource = try loop.addIO(keyboard, .readable) { [unowned self] _ in handleKeys() }
      }
    } catch {
      throw CommandError(.io, "\(error)")
    }
  }

  /// - Returns: the exit status: 0 if the vehicle was online at the end, otherwise 1.
  func run() throws(CommandError) -> Int32 {
    defer { terminal.leave() }
    do {
      try terminal.enter()
      refresh()
      _ = try loop.run()
    } catch {
      throw CommandError(.io, "the terminal cannot be used: \(error)")
    }
    terminal.leave()
    if let endingSignal { SignalMask.performDefaultAction(of: endingSignal) }
    return isOnline ? 0 : 1
  }

  // MARK: - Events

  private func refresh() {
    timer?.arm(at: loop.now.boot + interval)
    switch ask() {
    case .success(let status):
      rows = StatusRows(status).rewording { Instance.addressed($0, service) }
      isOnline = status.isOnline
      answeredAt = loop.now.boot
      lastError = nil
      failingSince = nil
    case .failure(let error):
      lastError = error
      failingSince = failingSince ?? loop.now.boot
      isOnline = false
    }
    paint()
  }

  private func handleKeys() {
    switch terminal.read() {
    case .end: loop.exit(0)
    case .keys(let keys):
      // Ctrl-C and Ctrl-D arrive as bytes in raw mode.
      if keys.contains(where: { [UInt8(ascii: "q"), UInt8(ascii: "Q"), 3, 4].contains($0) }) { return loop.exit(0) }
      // Any other key refreshes at once; Ctrl-L also repaints the whole screen.
      if keys.contains(12) { painter.invalidate() }
      if !keys.isEmpty { refresh() }
    }
  }

  /// Ctrl-Z: restores the terminal, stops, and repaints the screen when continued.
  private func pause() {
    terminal.leave()
    SignalMask.performDefaultAction(of: SIGTSTP)
    enterScreen()
  }

  private func enterScreen() {
    do {
      try terminal.enter()
    } catch {
      return loop.exit(0)
    }
    painter.invalidate()
    refresh()
  }

  private func paint() {
    let size = Terminal.size ?? Terminal.Size(columns: 80, rows: 24)
    let lines = StatusScreen.frame(of: rows, failure: failureText, size: size, capabilities: capabilities)
    let bytes = painter.paint(lines, on: size)
    guard !bytes.isEmpty else { return }
    do {
      try terminal.write(bytes)
    } catch {
      // On a slow terminal the next frame is painted whole; if the terminal is gone, the program ends.
      error.code == EAGAIN ? painter.invalidate() : loop.exit(0)
    }
  }

  private var failureText: StyledText? {
    guard let lastError else { return nil }
    let since = failingSince.map { (loop.now.boot - $0).humanReadable } ?? ""
    let lastResponse = answeredAt.map {
      "; last response, \((loop.now.boot - $0).humanReadable) ago:"
    }
    let message = Instance.addressed(lastError.message, service)
    return StyledText("For \(since): \(message)\(lastResponse ?? "")")
  }
}
