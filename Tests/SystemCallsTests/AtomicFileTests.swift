// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import SystemCalls
import Testing

struct AtomicFileTests {
  @Test("hardLink gives a file a second, unused name, which keeps the old contents when the file is replaced")
  func hardLink() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("old", to: "file")
    try AtomicFile.hardLink(path, as: directory("kept"))
    try AtomicFile.write(Array("new".utf8), to: path, mode: 0o600, isDurable: true)
    try expectEqual(String(contentsOfFile: directory("kept"), encoding: .utf8), "old")
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), "new")
    #expect(throws: Errno(EEXIST)) { try AtomicFile.hardLink(path, as: directory("kept")) }
    #expect(throws: Errno(ENOENT)) { try AtomicFile.hardLink(directory("none"), as: directory("other")) }
    try expectEqual(directory.names, ["file", "kept"])
  }

  @Test("in a directory of a user, no other file is replaced, whatever its name, and no temporary file is left")
  func userDirectory() throws {
    let directory = try TemporaryDirectory()
    let path = try directory.write("old", to: "file")
    _ = try directory.write("another", to: "file.new")
    try AtomicFile.write(Array("new".utf8), to: path, mode: 0o600, isDurable: false, isUserDirectory: true)
    try expectEqual(String(contentsOfFile: path, encoding: .utf8), "new")
    try expectEqual(String(contentsOfFile: directory("file.new"), encoding: .utf8), "another")
    try expectEqual(directory.names, ["file", "file.new"])
  }

  @Test("makeDirectory creates the directory of a file, but not the parent of that directory")
  func directory() throws {
    let directory = try TemporaryDirectory()
    for _ in 0..<2 { try AtomicFile.makeDirectory(of: directory("d/file")) }
    try AtomicFile.write([1], to: directory("d/file"), mode: 0o600, isDurable: true)
    #expect(throws: Errno(ENOENT)) { try AtomicFile.makeDirectory(of: directory("e/f/file")) }
  }
}
