// SPDX-License-Identifier: Apache-2.0
import Expectations
import Vehicle
import FileTesting
import Foundation
import Glibc
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

  /// A file system of two pages that nothing else sees, and that does not outlast this process; nil if this user may
  /// not mount one.
  private static func smallDisk() throws -> String? {
    let directory = try TemporaryDirectory()
    guard unsafe mount("none", directory.path, "tmpfs", 0, "size=8k,mode=700") == 0 else { return nil }
    let descriptor = unsafe open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    try #require(unsafe umount2(directory.path, Int32(MNT_DETACH)) == 0 && descriptor >= 0)
    return "/proc/self/fd/\(descriptor)"
  }

  @Test("on a full disk a complete record stays, and a new one is at least a file", .enabled(if: getuid() == 0))
  func fullDisk() throws {
    let disk = try #require(try DutyFileTests.smallDisk())
    func fill() { _ = try? Data(count: 20_000).write(to: URL(fileURLWithPath: "\(disk)/filling")) }
    let file = DutyFile(stateDirectory: disk)
    expectNil(file.store(record))
    fill()
    var accepted = record
    accepted.isOfflineAccepted = true
    expectEqual(file.store(accepted)?.contains("a restart sends it once more"), true)
    expect(file.read() == (record, nil))
    // Of another vehicle.
    expectNil(file.store(DutyRecord(since: nil, vehicle: "trips/p/taxi-8")))
    expectNil(file.read().record?.vehicle)

    let pause = PauseFile(stateDirectory: disk)
    fill()
    expectNil(pause.store(PauseRecord(since: record.since)))
    expect(pause.read() == (PauseRecord(since: nil), nil))
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
