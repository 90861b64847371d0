// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import Glibc
import LoopTesting
import SystemCalls
import Testing

@testable import SerialPort

struct SerialPortTests {
  @Test("All 256 byte values are received as sent, in raw mode")
  func bytes() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    var received: [UInt8] = []
    let port = try SerialPort(
      loop: loop, path: line.path, baud: 9600, onBytes: { span in for i in span.indices { received.append(span[i]) } },
      onEnd: { Issue.record("ended: \($0)") })
    let all = [UInt8](0...255)
    line.write(all)
    expect(try loop.runs { received.count == 256 })
    expectEqual(received, all)
    port.close()
  }

  @Test(
    "The line is set to the baud rate, 8 data bits, no parity, one stop bit, no flow control", arguments: BaudRate.all)
  func settings(baud: Int) throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    let port = try SerialPort(loop: loop, path: line.path, baud: baud, onBytes: { _ in }, onEnd: { _ in })
    var settings = line.settings
    let speeds: [Int: Int32] = [4800: B4800, 9600: B9600, 115_200: B115200, 921_600: B921600]
    if let speed = speeds[baud] { expectEqual(cfgetispeed(&settings), speed_t(speed)) }
    expectEqual(settings.c_cflag & tcflag_t(CSIZE), tcflag_t(CS8))
    expectEqual(settings.c_cflag & tcflag_t(PARENB | CSTOPB | HUPCL), 0)
    expect(settings.c_cflag & tcflag_t(CLOCAL) != 0)
    expectEqual(settings.c_lflag & tcflag_t(ICANON | ECHO | ISIG), 0)
    expectEqual(settings.c_iflag & tcflag_t(IXON | ICRNL), 0)
    port.close()
  }

  @Test("Unplugging the receiver is reported once, with the path of the device")
  func unplugged() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    var ends: [SerialPortError] = []
    let port = try SerialPort(
      loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { ends.append($0) })
    line.unplug()
    expect(try loop.runs { !ends.isEmpty })
    try loop.runUntilIdle()
    expectEqual(ends.count, 1)
    expectEqual(ends.first?.code, .vanished)
    expectEqual(ends.first?.message.contains(line.path), true)
    port.close()
  }

  @Test("Data that was read before the receiver was unplugged is passed on once")
  func dataBeforeUnplugging() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    var received = 0
    var hasEnded = false
    let port = try SerialPort(
      loop: loop, path: line.path, baud: 9600, onBytes: { received += $0.count }, onEnd: { _ in hasEnded = true })
    line.write([UInt8](repeating: 65, count: 1000))
    expect(try loop.runs { received > 0 })
    line.unplug()
    expect(try loop.runs { hasEnded })
    expectEqual(received, 1000)
    port.close()
  }

  @Test("A port may be closed in its own handler")
  func closingInside() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    var calls = 0
    var port: SerialPort?
    port = try SerialPort(
      loop: loop, path: line.path, baud: 9600,
      onBytes: { _ in
        calls += 1
        port?.close()
        port = nil
      }, onEnd: { _ in })
    line.write([1])
    expect(try loop.runs { calls == 1 })
    line.write([2])
    try loop.runUntilIdle()
    expectEqual(calls, 1)
    expectNil(port)
  }

  @Test("A second reader cannot open a device until the first reader has closed it")
  func exclusive() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    let first = try SerialPort(loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    let error = #expect(throws: SerialPortError.self) {
      _ = try SerialPort(loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    }
    expectEqual(error?.code, .busy)
    expectEqual(error?.message.contains("fuser"), true)
    first.close()
    let second = try SerialPort(loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    second.close()
  }

  @Test("A pseudo-terminal is never opened exclusively, because the exclusion would outlast a daemon that is killed")
  func pseudoTerminal() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    expectEqual(line.isExclusive, false)
    let port = try SerialPort(loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    expectEqual(line.isExclusive, false)
    port.close()
    expectEqual(line.isExclusive, false)
  }

  @Test("An exclusion that another program has left on the line ends when the port is closed")
  func exclusionEnds() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    let port = try SerialPort(loop: loop, path: line.path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    line.exclude()
    expectEqual(line.isExclusive, true)
    port.close()
    expectEqual(line.isExclusive, false)
  }

  @Test("The remedy for a pseudo-terminal of its owner alone names the options of socat, not a udev rule")
  func closedPseudoTerminal() throws {
    let line = try PseudoTerminal()
    expectEqual(chmod(line.path, 0o620), 0)
    let error = SerialPort.permissionError(line.path, Errno(EACCES))
    expect(error.message.contains("PTY,…,group=dialout,mode=660"), "\(error.message)")
    expect(!error.message.contains("udev"), "\(error.message)")
  }

  @Test(
    "A path that cannot be a receiver is rejected with the remedy",
    arguments: [
      ("/no/such/device", SerialPortErrorCode.missing, "/dev/serial/by-id"), ("/tmp", .wrongKind, "directory"),
      ("/dev/null", .wrongKind, "/dev/serial/by-id"),
      ("/proc/self/status", .permissionDenied, "dialout"), ("/etc/hostname", .wrongKind, "replay"),
    ])
  func refused(path: String, code: SerialPortErrorCode, word: String) throws {
    let loop = try EventLoop()
    let error = #expect(throws: SerialPortError.self) {
      _ = try SerialPort(loop: loop, path: path, baud: 9600, onBytes: { _ in }, onEnd: { _ in })
    }
    // Root can open /proc/self/status for writing, and then finds that it is not a device.
    expect(error?.code == code || (code == .permissionDenied && error?.code == .wrongKind), "\(error?.message ?? "")")
    expectEqual(error?.message.hasPrefix(path + ": "), true)
    if error?.code == code { expectEqual(error?.message.contains(word), true) }
  }

  @Test("An unsupported baud rate is rejected with a list of the supported rates")
  func badBaud() throws {
    let loop = try EventLoop()
    let line = try PseudoTerminal()
    let error = #expect(throws: SerialPortError.self) {
      _ = try SerialPort(loop: loop, path: line.path, baud: 9601, onBytes: { _ in }, onEnd: { _ in })
    }
    expectEqual(error?.code, .badBaud)
    expectEqual(error?.message.contains("9600"), true)
  }

  @Test("A character device that is not a terminal is read without terminal settings")
  func noTerminal() throws {
    let loop = try EventLoop()
    var received = 0
    var port: SerialPort?
    port = try SerialPort(
      loop: loop, path: "/dev/random", baud: 9600,
      onBytes: {
        received += $0.count
        port?.close()
      }, onEnd: { _ in })
    expect(try loop.runs { received > 0 })
    port = nil
  }
}
