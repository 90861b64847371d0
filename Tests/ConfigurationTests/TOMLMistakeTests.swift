// SPDX-License-Identifier: Apache-2.0
import Expectations
import Testing

@testable import Configuration

struct TOMLMistakeTests {
  @Test(
    "a syntax error is reported with its position and the correct form, in terms of the settings",
    arguments: [
      ("[vehicle]\nvehicle_id = truck-17\n", "2:17: the value of `vehicle_id` needs quotes: `vehicle_id = \"…\"`"),
      ("[source]\ndevice = /dev/ttyUSB0\n", "2:10: the value of `device` needs quotes"),
      ("[reporting]\ninterval = 10s\n", "2:14: the value of `interval` needs quotes"),
      ("[vehicle]\nvehicle_id = “truck-17”\n", "2:14: has typographic quotes"),
      ("[vehicle]\nvehicle_id = \u{A0}\"a\"\n", "2:14: has a space that is not an ordinary one"),
      (
        "[vehicle]\nvehicle_id = \"truck-17\n[source]\n",
        "2:23: the quote that closes the value of `vehicle_id` is missing"
      ),
      ("[vehicle]\r\nvehicle_id = \"truck-17\r\n", "2:23: the quote that closes the value of `vehicle_id` is missing"),
      ("[log]\npositions = True\n", "2:13: write `positions = true`"),
      ("[log]\npositions = no\n", "2:14: write `positions = false`"),
      ("[log]\nlevel: \"info\"\n", "2:6: write = in place of :"),
      ("[log]\nlevel \"info\"\n", "2:7: write = after the key"),
      ("[log]\nlevel == \"info\"\n", "2:8: one = is enough"),
      ("[log]\nlevel =\n", "2:8: the value after `level =` is missing"),
      ("[vehicle]\nvehicle id = \"a\"\n", "2:9: a key has no spaces: write `vehicle_id = …`"),
      ("[source]\ntype = \"serial\"\n[source]\n", "3:1: the section [source] is already defined in line 1"),
      ("[[source]]\n[source]\n", "2:1: the section [source] is already defined in line 1; for several"),
      ("[log]\nlevel = \"info\"\n\nlevel = \"debug\"\n", "4:9: `level` is already set in line 2"),
      ("[a]\nbaud = 1\n[b]\nbaud = 1\nbaud = 2\n", "5:8: `baud` is already set in line 4"),
      ("[a]\nx = 1\n[b]\nx = 1\nx = 2\n", "5:5: this key is already set in line 4"),
      ("[log\nlevel = \"info\"\n", "1:5: the bracket that closes the section is missing: [log]"),
      ("log]\n", "1:4: the bracket that opens the section is missing: [log]"),
      ("[log] level = \"info\"\n", "1:7: the keys of the section [log] begin on the next line"),
      ("[log]\nlevel = \"info\" // x\n", "2:16: nothing may follow the value of `level` but a comment"),
      ("// x\n", "1:1: a comment begins with #"),
      ("[token]\ncommand = [\"/a\" \"b\"]\n", "2:17: in the list of `command` a comma or the ] is missing"),
      ("[token]\ncommand = [\"/a\"\n[log]\n", "3:1: a list above this line is not closed"),
      ("[token]\ncommand = [\"/a\",\n[log]\n", "3:2: a list above this line is not closed"),
      ("[token]\nheaders = { A = { credential = \"a\" }\n[log]\n", "2:37: the } that closes `headers` is missing"),
      ("[token]\nheaders = { A = \"b\", }\n", "2:22: no comma before the }"),
      ("[token]\nca_file = \"C:\\Users\\x\"\n", "2:16: a backslash in double quotes"),
      ("[source]\nbaud = 9,600\n", "2:9: the number of `baud` has digits"),
      ("[source]\nbaud = 99999999999999999999\n", "2:28: the number of `baud` is too large"),
      ("{\"vehicle\": {}}\n", "1:1: the settings are TOML"),
    ])
  func words(text: String, says: String) throws {
    let problem = try #require(throws: Diagnostic.self) { try TOMLParser.parse(Array(text.utf8), file: "f") }
    expect("\(problem)".hasPrefix("f:\(says)"), "\(problem)")
  }

  @Test("the message about a syntax error contains no value, as it may be a secret")
  func secret() throws {
    let lines = [
      "s3cret", "\"s3cret", "“s3cret”", "[\"s3cret\" \"s3cret\"]", "{ A = \"s3cret\"", "\"s3cret\" s3cret",
      "\"\\s3cret\"",
    ]
    for line in lines {
      let problem = try #require(throws: Diagnostic.self) {
        try TOMLParser.parse(Array("[token]\nheaders = \(line)\n".utf8), file: "f")
      }
      expect(!"\(problem)".contains("s3cret"), "\(problem)")
    }
  }

  @Test(
    "a secret that is pasted on a line of its own, or before a =, is not in the message either",
    arguments: [
      "Authorization: Bearer s3cret==", "Authorization: Bearer s3cret", "Authorization = Bearer s3cret",
      "s3cret", "s3cret==", "s3cret=", "s3cret= # x", "s3cret-_x = y", "s3cret x", "s3cret: x", "s3cret]", "s3cret = [",
      "s3cret = \"", "s3cret = 1,2", "s3cret = true x", "\"s3cret\"", "\"s3cret == x", "tokens3cret", "[s3cret",
      "[s3cret] x",
      "[s3cret=", "x = \"\"\"s3cret", "x.s3cret.y", "s3cret.y = ", "headers = { s3cret }", "headers = { \"s3cret\" = }",
      "- s3cret", "+s3cret==", "x = 0x123456789012345678901234567890s3cret", "x = 2026-s3cret",
    ])
  func pasted(line: String) throws {
    for text in ["[token]\n\(line)\n", "\(line)\n", "\(line)", "[token]\n\(line)\n\(line)\n"] {
      let problem = try #require(throws: Diagnostic.self) { try TOMLParser.parse(Array(text.utf8), file: "f") }
      expect(!"\(problem)".contains("s3cret"), "\(problem)")
    }
  }

  @Test(
    "a key or section that is set twice is not in the message, because it may be a secret",
    arguments: ["\"Bearer s3cret\" = 1", "sk_live_s3cret = 1", "[s3cret]", "eyJ.s3cret.x = 1"])
  func unknownTwice(line: String) throws {
    let problem = try #require(throws: Diagnostic.self) {
      try TOMLParser.parse(Array("[token]\n\(line)\n\(line)\n".utf8), file: "f")
    }
    expect("\(problem)".contains(" is already ") && !"\(problem)".contains("s3cret"), "\(problem)")
  }

  @Test("a number that is quoted by the parser is not in the message")
  func numbers() throws {
    let problem = try #require(throws: Diagnostic.self) {
      try TOMLParser.parse(Array("[token]\ncommand = [\n99999999999999999999999,\n]\n".utf8), file: "f")
    }
    expect(!"\(problem)".contains("999"), "\(problem)")
  }
}
