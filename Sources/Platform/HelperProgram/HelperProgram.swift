// SPDX-License-Identifier: Apache-2.0
import CLinux
package import EventLoop
import Glibc
import SystemCalls
import Timekeeping

/// Runs a program without a shell, and reads its output on the event loop, without a thread. Only the environment is
/// inherited.
///
/// The program has its own process group; a supervising process waits for it. On a timeout or too much output the group
/// gets SIGTERM, and SIGKILL two seconds later; a supervisor that does not end within four more seconds is killed. When
/// the program has ended, all its descendants are killed, even those that left its group or session.
@safe package final class HelperProgram {
  /// How a run ended.
  package enum Ending: Equatable, Sendable {
    case exited(Int32)
    /// Ended by a signal that this process did not send.
    case killed(Int32)
    case timedOut
    case tooLarge
    /// It could not be started.
    case notStarted(String)
  }

  /// The result of a run.
  package struct Result: Equatable, Sendable {
    /// How it ended.
    package var ending: Ending
    /// Standard output, at most the maximum size.
    package var output: [UInt8]
    /// The beginning of standard error.
    package var errors: [UInt8]
  }

  /// Bytes of standard error that are stored; any further bytes are read and discarded.
  package static let maximumErrorBytesStored = 16_384
  /// Bytes of standard error that are read; a program that writes more is terminated.
  package static let maximumErrorBytesRead = 1 << 20
  /// The time between SIGTERM and SIGKILL.
  package static let gracePeriod = Duration.seconds(2)

  private let loop: EventLoop
  private let maximumOutputSize: Int
  private var completion: ((Result) -> Void)?
  /// The supervisor; 0 if none is running.
  private var supervisorID: pid_t = 0
  /// The program's process group.
  private var groupID: pid_t = 0
  private var child: EventSource<ChildStatus>?
  private var timer: LoopTimer?
  private var output: OutputPipe?
  private var errors: OutputPipe?
  /// Why this process terminated the program.
  private var endReason: Ending?
  /// Whether `endSignal` was sent.
  private var hasSentEndSignal = false
  /// Retains itself while the program runs, so that it is always reaped.
  private var retainedSelf: HelperProgram?

  /// Runs the program.
  ///
  /// - Parameters:
  ///   - arguments: the absolute path of the program, and its arguments.
  ///   - environment: added to this process's environment, which is inherited except for variables that concern only
  ///     this process.
  ///   - maximumOutputSize: bytes; a program that writes more is terminated.
  ///   - completion: called once, in a later iteration of the loop; never after `cancel`.
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
      let why = HelperProgram.explanation(of: error)
      loop.defer { [weak self] in self?.finish(.notStarted(why)) }
    }
  }

  private static func explanation(of error: any Error) -> String {
    switch (error as? Errno)?.code {
    case ENOEXEC: "\(error): its first line must name its interpreter, as in #!/bin/sh"
    case ENOENT: "\(error): the program, or the interpreter that its first line names; it may end in a Windows line end"
    default: "\(error)"
    }
  }

  isolated deinit {
    // This happens only together with the loop: while the program runs, this object retains itself.
    if supervisorID > 0 { killAll() }
    close()
  }

  /// Kills the program at once, without calling the completion handler.
  package func cancel() {
    completion = nil
    // The supervisor is not reaped yet, so the process ID is valid. The loop reports its exit.
    if supervisorID > 0 { killAll() } else { close() }
  }

  private func start(
    _ arguments: [String], _ environment: [(name: String, value: String)], deadline: Duration
  ) throws {
    let output = try OutputPipe(limit: maximumOutputSize)
    let errors = try OutputPipe(limit: HelperProgram.maximumErrorBytesStored)
    timer = try loop.makeTimer { [weak self] in self?.timeoutExpired() }
    let variables = HelperProgram.environment(adding: environment)
    let helper = try HelperProgram.spawn(arguments, variables, output: output.writeEnd, errors: errors.writeEnd)
    (supervisorID, groupID) = (helper.supervisor, helper.program)
    output.closeWriteEnd()
    errors.closeWriteEnd()
    self.output = output
    self.errors = errors
    retainedSelf = self
    do {
      child = try loop.addChild(supervisorID) { [weak self] status in self?.ended(status) }
    } catch {
      // The supervisor's end would not be reported, so it is awaited here.
      killAndReap()
      throw error
    }
    do {
      try output.watch(on: loop) { [weak self] in self?.outputArrived() }
      try errors.watch(on: loop) { [weak self] in self?.errorsArrived() }
      timer?.arm(at: loop.now.boot + deadline)
    } catch {
      endReason = .notStarted("\(error)")
      killAll()
    }
  }

  /// Kills the program and its supervisor, and waits for the supervisor's end.
  private func killAndReap() {
    _ = kill(-groupID, SIGKILL)
    _ = kill(supervisorID, SIGKILL)
    while waitpid(supervisorID, nil, 0) < 0, errno == EINTR {}
    supervisorID = 0
  }

  private func outputArrived() {
    guard let output, output.exceedsLimit else { return }
    output.stopReading()
    end(.tooLarge)
  }

  private func errorsArrived() {
    guard let errors, errors.receivedCount > HelperProgram.maximumErrorBytesRead else { return }
    errors.stopReading()
    end(.tooLarge)
  }

  private func timeoutExpired() {
    guard supervisorID > 0 else { return }
    guard !hasSentEndSignal else {
      // The supervisor is blocked: its death triggers the cleanup.
      _ = kill(supervisorID, SIGKILL)
      return
    }
    if endReason == nil { return end(.timedOut) }
    killAll()
  }

  private func killAll() {
    guard !hasSentEndSignal else { return }
    hasSentEndSignal = true
    sendSignal(HelperProgram.endSignal)
    timer?.arm(at: loop.now.boot + HelperProgram.gracePeriod * 2)
  }

  /// Sends a signal to the supervisor, even if the program has stopped it.
  private func sendSignal(_ number: Int32) {
    _ = kill(supervisorID, number)
    _ = kill(supervisorID, SIGCONT)
  }

  private func end(_ endReason: Ending) {
    guard self.endReason == nil, !hasSentEndSignal, supervisorID > 0 else { return }
    self.endReason = endReason
    sendSignal(SIGTERM)
    timer?.arm(at: loop.now.boot + HelperProgram.gracePeriod)
  }

  /// The supervisor has killed the program's descendants, unless it was killed itself; in that case only the program's
  /// group is killed.
  private func ended(_ status: ChildStatus) {
    if status == .killed(SIGKILL) { _ = kill(-groupID, SIGKILL) }
    supervisorID = 0
    // The program's output is in the pipes, even if another process still has the write ends open.
    output?.drain()
    errors?.drain()
    if output?.exceedsLimit == true, endReason == nil { endReason = .tooLarge }
    switch (endReason, status) {
    case (let endReason?, _): finish(endReason)
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
    supervisorID = 0
    child?.close()
    timer?.close()
    output?.close()
    errors?.close()
    (child, timer, output, errors) = (nil, nil, nil, nil)
    retainedSelf = nil
  }

  /// The signal on which the supervisor kills the program and all its descendants.
  private static let endSignal = Int32(FLEET_END_HELPER)

  // MARK: - Spawning

  /// Variables for this process only: a child must not notify the service manager on its behalf.
  private static let ownVariables: Set<String> = [
    "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "JOURNAL_STREAM",
    "MAINPID", "SYSTEMD_EXEC_PID",
  ]

  private static func environment(adding variables: [(name: String, value: String)]) -> [String] {
    var lines = variables.map { "\($0.name)=\($0.value)" }
    let excluded = ownVariables.union(variables.map(\.name))
    var entry = unsafe environ
    while let line = unsafe entry.pointee {
      let text = unsafe String(cString: line)
      if !excluded.contains(String(text.prefix { $0 != "=" })) { lines.append(text) }
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
