// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

@testable import TokenStore

struct RuntimeFileTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test("the next run reads the last text, without the rest of an earlier, longer text")
  func lastOne() throws {
    let file = RuntimeFile(directory: directory.path, name: "limits")
    expectNil(try file.read())
    try file.write("a long text\nend\n")
    try file.write("short\nend\n")
    let read = try RuntimeFile(directory: directory.path, name: "limits").read()
    expect(read?.hasPrefix("short\nend\n\n") == true && read?.contains("text") == false)
  }

  @Test("the first text of a run replaces the file as a whole: a kill leaves the previous text or the new one")
  func firstOne() throws {
    try RuntimeFile(directory: directory.path, name: "limits").write("before\n")
    let previous = try #require(FileHandle(forReadingAtPath: directory("limits")))
    try RuntimeFile(directory: directory.path, name: "limits").write("after\n")
    try expectEqual(previous.readToEnd()?.prefix(7), Data("before\n".utf8))
    try expectEqual(RuntimeFile(directory: directory.path, name: "limits").read()?.hasPrefix("after\n"), true)
    try expectEqual(FileManager.default.contentsOfDirectory(atPath: directory.path), ["limits"])
  }

  @Test("a link or a file that others can read is not read, and the link's target is not written")
  func foreign() throws {
    expectEqual(symlink("other", directory("limits")), 0)
    let file = RuntimeFile(directory: directory.path, name: "limits")
    #expect(throws: TokenStoreError.self) { try file.read() }
    try file.write("mine\n")
    expect(access(directory("other"), F_OK) != 0)
    try expectEqual(RuntimeFile(directory: directory.path, name: "limits").read()?.hasPrefix("mine\n"), true)
    expectEqual(chmod(directory("limits"), 0o644), 0)
    #expect(throws: TokenStoreError.self) { try RuntimeFile(directory: directory.path, name: "limits").read() }
  }
}
