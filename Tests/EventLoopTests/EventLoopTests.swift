// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Glibc
import LoopTesting
import SystemCalls
import Testing
import Timekeeping

struct EventLoopTests {
  @Test("`run` returns the code that was passed to `exit`")
  func exitCode() throws {
    let loop = try EventLoop()
    loop.defer { loop.exit(3) }
    try expectEqual(loop.run(), 3)
  }

  @Test("Both clocks are read: the time since boot, and a plausible wall clock")
  func clocks() throws {
    let loop = try EventLoop()
    let first = loop.now
    let second = loop.now
    expect(first.boot > .boot)
    expect(second.boot >= first.boot)
    expect(first.wall > Timestamp(seconds: 1_000_000_000))
  }

  @Test("Deferred work runs after the current handler, in order, and work that it defers runs later")
  func deferral() throws {
    let loop = try EventLoop()
    var order: [Int] = []
    loop.defer {
      order.append(1)
      loop.defer { order.append(4) }
      order.append(2)
    }
    loop.defer { order.append(3) }
    expect(order.isEmpty)
    expect(try loop.runs { order.count == 4 })
    expectEqual(order, [1, 2, 3, 4])
  }

  @Test("Work that defers itself forever does not starve other event sources")
  func deferralIsFair() throws {
    let loop = try EventLoop()
    var isOver = false
    func again() { if !isOver { loop.defer { again() } } }
    again()
    let timer = try loop.makeTimer { isOver = true }
    timer.arm(at: loop.now.boot + .milliseconds(1))
    expect(try loop.runs { isOver })
    // The last deferred closure and the loop retain each other until the closure has run.
    try loop.runUntilIdle()
  }

  @Test("A timer fires once each time it is armed, at once if the instant has passed, and not when disarmed")
  func rearming() throws {
    let loop = try EventLoop()
    var count = 0
    let timer = try loop.makeTimer { count += 1 }
    try loop.runUntilIdle()
    expectEqual(count, 0)
    timer.arm(at: .boot)
    try loop.runUntilIdle()
    expectEqual(count, 1)
    timer.arm(at: .boot)
    timer.disarm()
    try loop.runUntilIdle()
    expectEqual(count, 1)
    timer.arm(at: .boot)
    try loop.runUntilIdle()
    expectEqual(count, 2)
    timer.arm(at: .distantFuture)
    try loop.runUntilIdle()
    expectEqual(count, 2)
  }

  @Test("A timer that is released does not fire")
  func droppedTimer() throws {
    let loop = try EventLoop()
    var count = 0
    var timer: LoopTimer? = try loop.makeTimer { count += 1 }
    timer?.arm(at: .boot)
    timer = nil
    try loop.runUntilIdle()
    expectEqual(count, 0)
  }

  @Test("A source may be closed and released inside its own handler")
  func closingInside() throws {
    let loop = try EventLoop()
    let pipe = try Pipe()
    var calls = 0
    var source: EventSource<IOEvents>?
    source = try loop.addIO(pipe.readEnd, .readable) { _ in
      calls += 1
      source?.close()
      source = nil
    }
    pipe.write("x")
    expect(try loop.runs { calls == 1 })
    try loop.runUntilIdle()
    expectEqual(calls, 1)
    expectNil(source)
  }

  @Test("A descriptor is reported as readable as long as it has data, and a hang-up is reported")
  func io() throws {
    let loop = try EventLoop()
    var pipe: Pipe? = try Pipe()
    let readEnd = dup(try #require(pipe).readEnd)
    defer { close(readEnd) }
    var seen: [IOEvents] = []
    let source = try loop.addIO(readEnd, .readable) { seen.append($0) }
    pipe?.write("x")
    expect(try loop.runs { seen.count == 2 })
    expectEqual(seen, [.readable, .readable])
    pipe = nil
    expect(try loop.runs { seen.last?.contains(.hangUp) == true })
    source.close()
  }

  @Test("A regular file cannot be watched, and the error is EPERM")
  func regularFile() throws {
    let loop = try EventLoop()
    let descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let error = #expect(throws: EventLoopError.self) { _ = try loop.addIO(descriptor, .readable) { _ in } }
    expectEqual(error?.code, .source)
    expectEqual(error?.cause?.code, EPERM)
  }

  @Test("A blocked signal arrives as an event; a signal that is not blocked cannot be watched")
  func signals() throws {
    let loop = try EventLoop()
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGWINCH)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    #expect(throws: EventLoopError.self) { _ = try loop.addSignal(SIGWINCH) {} }
    EventLoop.blockSignals()
    var count = 0
    let source = try loop.addSignal(SIGUSR1) { count += 1 }
    raise(SIGUSR1)
    expect(try loop.runs { count == 1 })
    source.close()
  }

  @Test("A child's termination is reported with its exit code, or with the signal that killed it")
  func children() throws {
    EventLoop.blockSignals()
    let loop = try EventLoop()
    var ends: [ChildStatus] = []
    let first = try loop.addChild(try spawn("exit 7")) { ends.append($0) }
    expect(try loop.runs { ends.count == 1 })
    let second = try loop.addChild(try spawn("kill -KILL $$")) { ends.append($0) }
    expect(try loop.runs { ends.count == 2 })
    expectEqual(ends, [.exited(7), .killed(SIGKILL)])
    first.close()
    second.close()
  }

  @Test("A watched directory reports names that are added and removed, and its own removal")
  func watches() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    var events: [PathEvent] = []
    let source = try loop.addWatch(directory.path, [.appeared, .vanished, .gone]) { events.append($0) }
    let path = directory("name")
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
    unlink(path)
    expect(try loop.runs { events.count == 2 })
    expectEqual(events.map(\.name), ["name", "name"])
    expect(!events[0].events.isDisjoint(with: .appeared))
    expect(!events[1].events.isDisjoint(with: .vanished))
    rmdir(directory.path)
    expect(try loop.runs { events.last?.events.isDisjoint(with: .gone) == false })
    source.close()
  }

  @Test("Watching a path that does not exist is an error that names the path")
  func missingPath() throws {
    let loop = try EventLoop()
    let error = #expect(throws: EventLoopError.self) { _ = try loop.addWatch("/no/such/path", .appeared) { _ in } }
    expectEqual(error?.cause?.code, ENOENT)
    expectEqual(error?.message.contains("/no/such/path"), true)
  }
}

/// A pipe whose ends are closed when the object is released.
private final class Pipe {
  let readEnd: Int32
  private let writeEnd: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    readEnd = ends[0]
    writeEnd = ends[1]
  }

  func write(_ text: String) {
    _ = Array(text.utf8).withUnsafeBytes { Glibc.write(writeEnd, $0.baseAddress, $0.count) }
  }

  isolated deinit {
    close(readEnd)
    close(writeEnd)
  }
}

private func spawn(_ script: String) throws -> pid_t {
  var processID: pid_t = 0
  var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sh"), strdup("-c"), strdup(script), nil]
  defer { for argument in arguments { free(argument) } }
  try #require(posix_spawn(&processID, "/bin/sh", nil, nil, &arguments, nil) == 0)
  return processID
}
