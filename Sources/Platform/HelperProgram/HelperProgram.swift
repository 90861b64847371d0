// SPDX-License-Identifier: Apache-2.0
import CLinux
package import EventLoop
import Glibc
import SystemCalls
import Timekeeping

/// A program that is run for what it prints, on the loop: no shell, no thread, nothing inherited but the environment.
///
/// It has a process group of its own, apart from the process that waits for it. When it takes too long or writes too much the
/// group gets SIGTERM, and SIGKILL two seconds later; if the one that waits was stopped, it is killed four seconds later. When it has ended, everything that it has started is killed, also what has left its group or session.
@safe package final class HelperProgram {
  /// How a run ended.
  package enum Ending: Equatable, Sendable {
    case exited(Int32)
    /// By a signal that this program did not send.
    case killed(Int32)
    case timedOut
    case tooLarge
    /// It never ran.
    case notStarted(String)
  }

  /// How the program ended and what it wrote.
  package struct Result: Equatable, Sendable {
    /// Why there is no more output.
    package var ending: Ending
    /// Standard output, at most the bytes that were asked for.
    package var output: [UInt8]
    /// The beginning of standard error.
    package var errors: [UInt8]
  }

  /// Bytes of standard error that are kept; what is more is read and dropped.
  package static let maximumErrorSize = 16_384
  /// Bytes of standard error that are read; a program that writes more is ended.
  package static let maximumErrorsRead = 1 << 20
  /// Between SIGTERM and SIGKILL.
  package static let grace = Duration.seconds(2)

  private let loop: EventLoop
  private let maximumOutputSize: Int
  private var completion: ((Result) -> Void)?
  /// Of the process that waits for the program; 0 when none runs.
  private var processID: pid_t = 0
  /// Of the program's process group.
  private var groupID: pid_t = 0
  private var child: EventSource<ChildStatus>?
  private var timer: LoopTimer?
  private var output: OutputPipe?
  private var errors: OutputPipe?
  /// Why we have ended it.
  private var verdict: Ending?
  /// It was to end at once.
  private var isKilled = false
  /// Itself, as long as the program runs, so that it is reaped whatever the owner does.
  private var running: HelperProgram?

  /// Runs the program.
  ///
  /// - Parameters:
  ///   - arguments: the absolute path of the program first.
  ///   - environment: added to this process's own, which is passed on but for what concerns this process alone.
  ///   - maximumOutputSize: bytes; a program that prints more is ended.
  ///   - completion: called once, in a later turn; never after `cancel`.
  package init(
    loop: EventLoop, arguments: [String], environment: [(name: String, value: String)], deadline: Duration,
    maximumOutputSize: Int, completion: @escaping (Result) -> Void
  ) {
    self.loop = loop
    self.maximumOutputSize = maximumOutputSize
    self.completion = completion
    do {
      try start(arguments, environment, deadline: deadline)
    } catch {
      let why = "\(error)"
      loop.defer { [weak self] in self?.finish(.notStarted(why)) }
    }
  }

  isolated deinit {
    // Only with the loop itself: a program that runs keeps this object.
    if processID > 0 { killAll() }
    close()
  }

  /// Ends the program at once; nobody is told.
  package func cancel() {
    completion = nil
    // Not yet reaped: the number is still its own. The end is waited for on the loop.
    if processID > 0 { killAll() } else { close() }
  }

  private func start(
    _ arguments: [String], _ environment: [(name: String, value: String)], deadline: Duration
  ) throws {
    let output = try OutputPipe(limit: maximumOutputSize)
    let errors = try OutputPipe(limit: HelperProgram.maximumErrorSize)
    timer = try loop.makeTimer { [weak self] in self?.timeIsUp() }
    let variables = HelperProgram.environment(adding: environment)
    let helper = try HelperProgram.spawn(arguments, variables, output: output.writeEnd, errors: errors.writeEnd)
    (processID, groupID) = (helper.supervisor, helper.program)
    output.closeWriteEnd()
    errors.closeWriteEnd()
    self.output = output
    self.errors = errors
    running = self
    child = try loop.addChild(processID) { [weak self] status in self?.ended(status) }
    try output.watch(on: loop) { [weak self] in self?.outputArrived() }
    try errors.watch(on: loop) { [weak self] in self?.errorsArrived() }
    timer?.arm(at: loop.now.boot + deadline)
  }

  private func outputArrived() {
    guard let output, output.isOverfull else { return }
    output.stopReading()
    end(.tooLarge)
  }

  private func errorsArrived() {
    guard let errors, errors.received > HelperProgram.maximumErrorsRead else { return }
    errors.stopReading()
    end(.tooLarge)
  }

  private func timeIsUp() {
    guard processID > 0 else { return }
    guard !isKilled else {
      // Something keeps the process that waits from its work: its end frees what waits for it.
      _ = kill(processID, SIGKILL)
      return
    }
    if verdict == nil { return end(.timedOut) }
    killAll()
  }

  private func killAll() {
    guard !isKilled else { return }
    isKilled = true
    signal(HelperProgram.endNow)
    timer?.arm(at: loop.now.boot + HelperProgram.grace * 2)
  }

  /// Sends a signal to the process that waits for the program; the program may have stopped it.
  private func signal(_ number: Int32) {
    _ = kill(processID, number)
    _ = kill(processID, SIGCONT)
  }

  private func end(_ verdict: Ending) {
    guard self.verdict == nil, !isKilled, processID > 0 else { return }
    self.verdict = verdict
    signal(SIGTERM)
    timer?.arm(at: loop.now.boot + HelperProgram.grace)
  }

  /// The process that waited for the program has killed what it left behind, unless it was killed itself: then what is left of
  /// the program's group is.
  private func ended(_ status: ChildStatus) {
    if status == .killed(SIGKILL) { _ = kill(-groupID, SIGKILL) }
    processID = 0
    // What it has written is in the pipes, also when somebody else still holds their other ends.
    output?.drain()
    errors?.drain()
    if output?.isOverfull == true, verdict == nil { verdict = .tooLarge }
    switch (verdict, status) {
    case (let verdict?, _): finish(verdict)
    case (nil, .exited(let code)): finish(.exited(code))
    case (nil, .killed(let signal)): finish(.killed(signal))
    }
  }

  private func finish(_ ending: Ending) {
    let completion = completion
    self.completion = nil
    let result = Result(ending: ending, output: output?.bytes ?? [], errors: errors?.bytes ?? [])
    close()
    completion?(result)
  }

  private func close() {
    processID = 0
    child?.close()
    timer?.close()
    output?.close()
    errors?.close()
    (child, timer, output, errors) = (nil, nil, nil, nil)
    running = nil
  }

  /// The signal that ends the program and everything that it has started.
  private static let endNow = Int32(FLEET_END_HELPER)

  // MARK: - Spawning

  /// What is for this process alone: a child must not speak to the service manager in its name.
  private static let ownVariables: Set<String> = [
    "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "JOURNAL_STREAM",
    "MAINPID", "SYSTEMD_EXEC_PID",
  ]

  private static func environment(adding variables: [(name: String, value: String)]) -> [String] {
    var lines = variables.map { "\($0.name)=\($0.value)" }
    let taken = ownVariables.union(variables.map(\.name))
    var entry = unsafe environ
    while let line = unsafe entry.pointee {
      let text = unsafe String(cString: line)
      if !taken.contains(String(text.prefix { $0 != "=" })) { lines.append(text) }
      unsafe entry += 1
    }
    return lines
  }

  private static func spawn(
    _ arguments: [String], _ environment: [String], output: Int32, errors: Int32
  ) throws(Errno) -> fleet_helper {
    guard let path = arguments.first, !(arguments + environment).contains(where: { $0.utf8.contains(0) }) else {
      throw Errno(EINVAL)
    }
    let words = CStrings(arguments)
    let variables = CStrings(environment)
    var helper = fleet_helper()
    let code = unsafe fleet_spawn(path, words.pointers, variables.pointers, output, errors, &helper)
    guard code == 0 else { throw Errno(code) }
    return helper
  }
}

/// Copies of texts as exec(3) takes them, for as long as this lives.
@safe private final class CStrings {
  var pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) {
    unsafe pointers = texts.map { unsafe strdup($0) } + [nil]
  }

  isolated deinit { unsafe pointers.forEach { unsafe free($0) } }
}
