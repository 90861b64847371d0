// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import HTTPMessages
import Testing

@testable import TokenStore

struct TokenStoreTests {
  private let directory: TemporaryDirectory
  private let store: TokenStore
  private var path: String { directory("token") }

  init() throws {
    directory = try TemporaryDirectory()
    store = TokenStore(directory: directory.path)
  }

  private func trouble() -> String? {
    do {
      _ = try store.read()
      return nil
    } catch {
      return error.message
    }
  }

  @Test("the last text is read back")
  func round() throws {
    expectNil(try store.read())
    try store.write(Secret("one"))
    try store.write(Secret("two\n"))
    try expectEqual(store.read(), Secret("two\n"))
    try expectEqual(directory.names, ["token"])
    store.remove()
    expectNil(try store.read())
    expect(try directory.names.isEmpty)
  }

  @Test("the owner, and only the owner, can read and write the file, whatever the umask")
  func umasks() async {
    // The umask belongs to the whole process.
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let store = TokenStore(directory: directory.path)
      for mask: mode_t in [0, 0o277] {
        umask(mask)
        try store.write(Secret("one"))
        let mode = try FileManager.default.attributesOfItem(atPath: directory("token"))[.posixPermissions] as? Int
        try #require(mode == 0o600)
      }
    }
  }

  @Test("a file that others can read or write is not read", arguments: [0o640, 0o604, 0o620, 0o666])
  func exposed(mode: Int) throws {
    try store.write(Secret("one"))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    expectEqual(trouble(), "\(path): users other than its owner have access (mode 0\(String(mode, radix: 8)))")
  }

  @Test("a file of another user is not read", .enabled(if: geteuid() == 0, "only root can give files away"))
  func foreign() throws {
    try store.write(Secret("one"))
    try #require(chown(path, 65_534, 65_534) == 0)
    expectEqual(trouble()?.contains("it belongs to user 65534"), true)
  }

  @Test("a link, FIFO or directory in place of the file is not read, and the link's target is not written")
  func otherKinds() throws {
    let victim = directory("victim")
    try Data("keep".utf8).write(to: URL(fileURLWithPath: victim))
    symlink(victim, path)
    expectEqual(trouble(), "\(path): cannot be read: it is a link")
    symlink(victim, path + ".new")
    try store.write(Secret("one"))
    try expectEqual(String(contentsOfFile: victim, encoding: .utf8), "keep")
    try expectEqual(store.read(), Secret("one"))
    store.remove()
    mkfifo(path, 0o600)
    expectEqual(trouble(), "\(path): this is not a regular file")
    store.remove()
    mkdir(path, 0o700)
    expectEqual(trouble(), "\(path): this is not a regular file")
    #expect(throws: TokenStoreError.self) { try store.write(Secret("one")) }
    try expectEqual(directory.names, ["token", "victim"])
  }

  @Test("text that is not UTF-8, or is far too long for a token, is rejected")
  func nonsense() throws {
    try store.write(Secret("one"))
    try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: path))
    expectEqual(trouble(), "\(path): this is not a text of this program")
    try Data(repeating: 65, count: 200_000).write(to: URL(fileURLWithPath: path))
    expectEqual(trouble(), "\(path): this is not a text of this program")
  }

  @Test("a missing directory is reported with its path")
  func noDirectory() {
    let store = TokenStore(directory: directory("missing"))
    #expect(throws: TokenStoreError("\(directory("missing/token")): cannot be written: No such file or directory")) {
      try store.write(Secret("one"))
    }
  }

  @Test("the digest of abc is that of the SHA-256 example in FIPS 180-2")
  func digest() {
    expectEqual(
      Digest.hexadecimal(of: "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }
}
