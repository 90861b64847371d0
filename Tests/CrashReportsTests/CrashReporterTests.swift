// SPDX-License-Identifier: Apache-2.0
import CrashReports
import Expectations
import Foundation
import Glibc
import Testing

/// Each test crashes a separate process.
struct CrashReporterTests {
  @Test("a Swift trap is reported with its signal, the release, and the location in the program")
  func trap() async throws {
    let result = await #expect(processExitsWith: .signal(SIGILL), observing: [\.standardErrorContent]) {
      CrashReporterTests.install()
      let numbers = [1, 2, 3]
      print(numbers[CommandLine.arguments.count + 1000])
    }
    let report = try #require(result.flatMap { CrashReporterTests.report(in: $0.standardErrorContent) })
    expect(report.hasPrefix("Crashed: SIGILL (a check in the program failed) at "))
    expect(report.contains(" of version 1.2.3, build ID "))
    let callers = try #require(report.components(separatedBy: "; called from ").dropFirst().first)
    // The callers are the test, its runner, and main.
    expect(callers.components(separatedBy: ", ").count > 5)
    expect(callers.components(separatedBy: ", ").allSatisfy { $0.wholeMatch(of: /\S+\+0x[0-9a-f]+/) != nil })
  }

  @Test("a stack overflow is reported with its callers")
  func recursion() async throws {
    let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]) {
      CrashReporterTests.install()
      print(CrashReporterTests.depth(1))
    }
    let report = try #require(result.flatMap { CrashReporterTests.report(in: $0.standardErrorContent) })
    expect(report.hasPrefix("Crashed: SIGSEGV (unmapped memory) at "))
    expect(report.contains("; called from "))
  }

  @Test("a jump to an invalid address is reported, and the process still dies from its signal")
  func nowhere() async throws {
    let result = await #expect(processExitsWith: .signal(SIGSEGV), observing: [\.standardErrorContent]) {
      CrashReporterTests.install()
      let code = unsafeBitCast(0x10, to: (@convention(c) () -> Void).self)
      code()
    }
    let report = try #require(result.flatMap { CrashReporterTests.report(in: $0.standardErrorContent) })
    expect(report.hasPrefix("Crashed: SIGSEGV (unmapped memory) at code that is in no file of version"))
  }

  @Test("the sender of the signal is reported, and the next run reads the report once")
  func note() async throws {
    let path = "/tmp/crash-note-\(getpid())"
    unlink(path)
    setenv("CRASH_NOTE", path, 1)
    let result = await #expect(processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]) {
      CrashReporterTests.install(note: ProcessInfo.processInfo.environment["CRASH_NOTE"])
      let parent = getpid()
      let child = Process()
      child.executableURL = URL(fileURLWithPath: "/bin/sh")
      child.arguments = ["-c", "kill -ABRT \(parent)"]
      try child.run()
      while true { pause() }
    }
    let report = try #require(result.flatMap { CrashReporterTests.report(in: $0.standardErrorContent) })
    expect(report.hasPrefix("Crashed: SIGABRT (sent by process "))
    let note = try #require(CrashReporter.takeReport(path))
    expectEqual("Crashed: " + note, report)
    expectNil(CrashReporter.takeReport(path))
  }

  @Test("an existing handler of a signal is not replaced")
  func otherHandler() async throws {
    let result = await #expect(processExitsWith: .exitCode(42), observing: [\.standardErrorContent]) {
      signal(SIGSEGV) { _ in _exit(42) }
      CrashReporter.install(program: "test", version: "1.2.3", reportPath: nil)
      raise(SIGSEGV)
    }
    expectNil(result.flatMap { CrashReporterTests.report(in: $0.standardErrorContent) })
  }

  @Test("without a stored report, there is no message")
  func noNote() {
    expectNil(CrashReporter.takeReport("/nonexistent/crash"))
  }

  /// Installs the reporter, after removing that of the Swift toolchain, which would run first.
  private static func install(note: String? = nil) {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGABRT] { signal(number, SIG_DFL) }
    unsetenv("JOURNAL_STREAM")
    CrashReporter.install(program: "test", version: "1.2.3", reportPath: note)
  }

  /// Endless recursion, which the compiler does not detect.
  @inline(never) private static func depth(_ number: Int) -> Int {
    number == 0 ? 0 : depth(number &+ 1) &+ depth(number &+ 2)
  }

  private static func report(in bytes: [UInt8]) -> String? {
    String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init).last { $0.hasPrefix("Crashed: ") }
  }
}
