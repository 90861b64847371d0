// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Foundation
import Glibc
import HelperProgram
import LoopTesting
import Testing
import Timekeeping

struct HelperProgramTests {
  private let loop: EventLoop
  private let directory: TemporaryDirectory

  init() throws {
    EventLoop.blockSignals()
    loop = try EventLoop()
    directory = try TemporaryDirectory()
  }

  private final class Answer {
    var result: HelperProgram.Result?
  }

  private func run(
    _ script: String, deadline: Duration = .seconds(10), limit: Int = 65_536,
    environment: [(name: String, value: String)] = []
  ) throws -> HelperProgram.Result {
    try run(["/bin/sh", "-c", script], deadline: deadline, limit: limit, environment: environment)
  }

  private func run(
    _ arguments: [String], deadline: Duration = .seconds(10), limit: Int = 65_536,
    environment: [(name: String, value: String)] = []
  ) throws -> HelperProgram.Result {
    let answer = Answer()
    let program = HelperProgram(
      loop: loop, arguments: arguments, environment: environment, deadline: deadline, maximumOutputSize: limit
    ) { answer.result = $0 }
    expectNil(answer.result, "never before it returns")
    expect(try loop.runs { answer.result != nil })
    withExtendedLifetime(program) {}
    return try #require(answer.result)
  }

  @Test("a program's exit code, standard output and standard error are reported separately")
  func output() throws {
    let result = try run(
      "printf '{\"token\":\"%s\"}' \"$VEHICLE_ID\"; echo hm >&2; exit 3", environment: [("VEHICLE_ID", "v 1\n")])
    expectEqual(result.ending, .exited(3))
    expectEqual(String(decoding: result.output, as: UTF8.self), "{\"token\":\"v 1\n\"}")
    expectEqual(String(decoding: result.errors, as: UTF8.self), "hm\n")
  }

