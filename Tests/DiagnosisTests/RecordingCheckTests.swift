// SPDX-License-Identifier: Apache-2.0
import Expectations
import FileTesting
import Foundation
import Testing

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
}
