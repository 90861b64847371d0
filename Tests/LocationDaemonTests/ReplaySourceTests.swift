// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Expectations
import FileTesting
import LoopTesting
import FixSources
import Positioning
import Testing
import Timekeeping

@testable import LocationDaemon

struct ReplaySourceTests {
  private static func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count < 2 ? "0" : "")\(sum)\r\n"
  }

  private func source(
    _ loop: EventLoop, _ file: String, pace: Double, report: @escaping (SourceReport) -> Void
  ) throws -> SourceRig {
    try SourceRig(loop, ReplaySession(name: file, pace: pace, shiftsTimes: false)) {
      try RecordingLine(loop: loop, file: file, handlers: $0)
    } report: {
      report($0)
    }
  }

  @Test("a recording that is read in portions loses no fix and no field at their boundaries")
  func portions() throws {
    // An epoch has 204 bytes. Because of the first line, the first portion of 4096 bytes ends within the last sentence
    // of an epoch.
    let epochs = (0..<100).map { second in
      let time = "08\(second < 60 ? "30" : "31")\(second % 60 < 10 ? "0" : "")\(second % 60).000"
      let position = "5230.0000,N,01324.0000,E"
      return ReplaySourceTests.sentence("GPGGA,\(time),\(position),1,08,1.5,437.9,M,48.0,M,,0000")
        + ReplaySourceTests.sentence("GPGSA,A,3,04,17,13,23,20,07,32,11,,,,,2.4,1.5,1.9")
        + ReplaySourceTests.sentence("GPRMC,\(time),A,\(position),10.00,45.00,211126,,,A")
    }.joined()
    let directory = try TemporaryDirectory()
    let path = try directory.write(String(repeating: "#", count: 60) + "\n" + epochs, to: "replay.nmea")
    let loop = try EventLoop()
    var fixes: [Fix] = []
    var isAtEnd = false
    // About 200 ms pass between two portions.
    let source = try source(loop, path, pace: 100) { report in
      switch report {
      case .fix(let fix): fixes.append(fix)
      case .ended: isAtEnd = true
      default: break
      }
    }
    try source.start()
    expect(try loop.runs { isAtEnd })
    expectEqual(fixes.count, 100)
    expect(fixes.allSatisfy { $0.hdop == 1.5 && $0.speed != nil && $0.altitude == 437.9 })
  }

  @Test("an endless recording without positions does not block the event loop")
  func endless() throws {
    let loop = try EventLoop()
    let source = try source(loop, "/dev/zero", pace: 1) { _ in }
    try source.start()
    var turns = 0
    let timer = try loop.makeTimer { turns += 1 }
    timer.arm(at: loop.now.boot + .milliseconds(50))
    let start = loop.now.boot
    expect(try loop.runs { turns > 0 })
    expect(loop.now.boot - start < .seconds(5))
    source.stop()
    timer.close()
  }
}
