// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import FileTesting
import Foundation
import Testing
import Timekeeping

@testable import LocationDaemon

struct DutyFileTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private var file: DutyFile { DutyFile(stateDirectory: directory.path) }
  private var path: String { directory("offline") }
  private let record = DutyRecord(since: Timestamp(seconds: 1_796_083_200), vehicle: "trips/p/taxi-7")

  @Test("the duty file is read back as stored, is inaccessible to other users, and leaves no temporary file")
  func roundTrip() throws {
    expect(file.read() == (nil, nil))
    expectNil(file.store(record))
    expect(file.read() == (record, nil))
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), "2026-12-01T00:00:00Z\nvehicle trips/p/taxi-7\n")
    expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    var accepted = record
    accepted.isOfflineAccepted = true
    expectNil(file.store(accepted))
    expect(file.read() == (accepted, nil))
    expectNil(file.store(nil))
    expect(file.read() == (nil, nil))
    expect(try directory.names.isEmpty)
  }

  @Test(
    "a damaged duty file means OFFLINE, and is reported",
    arguments: ["", "\n", "garbage", "\u{0}\u{0}", "unknown\nvehicle "])
  func damaged(text: String) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    expectEqual(file.read().record, DutyRecord(since: nil))
    expectEqual(file.read().problem?.hasPrefix("\(path): cannot be read or is damaged"), true)
  }

  @Test("a state directory that cannot be read means OFFLINE, and is reported")
  func unreadable() throws {
    // A path component that is too long causes an error even for root.
    let file = DutyFile(stateDirectory: directory(String(repeating: "d", count: 300)))
    expectEqual(file.read().record, DutyRecord(since: nil))
    expectEqual(file.read().problem?.contains("the vehicle is OFFLINE"), true)
  }

  @Test("if the state directory is missing or not configured, storing reports that the duty will not survive a restart")
  func noDirectory() throws {
    expectEqual(DutyFile(stateDirectory: nil).store(record)?.contains("will not survive a restart"), true)
    expectNil(DutyFile(stateDirectory: nil).store(nil))
    expect(DutyFile(stateDirectory: nil).read() == (nil, nil))
    try FileManager.default.removeItem(atPath: directory.path)
    expectEqual(file.store(record)?.contains("\(path) cannot be written: No such file"), true)
    expectNil(file.store(nil))
  }
}
