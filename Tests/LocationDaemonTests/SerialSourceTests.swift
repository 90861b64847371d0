// SPDX-License-Identifier: Apache-2.0
import CPseudoTerminal
import EventLoop
import Expectations
import FileTesting
import Glibc
import LoopTesting
import FixSources
import Testing
import Timekeeping

@testable import LocationDaemon

struct SerialSourceTests {
  /// A receiver with a baud rate: at any other rate, its sentences arrive as garbage. A pseudo-terminal does not use a
  /// baud rate, but the receiver can read the rate that the daemon has set.
  private final class Receiver {
    private let descriptor: Int32
    private let rate: speed_t
    private let loop: EventLoop
    private var timer: LoopTimer?
    private(set) var ratesSeen: [speed_t] = []
    private var count = 0
    let path: String
    private let link: String?

    /// - Parameter link: the path of a symbolic link to the line, as udev creates one; nil: no link.
    init(_ loop: EventLoop, rate: Int32, link: String? = nil) throws {
      var name = [CChar](repeating: 0, count: 128)
      descriptor = fleet_pty_open(&name, name.count)
      try #require(descriptor >= 0)
      let line = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      path = link ?? line
      self.link = link
      if let link { try #require(symlink(line, link) == 0) }
      self.rate = speed_t(rate)
      self.loop = loop
      timer = try loop.makeTimer { [unowned self] in send() }
      timer?.arm(at: loop.now.boot + .milliseconds(20))
    }

    isolated deinit {
      timer?.close()
      if let link { unlink(link) }
      close(descriptor)
    }

    private func send() {
      var line = termios()
      tcgetattr(descriptor, &line)
      let current = cfgetospeed(&line)
      if ratesSeen.last != current { ratesSeen.append(current) }
      // Each epoch has its own time, so the next epoch ends the previous one.
      let time = String(100_000 + count / 60 * 100 + count % 60).dropFirst()
      count += 1
      let body = "GPGLL,4500.0,N,00100.0,E,08\(time.suffix(4)),A,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      var bytes = Array("$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n".utf8)
      if current != rate { bytes = bytes.map { $0 &* 7 ^ 0x5A } }
      _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      timer?.arm(at: loop.now.boot + .milliseconds(20))
    }
  }

  private func source(
    _ loop: EventLoop, _ device: String, _ probe: BaudProbe, report: @escaping (SourceReport) -> Void
  ) throws -> SourceRig {
    let session = SerialSession(device: device, baud: nil, silenceTimeout: .seconds(10), probe: probe, seed: 1)
    return try SourceRig(loop, session) {
      SerialLine(loop: loop, device: device, handlers: $0)
    } report: {
      report($0)
    }
  }

  @Test(
    "the baud rate is detected and reported", arguments: [B9600, B38400, B57600])
  func autobaud(rate: Int32) throws {
    let loop = try EventLoop()
    let receiver = try Receiver(loop, rate: rate)
    var reading: [String] = []
    var fixes = 0
    let probe = BaudProbe(dwell: .milliseconds(250))
    let source = try source(loop, receiver.path, probe) { report in
      switch report {
      case .reading(let name): reading.append(name)
      case .sky, .detecting: break
      case .fix: fixes += 1
      case .lost(let why): Issue.record("lost: \(why)")
      case .ended: Issue.record("ended")
      }
    }
    try source.start()
    expect(try loop.runs { !reading.isEmpty && fixes > 0 })
    let name = rate == B9600 ? "9600" : rate == B38400 ? "38400" : "57600"
    expectEqual(reading, ["\(receiver.path) at \(name) baud, detected"])
    expectEqual(receiver.ratesSeen.last, speed_t(rate))
    source.stop()
  }

  @Test(
    "a receiver that is plugged in again is read at its detected baud rate; a different receiver's rate is detected"
  )
  func replug() throws {
    let loop = try EventLoop()
    let directory = try TemporaryDirectory()
    let link = directory("gps0")
    var reading: [String] = []
    var lost: [String] = []
    var fixes = 0
    let source = try source(loop, link, BaudProbe(dwell: .milliseconds(250))) { report in
      switch report {
      case .reading(let name): reading.append(name)
      case .sky, .detecting: break
      case .fix: fixes += 1
      case .lost(let why): lost.append(why)
      case .ended: Issue.record("ended")
      }
    }
    try source.start()
    // No device at the start, then a receiver at 38,400 baud, the same receiver again, and another receiver.
    expect(try loop.runs { lost.count == 1 })
    for (index, (rate, seen)) in [
      (B38400, [B9600, B4800, B38400]), (B38400, [B38400]), (B57600, [B38400, B9600, B4800, B115200, B57600]),
    ].enumerated() {
      var receiver: Receiver? = try Receiver(loop, rate: rate, link: link)
      fixes = 0
      expect(try loop.runs { reading.count == index + 1 && fixes > 0 })
      let rates = receiver?.ratesSeen.drop { $0 == speed_t(B0) || !seen.map { speed_t($0) }.contains($0) }
      expectEqual(rates.map { Array($0.suffix(seen.count)) }, seen.map { speed_t($0) })
      receiver = nil
      expect(try loop.runs { lost.count >= index + 2 })
    }
    expectEqual(reading.map { $0.split(separator: " ")[2] }, ["38400", "38400", "57600"])
    source.stop()
  }
}
