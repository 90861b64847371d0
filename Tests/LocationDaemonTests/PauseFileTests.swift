// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Delivery
import Testing
import Timekeeping

@testable import LocationDaemon

@Suite struct PauseFileTests {
  private let directory: String

  init() throws {
    directory = NSTemporaryDirectory() + "pause-file-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  private var file: PauseFile { PauseFile(stateDirectory: directory) }
  private var path: String { "\(directory)/paused" }
  private let note = PauseNote(since: Timestamp(seconds: 1_796_083_200))

  @Test("what was kept is read again, by nobody else, and nothing is left beside it")
  func roundTrip() throws {
    #expect(file.read() == (nil, nil))
    #expect(file.keep(note) == nil)
    #expect(file.read() == (note, nil))
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "2026-12-01T00:00:00Z\n")
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    #expect(file.keep(PauseNote(since: nil)) == nil)
    #expect(file.read() == (PauseNote(since: nil), nil))
    // The longest IDs, percent-encoded.
    var offline = note
    offline.offline =
      "trips/\(String(repeating: "%F0%9F%9A%95", count: 64))/\(String(repeating: "%F0%9F%9A%95", count: 64))"
    #expect(file.keep(offline) == nil)
    #expect(file.read() == (offline, nil))
    #expect(file.keep(nil) == nil)
    #expect(file.keep(nil) == nil)
    #expect(file.read() == (nil, nil))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    try FileManager.default.removeItem(atPath: directory)
  }

  @Test("a file of whatever a crash or a hand has left is a pause", arguments: ["", "\n", "garbage", "\u{0}\u{0}"])
  func damaged(text: String) throws {
    try text.write(toFile: path, atomically: false, encoding: .utf8)
    #expect(file.read() == (PauseNote(since: nil), nil))
    try FileManager.default.removeItem(atPath: directory)
  }

  @Test("what a power cut has left half written is no pause, and in nobody's way")
  func halfWritten() throws {
    try "2026".write(toFile: path + ".new", atomically: false, encoding: .utf8)
    #expect(file.read() == (nil, nil))
    #expect(file.keep(note) == nil)
    #expect(file.read() == (note, nil))
    try FileManager.default.removeItem(atPath: directory)
  }

  @Test("a name that is a directory or a dangling link is a pause, and is not followed")
  func odd() throws {
    try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nowhere/at/all")
    #expect(file.read() == (PauseNote(since: nil), nil))
    #expect(file.keep(note) == nil)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType == .typeRegular)
    try FileManager.default.removeItem(atPath: directory)
  }

  @Test("without a directory of its own the service says that a pause will not survive a restart")
  func noDirectory() {
    for directory in [nil, "", ":"] {
      let file = PauseFile(stateDirectory: directory)
      #expect(file.keep(note)?.contains("will not survive a restart") == true)
      #expect(file.keep(nil) == nil)
      #expect(file.read() == (nil, nil))
    }
  }

  @Test("a directory that is gone is told of, with what to do")
  func gone() throws {
    try FileManager.default.removeItem(atPath: directory)
    #expect(file.keep(note)?.contains("\(path) cannot be written: No such file") == true)
    #expect(file.keep(nil) == nil)
  }

  @Test("of several directories of the service the first is used")
  func several() {
    #expect(PauseFile(stateDirectory: "/a:/b").path == "/a/paused")
  }
}
