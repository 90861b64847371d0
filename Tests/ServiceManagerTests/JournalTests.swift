// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import Testing
import Timekeeping

@testable import ServiceManager

struct JournalTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// The output of a journal whose standard error is a file.
  ///
  /// - Parameter socket: journald's, whose stream that file then is.
  private func lines(
    level: Priority, stream: String? = nil, socket: String? = nil, _ entries: [JournalEntry]
  ) -> String {
    let path = directory("log")
    let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_TRUNC, 0o600)
    defer { close(descriptor) }
    var status = stat()
    fstat(descriptor, &status)
    let journal =
      socket.map {
        Journal(
          level: level, descriptor: descriptor, journalStream: "\(status.st_dev):\(status.st_ino)", socket: $0)
      } ?? Journal(level: level, descriptor: descriptor, journalStream: stream)
    for entry in entries { journal.log(entry) }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    return String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
  }

  @Test("Outside the journal, an entry is one line, which begins with its severity unless that is notice or info")
  func readable() {
    let text = lines(
      level: .debug,
      [
        JournalEntry(.error, "no token"), JournalEntry(.warning, "slow"), JournalEntry(.notice, "first fix"),
        JournalEntry(.info, "two\nlines"), JournalEntry(.debug, "a fix", fields: [.init("SPEED", "3")]),
      ])
    expectEqual(text, "error: no token\nwarning: slow\nfirst fix\ntwo lines\ndebug: a fix\n")
  }

  @Test("Entries below the log level are not written")
  func level() {
    let entries = Priority.allCases.map { JournalEntry($0, "\($0)") }
    expectEqual(lines(level: .warning, entries), "error: error\nwarning: warning\n")
    expectEqual(lines(level: .error, entries), "error: error\n")
    let journal = Journal(level: .notice, descriptor: STDERR_FILENO, journalStream: nil)
    expect(journal.accepts(.notice))
    expect(!journal.accepts(.info))
  }

  @Test(
    "If JOURNAL_STREAM does not name standard error, entries are written as text",
    arguments: ["1:2", "", "x"])
  func foreignStream(stream: String) {
    expectEqual(lines(level: .info, stream: stream, [JournalEntry(.info, "hello")]), "hello\n")
  }

  @Test("If journald does not read, entries are written as text, and the daemon does not wait")
  func stuck() throws {
    let journald = try DatagramReceiver()
    let connection = try #require(DatagramConnection(journald.path))
    while connection.send("an entry of another program") {}
    expect(!connection.canSend)
    let text = lines(level: .info, socket: journald.path, [JournalEntry(.warning, "slow")])
    expectEqual(text, "warning: slow\n")
  }

  @Test("On a terminal, a line begins with the time of day")
  func time() {
    expectEqual(Journal.line(JournalEntry(.warning, "slow"), time: "08:30:00"), "08:30:00 warning: slow")
  }

  @Test("The journal gets message, priority, message ID and the fields with valid names, with values unchanged")
  func assignments() {
    let entry = JournalEntry(
      .notice, "first\nfix", messageID: "0123456789abcdef0123456789abcdef",
      fields: [
        .init("SATELLITES", "9"), .init("_PID", "1"), .init("lower", "x"), .init("", "x"), .init("1ST", "x"),
        .init("A=B", "x"), .init("TEXT_2", "a=b\nc"),
      ])
    expectEqual(
      entry.assignments.map { String(decoding: $0, as: UTF8.self) },
      [
        "MESSAGE=first\nfix", "PRIORITY=5", "MESSAGE_ID=0123456789abcdef0123456789abcdef", "SATELLITES=9",
        "TEXT_2=a=b\nc",
      ])
  }
}
