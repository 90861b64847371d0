// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import Glibc
import LoopTesting
import SerialPort
import Testing
import SystemCalls

struct RecordingInputTests {
  @Test("A file is read in chunks to its end")
  func regularFile() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    let input = try RecordingInput(loop: loop, path: directory.write("abcdef", to: "drive.nmea"))
    var isReadable = false
    input.whenReadable { isReadable = true }
    expect(!isReadable)
    expect(try loop.runs { isReadable })
    try expectEqual(input.read(upTo: 4), .bytes(Array("abcd".utf8)))
    try expectEqual(input.read(upTo: 4), .bytes(Array("ef".utf8)))
    try expectEqual(input.read(upTo: 4), .end)
  }

  @Test("A FIFO waits for its writer, returns the data, and ends when the writer has closed it")
  func fifo() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    let path = directory("fifo")
    mkfifo(path, 0o600)
    let input = try RecordingInput(loop: loop, path: path)
    try expectEqual(input.read(upTo: 10), .wouldBlock)
    var calls = 0
    input.whenReadable { calls += 1 }
    try loop.runUntilIdle()
    expectEqual(calls, 0)
    let writer = open(path, O_WRONLY | O_CLOEXEC)
    try expectEqual(input.read(upTo: 10), .wouldBlock)
    _ = write(writer, "xyz", 3)
    expect(try loop.runs { calls == 1 })
    try expectEqual(input.read(upTo: 10), .bytes(Array("xyz".utf8)))
    try expectEqual(input.read(upTo: 10), .wouldBlock)
    // There is one callback per request.
    _ = write(writer, "!", 1)
    try loop.runUntilIdle()
    expectEqual(calls, 1)
    try expectEqual(input.read(upTo: 10), .bytes(Array("!".utf8)))
    input.whenReadable { calls += 1 }
    close(writer)
    expect(try loop.runs { calls == 2 })
    try expectEqual(input.read(upTo: 10), .end)
  }

  @Test("A device that cannot be watched, such as /dev/null, is readable at once")
  func null() throws {
    let loop = try EventLoop()
    let input = try RecordingInput(loop: loop, path: "/dev/null")
    var calls = 0
    input.whenReadable { calls += 1 }
    expect(try loop.runs { calls == 1 })
    try expectEqual(input.read(upTo: 10), .end)
  }

  @Test("No handler is called after the file is closed")
  func closed() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    let input = try RecordingInput(loop: loop, path: directory.write("abc", to: "drive.nmea"))
    input.whenReadable { Issue.record("called after close") }
    input.close()
    try loop.runUntilIdle()
    try expectEqual(input.read(upTo: 10), .end)
  }

  @Test(
    "A recording that cannot be read is rejected with its path",
    arguments: [("/no/such/file", SerialPortErrorCode.missing), ("/tmp", .wrongKind)])
  func refused(path: String, code: SerialPortErrorCode) throws {
    let loop = try EventLoop()
    let error = #expect(throws: SerialPortError.self) { _ = try RecordingInput(loop: loop, path: path) }
    expectEqual(error?.code, code)
    expectEqual(error?.message.hasPrefix(path + ": "), true)
  }
}
