// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Glibc
import Testing

@testable import Configuration
@testable import Diagnosis

@MainActor struct RecordingCheckTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func findings(_ contents: [UInt8]) throws -> [Finding] {
    var found: [Finding] = []
    RecordingCheck(name: "Source", file: try directory.write(Data(contents), to: "drive")).run { found.append($0) }
    return found
  }

  @Test("for a file that is not a recording, the finding says what the file is")
  func otherFormats() throws {
    try expectEqual(findings([]).map(\.sentence), ["it is empty"])
    try expectEqual(findings([0x1F, 0x8B, 8]), [.fail(.noSentences, "it is compressed", "Uncompress it: gunzip FILE")])
    try expectEqual(findings(Array("PK..".utf8)).map(\.advice), ["Uncompress it: unzip FILE"])
    try expectEqual(findings(Array("<?xml?><gpx>".utf8)).first?.advice?.contains("simulated"), true)
    try expectEqual(findings(Array(#"{"class":"TPV"}"#.utf8)).first?.sentence, "it is JSON, and not NMEA 0183")
    try expectEqual(
      findings(Array("$GPGGA,,,,,,0,,,,,,,,*66\r\n".utf8)).map(\.sentence), ["it has 1 sentence but no position"])
    try expectEqual(findings(Array("hello".utf8)).first?.sentence.hasPrefix("it has no NMEA sentence"), true)
  }

  @Test("a FIFO is not opened, neither by doctor nor by the check of the settings: its writer would end")
  func fifo() throws {
    let path = directory("fifo")
    try #require(mkfifo(path, 0o600) == 0)
    let watch = inotify_init1(O_NONBLOCK | O_CLOEXEC)
    defer { close(watch) }
    try #require(inotify_add_watch(watch, path, UInt32(IN_OPEN)) >= 0)
    var events = [UInt8](repeating: 0, count: 1024)
    var found: [Finding] = []
    RecordingCheck(name: "Source", file: path).run { found.append($0) }
    expectEqual(found.map(\.code), [.notExamined])
    #expect(throws: ConfigurationEnvironment.FileProblem.notRegular) {
      try ConfigurationEnvironment.system.readFile(path, 1)
    }
    expectEqual(read(watch, &events, events.count), -1)
    // The control: an open is seen.
    close(open(path, O_RDONLY | O_NONBLOCK))
    expect(read(watch, &events, events.count) > 0)
  }
}
