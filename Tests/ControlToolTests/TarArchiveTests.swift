// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import GzipCoding
import Testing

@testable import ControlTool

/// Archives that Debian's tar reads.
struct TarArchiveTests {
  /// Runs tar and returns its output.
  private func tar(_ arguments: [String], in directory: TemporaryDirectory) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/tar")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: directory.path)
    process.environment = ["TZ": "UTC", "LC_ALL": "C"]
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    expectEqual(process.terminationStatus, 0)
    return String(decoding: output, as: UTF8.self)
  }

  @Test("tar lists and unpacks the added files, even those with sizes around a multiple of 512 bytes")
  func files() throws {
    let directory = try TemporaryDirectory()
    let sizes = [0, 1, 511, 512, 513, 1024, 70_000]
    var archive = TarArchive(time: 1_795_254_600)
    for size in sizes { archive.add("d/\(size)", (0..<size).map { UInt8(truncatingIfNeeded: $0) }) }
    try directory.write(Data(archive.finished), to: "a.tar")
    let lines = try tar(["-tvf", "a.tar"], in: directory).split(separator: "\n")
    expectEqual(lines.count, sizes.count)
    for (line, size) in zip(lines, sizes) {
      expect(line.hasPrefix("-rw------- 0/0 ") && line.hasSuffix(" \(size) 2026-11-21 09:50 d/\(size)"), "\(line)")
    }
    expect(try tar(["-xf", "a.tar"], in: directory).isEmpty)
    for size in sizes {
      let content = try Data(contentsOf: URL(filePath: directory("d/\(size)")))
      expectEqual(content, Data((0..<size).map { UInt8(truncatingIfNeeded: $0) }))
    }
    expectEqual(archive.finished.count % 512, 0)
  }

  @Test("an empty archive is valid")
  func empty() throws {
    let directory = try TemporaryDirectory()
    try directory.write(Data(TarArchive(time: 0).finished), to: "a.tar")
    expect(try tar(["-tvf", "a.tar"], in: directory).isEmpty)
  }

  @Test("tar unpacks a large archive that was compressed to a .tar.gz")
  func compressed() throws {
    let directory = try TemporaryDirectory()
    var archive = TarArchive(time: 0)
    var random = SystemRandomNumberGenerator()
    let content = (0..<3_000_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    archive.add("big", content)
    archive.add("text", [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000))
    try directory.write(Data(try #require(GzipEncoder().encode(archive.finished))), to: "a.tar.gz")
    expect(try tar(["-xzf", "a.tar.gz"], in: directory).isEmpty)
    try expectEqual(Data(contentsOf: URL(filePath: directory("big"))), Data(content))
    try expectEqual(Data(contentsOf: URL(filePath: directory("text"))).count, 3_000_000)
  }
}
