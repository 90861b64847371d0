// SPDX-License-Identifier: Apache-2.0
import PositionBacklog
import Vehicle
import Glibc
import HTTPMessages
import Observability
import Testing
import Timekeeping

/// A checksum (FNV-1a, 64 bits) of a run's actions, to compare two versions of the daemon.
struct RunChecksum {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
  }

  mutating func add(_ text: String) { add(text.utf8) }
}

extension World {
  /// The file named by SIMULATION_RECORD: a line with the checksums of each random run is appended to it.
  static let recordFile = getenv("SIMULATION_RECORD").map { String(cString: $0) }

  /// Adds a request to the record: its time, destination and contents.
  func record(_ request: HTTPRequest) {
    guard World.recordFile != nil else { return }
    requestChecksum.add("\(now.nanoseconds) \(request.url) ")
    requestChecksum.add(request.body)
  }

  /// Appends the record of this run to the file, if SIMULATION_RECORD names one.
  func appendRecord() throws {
    guard let path = World.recordFile else { return }
    var events = RunChecksum()
    for (at, event) in self.events { events.add("\(at.nanoseconds) \(event.kind) \(event.sentence)\n") }
    var disk = RunChecksum()
    for (vehicle, records) in self.disk.held.sorted(by: { $0.key < $1.key }) {
      for record in records.values.sorted(by: { $0.id < $1.id }) { disk.add("\(vehicle) \(record)\n") }
    }
    let columns = [requestChecksum, events, disk].map { String($0.value, radix: 16) }
    let file = try #require(fopen(path, "a"), "SIMULATION_RECORD: \(path) cannot be written")
    defer { fclose(file) }
    let cuts = scenario.acts.count {
      switch $0.act {
      case .powerCut, .kill: true
      default: false
      }
    }
    fputs("\(scenario.seed) \(cuts) \(attempts.count) \(self.events.count) \(columns.joined(separator: " "))\n", file)
  }
}