  @Test("a program whose termination cannot be watched is not left running")
  func unwatched() throws {
    // sd-event watches no child while SIGCHLD is not blocked.
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGCHLD)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    defer { pthread_sigmask(SIG_BLOCK, &set, nil) }
    let mark = directory("started")
    let result = try run("exec sleep 987654 0<\(directory.path) # \(mark)")
    guard case .notStarted = result.ending else {
      Issue.record("it ended with \(result.ending)")
      return
    }
    // A killed process may still be in /proc for a moment.
    var left: [String] = []
    for _ in 0..<500 {
      left = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
        guard Int(name) != nil else { return false }
        let line = try? String(contentsOfFile: "/proc/\(name)/cmdline", encoding: .utf8)
        return line?.contains("987654") == true
      }
      if left.isEmpty { break }
      usleep(10_000)
    }
    expectEqual(left, [])
  }

  @Test("arguments are passed unchanged: no shell is involved")
  func arguments() throws {
    let words = ["$HOME", "a b", "*", "`id`", "", "ä\"'\\"]
    let result = try run(["/usr/bin/printf", "%s|"] + words)
    expectEqual(String(decoding: result.output, as: UTF8.self), words.joined(separator: "|") + "|")
  }

  @Test(
    "a missing or non-executable program is reported with the system's message",
    arguments: [
      ("/nonexistent/get-token", "No such file"), ("/etc/passwd", "denied"), ("/tmp", "denied"),
    ])
  func notStarted(path: String, words: String) throws {
    guard case .notStarted(let why) = try run([path]).ending else {
      Issue.record("it started")
      return
    }
    expect(why.contains(words))
  }

  @Test("a program that runs past its deadline gets SIGTERM, and its output until then is reported")
  func deadline() throws {
    // A machine that stalls may leave the program too little time before or after SIGTERM.
    let isTerminated = try (1...3).contains { _ in
      let result = try run(
        "trap 'echo terminated; exit' TERM; echo begun; sleep 100 & sleep 100", deadline: .seconds(1))
      expectEqual(result.ending, .timedOut)
      return result.output == Array("begun\nterminated\n".utf8)
    }
    expect(isTerminated)
  }

  @Test(
    "a program that suspends its process group or its supervisor still times out, and the next program runs",
    arguments: ["kill -STOP 0", "trap '' TERM; kill -STOP 0", "kill -STOP $PPID; sleep 100"])
  func stopped(script: String) throws {
    try expectEqual(run(script, deadline: .milliseconds(200)).ending, .timedOut)
    try expectEqual(run("echo next").output, Array("next\n".utf8))
  }

  @Test("a program that suspends its process group is killed when it is cancelled")
  func stoppedAndCancelled() throws {
    let file = directory("process")
    let program = HelperProgram(
      loop: loop, arguments: ["/bin/sh", "-c", "echo $$ > \(file); kill -STOP 0"],
      environment: [], deadline: .seconds(100), maximumOutputSize: 100
    ) { _ in Issue.record("reported after cancel") }
    try poll {
      let number = (try? String(contentsOfFile: file, encoding: .utf8))?.dropLast() ?? ""
      return (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8))?.contains(") T ") == true
    }
    program.cancel()
    expect(try isGone(file))
  }

  @Test(
    "a program that kills its process group or its supervisor is reported as killed, and the next program runs",
    arguments: ["kill -9 0", "sleep 0.2; kill -9 $PPID; sleep 100"])
  func killsGroup(script: String) throws {
    let file = directory("process")
    try expectEqual(run("echo $$ > \(file); \(script)").ending, .killed(SIGKILL))
    expect(try isGone(file))
    try expectEqual(run("echo next").output, Array("next\n".utf8))
  }

  @Test("a program that ignores SIGTERM is killed two seconds later")
  func ignoresSIGTERM() throws {
    // A machine that stalls may leave the program too little time to ignore SIGTERM.
    let isKilledLater = try (1...3).contains { _ in
      let start = ContinuousClock.now
      let result = try run("trap '' TERM; while :; do sleep 0.1; done", deadline: .milliseconds(200))
      expectEqual(result.ending, .timedOut)
      let time = ContinuousClock.now - start
      return time >= .milliseconds(2200) && time < .seconds(5)
    }
    expect(isKilledLater)
  }

  @Test("a program with endless output is killed, and its output is truncated at the limit")
  func tooLarge() throws {
    let result = try run(["/usr/bin/yes"], limit: 1000)
    expectEqual(result.ending, .tooLarge)
    expectEqual(result.output.count, 1000)
  }

  @Test("output of exactly the maximum size is accepted")
  func limit() throws {
    let result = try run("head -c 1000 /dev/zero", limit: 1000)
    expectEqual(result.ending, .exited(0))
    expectEqual(result.output.count, 1000)
    try expectEqual(run("head -c 1001 /dev/zero", limit: 1000).ending, .tooLarge)
  }

  @Test("a megabyte of standard error is read and truncated, and does not block the program")
  func manyErrors() throws {
    let result = try run("head -c 1000000 /dev/zero >&2; echo done")
    expectEqual(result.ending, .exited(0))
    expectEqual(result.output, Array("done\n".utf8))
    expectEqual(result.errors.count, HelperProgram.maximumErrorBytesStored)
  }

  @Test("the signal that killed a program is reported by its number")
  func killed() throws {
    try expectEqual(run("kill -9 $$").ending, .killed(SIGKILL))
  }

  @Test("a child that a program leaves running neither delays the result nor survives")
  func leftBehind() throws {
    let start = ContinuousClock.now
    let result = try run("sleep 100 & echo $!")
    expectEqual(result.ending, .exited(0))
    expect(ContinuousClock.now - start < .seconds(5))
    let child = try #require(pid_t(String(decoding: result.output, as: UTF8.self).dropLast()))
    try poll { HelperProgramTests.isGone(child) }
  }

  @Test(
    "a program has default signal actions, only the three standard streams, and no NOTIFY_SOCKET"
  )
  func surroundings() throws {
    setenv("NOTIFY_SOCKET", "/run/somewhere", 1)
    defer { unsetenv("NOTIFY_SOCKET") }
    let leak = open("/dev/null", O_RDONLY)
    defer { close(leak) }
    let result = try run(
      "grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/$$/fd; echo ${NOTIFY_SOCKET:-none}; readlink /proc/$$/fd/0")
    let lines = String(decoding: result.output, as: UTF8.self).split(separator: "\n")
    expect(lines.prefix(2).allSatisfy { HelperProgramTests.isEmpty($0) }, "\(lines)")
    expectEqual(Array(lines.dropFirst(2)), ["0", "1", "2", "none", "/dev/null"])
  }

  @Test("a cancelled program is killed and reaped, and its completion handler is not called")
  func cancel() throws {
    let answer = Answer()
    let path = directory("process")
    var program: HelperProgram? = HelperProgram(
      loop: loop, arguments: ["/bin/sh", "-c", "echo $$ > \(path); sleep 100"], environment: [],
      deadline: .seconds(50), maximumOutputSize: 100
    ) { answer.result = $0 }
    var child: pid_t?
    try poll {
      child = (try? String(contentsOfFile: path, encoding: .utf8)).flatMap { pid_t($0.dropLast()) }
      return child != nil
    }
    let id = try #require(child)
    // The process ID, the name, the state and the parent, which is the supervisor.
    let fields = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8).split(separator: " ")
    let supervisor = try #require(fields.dropFirst(3).first.flatMap { pid_t($0) })
    program?.cancel()
    program = nil
    try poll { HelperProgramTests.isGone(id) && HelperProgramTests.isGone(supervisor) }
    expectNil(answer.result)
  }

  /// Whether a signal mask from /proc has none of the signals 1 to 31; glibc ignores two others in each spawned child.
  private static func isEmpty(_ line: Substring) -> Bool {
    guard let mask = line.split(separator: "\t").last.flatMap({ UInt64($0, radix: 16) }) else { return false }
    return mask & 0x7FFF_FFFF == 0
  }

  /// Runs the loop until the condition holds, which is checked at least every 10 ms.
  private func poll(_ condition: () -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while !condition() {
      guard ContinuousClock.now < deadline else {
        Issue.record("the condition does not become true")
        return
      }
      _ = try loop.runOnce(timeout: .milliseconds(10))
    }
  }

  /// Whether a process has ended and is not a zombie of this process; it may be a zombie that init has to reap.
  private static func isGone(_ id: pid_t) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8) else { return true }
    return status.contains(") Z ") && !status.contains(" \(getpid()) ")
  }

  /// Waits until the process whose ID is in a file has ended, or is a zombie.
  private func isGone(_ path: String) throws -> Bool {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let number = try #require(Int32(text.split(separator: "\n").first ?? ""))
    return try loop.runs(within: .seconds(5)) {
      let stat = (try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)) ?? ""
      return kill(number, 0) != 0 || stat.contains(") Z ")
    }
  }

  @Test(
    "a program's descendants are killed when it ends, even those that have left its process group or session",
    arguments: [
      "setsid sh -c 'echo $$ > FILE; exec sleep 100' & until [ -s FILE ]; do sleep 0.01; done",
      "(setsid sh -c 'trap \"\" TERM HUP INT; echo $$ > FILE; sleep 100; sleep 100' &) ; until [ -s FILE ]; do sleep 0.01; done",
      "(setsid sh -c 'setsid sh -c \"echo \\$\\$ > FILE; exec sleep 100\" & exec sleep 100' &) ; until [ -s FILE ]; do sleep 0.01; done",
    ])
  func leftovers(script: String) throws {
    let file = directory("process")
    let result = try run(script.replacingOccurrences(of: "FILE", with: file))
    expectEqual(result.ending, .exited(0))
    expect(try isGone(file))
  }

  @Test("at a program's deadline, all its descendants are killed")
  func leftoversAtDeadline() throws {
    let file = directory("process")
    // A machine that stalls may leave the program too little time to begin.
    let hasBegun = try (1...3).contains { _ in
      let result = try run(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ > \(file); exec sleep 100' & while :; do sleep 1; done",
        deadline: .milliseconds(500))
      expectEqual(result.ending, .timedOut)
      return FileManager.default.contents(atPath: file)?.isEmpty == false
    }
    expect(hasBegun)
    expect(try isGone(file))
  }

  @Test("all descendants of a cancelled program are killed")
  func leftoversAfterCancel() throws {
    let file = directory("process")
    let program = HelperProgram(
      loop: loop, arguments: ["/bin/sh", "-c", "(setsid sh -c 'echo $$ > \(file); exec sleep 100' &); exec sleep 100"],
      environment: [], deadline: .seconds(100), maximumOutputSize: 100
    ) { _ in Issue.record("reported after cancel") }
    try poll { FileManager.default.contents(atPath: file)?.isEmpty == false }
    program.cancel()
    expect(try isGone(file))
  }

  @Test("a program with endless standard error is killed")
  func endlessErrors() throws {
    let result = try run("while :; do echo 0123456789012345678901234567890123456789 >&2; done", deadline: .seconds(100))
    expectEqual(result.ending, .tooLarge)
    expectEqual(result.errors.count, HelperProgram.maximumErrorBytesStored)
  }
}
