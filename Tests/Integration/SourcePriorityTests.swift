// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Glibc
import Testing

/// Two receivers in one vehicle, the first of which has priority.
struct SourcePriorityTests {
  /// Two receivers on the same drive, some metres apart, so that every position shows which receiver it is from.
  private final class Pair {
    static let longitudes = [11.5, 11.500_1]

    let bench: TestBench
    let receivers: [Receiver]
    /// The tracks of the receivers that send.
    var tracks: [LiveTrack]

    /// - Parameter silenceTimeout: of the second receiver. That of the first is longer than any test waits.
    init(pluggedIn: Set<Int> = [0, 1], silenceTimeout: String = "60s") throws {
      let bench = try TestBench()
      let receivers = (0..<2).map { Receiver(device: bench.directory("gps\($0)")) }
      for index in pluggedIn { try receivers[index].plugIn() }
      bench.settings.sourceList = zip(receivers, ["60s", silenceTimeout]).map {
        ["type": "\"serial\"", "device": "\"\($0.device)\"", "silence_timeout": "\"\($1)\""]
      }
      tracks = zip(receivers, Pair.longitudes).map { LiveTrack($0, period: 0.5, longitude: $1) }
      (self.bench, self.receivers) = (bench, receivers)
    }

    /// Drives until the condition holds.
    func drive(until what: String, within seconds: Int, _ condition: () throws -> Bool) throws {
      try bench.wait(what, within: .seconds(seconds)) {
        for track in tracks { track.pump() }
        return try condition()
      }
    }

    /// The index of the receiver of each accepted position, in the order of arrival.
    var sourceIndices: [Int] {
      (bench.emulator?.accepted ?? []).compactMap(\.live).compactMap { position in
        Pair.longitudes.firstIndex { abs($0 - position.longitude) < 0.000_01 }
      }
    }

    func count(of index: Int) -> Int { sourceIndices.count { $0 == index } }

    func status() throws -> [String] {
      let process = try ChildProcess("fleet-locationctl", ["status", "--socket", bench.directory("control.sock")])
      _ = try process.finish()
      return process.output.lines
    }
  }

  @Test("the second receiver is used only while the first is unplugged, and for 20 s after the first is back")
  func takeOver() throws {
    let pair = try Pair()
    let (bench, first) = (pair.bench, pair.receivers[0])
    let daemon = try bench.start(environment: ["RUNTIME_DIRECTORY": bench.directory.path])
    try bench.wait("both are open") { pair.receivers.allSatisfy(\.isOpened) }
    try pair.drive(until: "positions of the first", within: 20) { pair.count(of: 0) >= 3 }
    expectEqual(pair.count(of: 1), 0)
    expect(daemon.logs("Using source 1 of 2, \(first.device) at 9600 baud (the first in the list)"))

    first.unplug()
    try pair.drive(until: "positions of the second", within: 20) { pair.count(of: 1) >= 3 }
    expect(daemon.logs("Source 1 of 2 unavailable: \(first.device)"))
    expect(daemon.logs("Using source 2 of 2, \(pair.receivers[1].device) at 9600 baud (1: \(first.device)"))
    try bench.wait("the status says so") { daemon.shows("; source 2 of 2 (1: \(first.device)") }
    let status = try pair.status()
    expect(status.contains("  2           used: no source of higher priority is good"), "\(status)")
    expect(status.contains { $0.hasPrefix("Source        \(pair.receivers[1].device) at 9600 baud") }, "\(status)")
    expect(status.contains { $0.hasPrefix("  1           \(first.device)") }, "\(status)")

    try first.plugIn()
    let before = pair.count(of: 0)
    try pair.drive(until: "the first is back", within: 50) { pair.count(of: 0) >= before + 3 }
    expect(
      daemon.log.contains {
        $0.contains("Using source 1 of 2, \(first.device) at 9600 baud (it has") && $0.contains(/been good for 2\d s\)/)
      })
    // Each receiver's positions are contiguous.
    var turns: [Int] = []
    for index in pair.sourceIndices where index != turns.last { turns.append(index) }
    expectEqual(turns, [0, 1, 0])
    expect(try pair.status().contains { $0.hasSuffix("good, in reserve") })
    expectNil(daemon.process.exitCode)
  }

  @Test("if the first receiver is missing, the second is used at once; if that is silent too, the journal says so")
  func start() throws {
    let pair = try Pair(pluggedIn: [1], silenceTimeout: "2s")
    let daemon = try pair.bench.start()
    try pair.bench.wait("the second is open") { pair.receivers[1].isOpened }
    try pair.drive(until: "a position of the second", within: 5) { pair.count(of: 1) >= 1 }
    expect(daemon.logs("Source 1 of 2 unavailable: \(pair.receivers[0].device): there is no such device"))
    pair.tracks = []
    try pair.drive(until: "no source is good", within: 20) {
      daemon.logs("None of 2 sources has an acceptable position")
    }
  }

  @Test("a reload applies the new list of sources and opens only what has changed; a list with a mistake is refused")
  func reload() throws {
    let pair = try Pair()
    let bench = pair.bench
    let daemon = try bench.start()
    try bench.wait("both are open") { pair.receivers.allSatisfy(\.isOpened) }
    try pair.drive(until: "a position of the first", within: 20) { pair.count(of: 0) >= 1 }
    try pair.receivers[1].mark()
    bench.settings.sourceList.removeFirst()
    try bench.writeSettings()
    daemon.process.signal(SIGHUP)
    try pair.drive(until: "positions of the second", within: 20) { pair.count(of: 1) >= 2 }
    expect(daemon.logs("Settings reloaded"))
    expect(pair.receivers[1].isMarked, "its device was opened again")
    bench.settings.sourceList = [["type": "\"replay\"", "file": "\"/nonexistent\""]]
    try bench.writeSettings()
    daemon.process.signal(SIGHUP)
    try bench.wait("it is refused") { daemon.logs("Settings not reloaded") }
    let before = pair.count(of: 1)
    try pair.drive(until: "the old source goes on", within: 20) { pair.count(of: 1) > before }
    expect(pair.receivers[1].isMarked, "its device was opened again")
    bench.settings.sourceList = [
      ["type": "\"serial\"", "device": "\"\(pair.receivers[1].device)\"", "silence_timeout": "\"61s\""]
    ]
    try bench.writeSettings()
    daemon.process.signal(SIGHUP)
    try pair.drive(until: "other settings open it again", within: 20) { !pair.receivers[1].isMarked }
  }
}
