// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

/// What the daemon writes while there are no failures.
struct IdleDiskTests {
  @Test("nothing is written to disk while updates are accepted", .enabled(if: ChildProcess.canInspect))
  func idleDisk() throws {
    let bench = try TestBench()
    // A position that is due before the update of the previous one is accepted is queued, and may be written: with a
    // fix each second, that happens only on a machine that stalls.
    let track = LiveTrack(try bench.receiver(), period: 1)
    let state = bench.directory("state")
    mkdir(state, 0o700)
    let daemon = try bench.start(environment: ["STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": bench.directory.path])
    func written() throws -> Int {
      let text = try String(contentsOfFile: "/proc/\(daemon.process.processID)/io", encoding: .utf8)
      let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes:") }
      return try #require(line.flatMap { Int($0.dropFirst("write_bytes: ".count)) })
    }
    func modified() throws -> [Int] {
      try ["backlog.sqlite", "backlog.sqlite-wal"].map { name in
        var status = stat()
        try #require(stat("\(state)/\(name)", &status) == 0, "\(name)")
        return status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
      }
    }
    func drive(_ what: String, updates: Int) throws {
      let seen = bench.emulator?.accepted.count ?? 0
      try bench.wait(what, within: .seconds(60)) {
        track.pump()
        return bench.emulator?.accepted.count ?? 0 > seen + updates
      }
    }
    try drive("updates", updates: 2)
    let (before, files) = (try written(), try modified())
    // This takes longer than the commit interval of 5 s.
    try drive("more updates", updates: 7)
    try expectEqual(written(), before)
    try expectEqual(modified(), files)
  }
}
