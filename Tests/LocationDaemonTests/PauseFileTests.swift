// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Vehicle
import Testing
import Timekeeping

@testable import LocationDaemon

struct PauseFileTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private var file: PauseFile { PauseFile(stateDirectory: directory.path) }
  private var path: String { directory("paused") }
  private let record = PauseRecord(since: Timestamp(seconds: 1_796_083_200))

  @Test("the pause file is read back as stored, is inaccessible to other users, and leaves no temporary file")
  func roundTrip() throws {
    expect(file.read() == (nil, nil))
    expectNil(file.store(record))
    expect(file.read() == (record, nil))
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), "2026-12-01T00:00:00Z\n")
    expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    expectNil(file.store(PauseRecord(since: nil)))
    expect(file.read() == (PauseRecord(since: nil), nil))
    // The longest IDs, percent-encoded.
    var offline = record
    offline.offlineVehicle =
      "trips/\(String(repeating: "%F0%9F%9A%95", count: 64))/\(String(repeating: "%F0%9F%9A%95", count: 64))"
    expectNil(file.store(offline))
    expect(file.read() == (offline, nil))
    expectNil(file.store(nil))
    expectNil(file.store(nil))
    expect(file.read() == (nil, nil))
    expect(try directory.names.isEmpty)
  }

  @Test("a pause file means a pause, whatever it contains", arguments: ["", "\n", "garbage", "\u{0}\u{0}"])
  func damaged(text: String) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    expect(file.read() == (PauseRecord(since: nil), nil))
  }

  @Test("a temporary file that a power cut left is not a pause, and does not prevent storing one")
  func halfWritten() throws {
    try "2026".write(toFile: path + ".new", atomically: false, encoding: .utf8)
    expect(file.read() == (nil, nil))
    expectNil(file.store(record))
    expect(file.read() == (record, nil))
  }

  @Test("a dangling link in place of the pause file means a pause, and is replaced when a pause is stored")
  func danglingLink() throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere/at/all")
    expect(file.read() == (PauseRecord(since: nil), nil))
    expectNil(file.store(record))
    expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeRegular)
  }

  @Test("a state directory that cannot be read means a pause, and is reported")
  func unreadable() throws {
    // A path component that is too long causes an error even for root.
    let file = PauseFile(stateDirectory: directory(String(repeating: "d", count: 300)))
    expectEqual(file.read().record, PauseRecord(since: nil))
    expectEqual(file.read().problem?.contains("it is paused"), true)
  }

  @Test("without a state directory, the daemon says that a pause will not survive a restart")
  func noDirectory() {
    for directory in [nil, "", ":"] {
      let file = PauseFile(stateDirectory: directory)
      expectEqual(file.store(record)?.contains("will not survive a restart"), true)
      expectNil(file.store(nil))
      expect(file.read() == (nil, nil))
    }
  }

  @Test("a missing state directory is reported when a pause is stored")
  func gone() throws {
    try FileManager.default.removeItem(atPath: directory.path)
    expectEqual(file.store(record)?.contains("\(path) cannot be written: No such file"), true)
    expectNil(file.store(nil))
  }

  @Test("if the service has several state directories, the first is used")
  func several() {
    expectEqual(PauseFile(stateDirectory: "/a:/b").path, "/a/paused")
  }
}
