// SPDX-License-Identifier: Apache-2.0
import FileTesting
import Foundation
import SystemCalls
import Testing

@Suite struct FileLockTests {
  @Test("a file has one lock at a time, which ends with its owner and names it")
  func one() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    do {
      let lock = try FileLock(path)
      #expect(FileLock.holder(path) == getpid())
      let error = #expect(throws: Errno.self) { _ = try FileLock(path) }
      #expect(error?.code == EWOULDBLOCK)
      withExtendedLifetime(lock) {}
    }
    _ = try FileLock(path)
  }

  @Test("a symbolic link in place of the file is not followed")
  func link() throws {
    let directory = try TemporaryDirectory()
    let path = directory("lock")
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "-elsewhere")
    #expect(throws: Errno.self) { _ = try FileLock(path) }
    #expect(!FileManager.default.fileExists(atPath: path + "-elsewhere"))
  }
}
