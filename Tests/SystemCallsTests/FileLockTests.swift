// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import SystemCalls
import Testing

struct FileLockTests {
  @Test("a lock has one owner at a time, is free once the owner releases it, and contains the owner's process ID")
  func one() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    do {
      let lock = try FileLock(path)
      expectEqual(FileLock.holder(path), getpid())
      let error = #expect(throws: Errno.self) { _ = try FileLock(path) }
      expectEqual(error?.code, EWOULDBLOCK)
      withExtendedLifetime(lock) {}
    }
    _ = try FileLock(path)
  }

  @Test("the owner's remark is in the file until another owner locks the file, and isHeld says whether a lock is held")
  func remark() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    expect(try !FileLock.isHeld(path))
    do {
      let lock = try FileLock(path, remark: "van.service")
      expectEqual(FileLock.holder(path), getpid())
      expectEqual(FileLock.remark(in: path), "van.service")
      expect(try FileLock.isHeld(path))
      withExtendedLifetime(lock) {}
    }
    expect(try !FileLock.isHeld(path))
    let lock = try FileLock(path)
    expectNil(FileLock.remark(in: path))
    withExtendedLifetime(lock) {}
  }

  @Test(
    "a lock file that root creates gets the given owner, and an existing one keeps its owner",
    .enabled(if: geteuid() == 0))
  func owner() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    var status = stat()
    for owner in [65_534, 65_533] as [uid_t] {
      _ = try FileLock(path, owner: owner)
      // An existing file keeps its owner.
      expect(lstat(path, &status) == 0 && status.st_uid == 65_534)
    }
  }

  @Test("a symbolic link in place of the file is not followed")
  func link() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    let target = path + "-elsewhere"
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    #expect(throws: Errno.self) { _ = try FileLock(path) }
    expect(!FileManager.default.fileExists(atPath: target))
    try directory.write("kept", to: "lock-elsewhere")
    #expect(throws: Errno.self) { _ = try FileLock(path) }
    try expectEqual(String(contentsOfFile: target, encoding: .utf8), "kept")
  }
}
