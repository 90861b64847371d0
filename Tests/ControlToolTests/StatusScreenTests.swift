// SPDX-License-Identifier: Apache-2.0
import Expectations
import Foundation
import Observability
import Terminal
import Testing

@testable import ControlTool

struct StatusScreenTests {
  static let full = TerminalCapabilities(hasColour: true, isUnicode: true)
  static let poor = TerminalCapabilities(hasColour: false, isUnicode: false)

  static func status(_ changes: [String: Any] = [:]) throws -> StatusReport {
    var answer: [String: Any] = [
      "summary": "Online", "vehicle": "truck-17", "version": "0.1.0", "uptime": 11_000, "isOnline": true,
      "isPaused": false, "state": ["cause": "notDue", "label": "online", "detail": "", "level": "good"],
      "source": "/dev/gps0 at 9600 baud", "lastUpdate": 3, "isUpdating": false,
      "nextUpdate": ["due": 7, "kind": "report"], "nextRequest": "in 7 s",
      "transport": "HTTP/2", "lastOutcome": ["result": "accepted", "age": 3, "milliseconds": 84, "past": 20],
      "lastMinutes": [[6, 0], [6, 0], [0, 2], [0, 0], [3, 1], [2, 0]],
      "track": ["seconds": 600, "points": [[-800, -600], [-400, -600], [0, 0]]],
      "fix": [
        "mode": 3, "quality": "gnss", "satellites": 11, "horizontalAccuracy": 2.4, "age": 1, "isParked": false,
      ],
      "token": 3180,
      "traffic": ["today": traffic("2026-11-21", 1_400_000), "month": traffic("2026-11", 31_000_000)],
      "backlog": ["count": 0, "store": "disk", "bytes": 36_864, "removed": [:] as [String: Int]],
      "explanation": [
        "reason": "delivered", "sentence": "The last fix is 1 s old and was accepted by Fleet Engine.",
      ],
      "counters": ["accepted": 23, "attempts": 26, "backfilled": 20, "fixes": 240, "rejected.stale": 2],
      "events": [
        [
          "name": "online", "level": "notice", "sentence": "Online: Fleet Engine accepts updates", "age": 60,
          "times": 1,
        ],
        [
          "name": "offline", "level": "warning", "sentence": "Offline (network): no route to host", "age": 200,
          "times": 3,
        ],
        ["name": "firstFix", "level": "notice", "sentence": "First fix: 3D, gnss", "age": 9000, "times": 1],
      ],
    ]
    answer.merge(changes) { $1 }
    answer = answer.filter { !($0.value is NSNull) }
    return try JSONDecoder().decode(
      StatusReport.self, from: try JSONSerialization.data(withJSONObject: answer))
  }

  private static let untrusted =
    "the certificate of fleetengine.googleapis.com is not trusted: unable to get local issuer certificate"

  private static func traffic(_ date: String, _ sent: Int) -> [String: Any] {
    [
      "date": date, "sent": sent, "received": sent / 3, "retransmitted": 12_345, "headers": sent / 5,
      "tokenProvider": 60_000, "updates": sent / 450, "perUpdate": 631,
    ]
  }

  static var offline: [String: Any] {
    [
      "isOnline": false, "lastUpdate": 240,
      "state": [
        "cause": "untrusted", "label": "offline", "level": "bad",
        "detail": " for 3 min (untrusted): \(untrusted)",
      ],
      "failure": ["category": "untrusted", "since": 200, "retryIn": 9, "message": untrusted],
      "lastOutcome": ["result": "untrusted", "age": 12, "milliseconds": 3100, "past": 0],
      "nextUpdate": ["due": 9, "kind": "retry"], "nextRequest": "in 9 s, a retry",
    ]
  }

  /// Everything that a daemon can report at once, at its maximum length.
  static var worst: [String: Any] {
    offline.merging([
      "vehicle": "東京-\u{1b}[31m" + String(repeating: "x", count: 90),
      "sources": (1...6).map { index in
        [
          "name": "/dev/ttyUSB\(index)", "condition": "lost", "isUsed": false,
          "explanation": String(repeating: "cannot be opened, ", count: 9),
        ] as [String: Any]
      },
      "clockOffset": -4000, "tokenTrouble": String(repeating: "no response ", count: 20), "tokenTroubleSince": 100,
      "token": NSNull(),
      "events": (1...10).map { index in
        [
          "name": "tokenRemark", "level": "error", "sentence": String(repeating: "漢字 \u{7}", count: 60), "age": index,
          "times": 1,
        ] as [String: Any]
      },
    ]) { $1 }
  }

  static func frame(
    _ changes: [String: Any] = [:], _ columns: Int = 80, _ rows: Int = 24,
    _ capabilities: TerminalCapabilities = StatusScreenTests.full
  ) throws -> [String] {
    StatusScreen.frame(
      of: StatusRows(try status(changes)), size: Terminal.Size(columns: columns, rows: rows),
      capabilities: capabilities
    ).map(\.text)
  }

  @Test("a screen of 80x24 shows state, updates, source, fix, token, backlog, traffic, events and the track")
  func whole() throws {
    let lines = try StatusScreenTests.frame()
    expect(lines.count <= 24)
    expect(lines[0].hasPrefix("truck-17  online"))
    expect(lines[0].hasSuffix("0.1.0, up 3 h; q quits"))
    for row in [
      "State         online", "Last update   3 s ago, with 20 past positions, answered in 84 ms over HTTP/2",
      "Next update   in 7 s",
      "Last 6 min    ██x.▅▃  17 accepted, 3 failed", "Source        /dev/gps0 at 9600 baud",
      "Fix           3D, gnss, ±3 m, 1 s old, 11 satellites", "Token         valid for 53 min",
      "Backlog       0 positions; on disk (36 kB)",
      "Traffic       today 1.4 MB sent (12.3 kB retransmitted), 466.7 kB received, 631",
      "Last fix      The last fix is 1 s old and was accepted by Fleet Engine.",
    ] {
      expect(lines.contains(row), "\(row)\n\(lines.joined(separator: "\n"))")
    }
    expect(lines.contains { $0.hasPrefix("60 s    Online: Fleet Engine accepts updates") })
    expect(lines.contains { $0.hasPrefix("3 min   warning: Offline (network): no route") })
    expect(lines.contains { $0.contains("Track, 10 min, 800 m") })
    expect(lines.contains { $0.contains("@") })
  }

  @Test("problems of a line, and senders on hold or refused, are shown with the source")
  func line() throws {
    let line: [String: Any] = [
      "source": "udp 0.0.0.0:10110", "sentences": 960, "wrongChecksums": 40, "cut": 0, "overlong": 0, "late": 0,
      "foreign": 0, "trouble": "4 % of lines have wrong checksums",
      "senders": [["address": "10.0.0.7", "isUsed": false, "heldFor": 40]],
      "refused": [
        ["address": "10.0.0.8", "reason": "noRoom", "count": 1, "age": 9],
        ["address": "10.0.0.9", "reason": "notAllowed", "count": 3, "age": 2],
      ],
    ]
    let lines = try StatusScreenTests.frame(["lines": [line]], 200, 40)
    for row in [
      "10.0.0.7 is further from the last position than a vehicle can have driven; it is used in 40 s unless a nearer sender has a fix (udp 0.0.0.0:10110)",
      "10.0.0.8 is allowed but was refused once 9 s ago: all places are taken (udp 0.0.0.0:10110)",
      "4 % of lines have wrong checksums (udp 0.0.0.0:10110)",
      "10.0.0.9 is not allowed and has sent 3 times, the last time 2 s ago (udp 0.0.0.0:10110)",
    ] {
      expect(lines.contains("Line          \(row)"), "\(lines.joined(separator: "\n"))")
    }
  }

  @Test("every line fits every screen, whatever the daemon reports", arguments: [true, false])
  func fits(isUnicode: Bool) throws {
    let capabilities = TerminalCapabilities(hasColour: true, isUnicode: isUnicode)
    let none: [String: Any] = ["fix": NSNull(), "events": NSNull(), "track": NSNull(), "lastMinutes": NSNull()]
    for changes in [[:], StatusScreenTests.offline, StatusScreenTests.worst, none] {
      let sheet = StatusRows(try StatusScreenTests.status(changes))
      for columns in [1, 2, 14, 15, 40, 71, 72, 80, 200] {
        for rows in [1, 3, 12, 24, 60] {
          for failure in [nil, StyledText("the daemon is not running: systemctl status fleet-locationd")] {
            let lines = StatusScreen.frame(
              of: sheet, failure: failure, size: Terminal.Size(columns: columns, rows: rows),
              capabilities: capabilities)
            expect(lines.count <= rows)
            expect(lines.allSatisfy { $0.width <= columns })
            expect(!lines.contains { $0.text.contains("\u{1b}") })
            if !isUnicode {
              expect(lines.allSatisfy { $0.encoded(capabilities).utf8.allSatisfy { $0 < 0x80 } })
            }
          }
        }
      }
    }
  }

  @Test("a screen of 40x12 shows the most important rows")
  func small() throws {
    let lines = try StatusScreenTests.frame(StatusScreenTests.offline, 40, 12)
    expect(lines.count <= 12)
    expect(lines[0].hasPrefix("truck-17  offline"))
    for name in ["State         offline for 3 min", "Last update   4 min ago", "Source", "Fix", "Token"] {
      expect(lines.contains { $0.hasPrefix(name) }, "\(name)\n\(lines.joined(separator: "\n"))")
    }
    expect(lines.contains { $0.contains("Online: Fleet Engine") })
    // Problems use the lines that other rows do not need.
    expect(lines.joined().contains("(untrusted): the certific"), "\(lines.joined(separator: "\n"))")
  }

  @Test("the top line shows the state, even with a long vehicle ID")
  func longID() throws {
    let id = String(repeating: "東京", count: 32)
    for (columns, capabilities) in [(40, StatusScreenTests.full), (80, StatusScreenTests.poor)] {
      let lines = try StatusScreenTests.frame(["vehicle": id], columns, 24, capabilities)
      expect(lines[0].contains("  online"), "\(lines[0])")
    }
  }

  @Test("a receiver that is not read during a pause is still shown as the source, with the reason")
  func unread() throws {
    expect(
      try StatusScreenTests.frame(["sourceTrouble": "not read while paused"])
        .contains("Source        /dev/gps0 at 9600 baud, not read while paused"))
  }

  @Test("the text has the same information as the colours")
  func words() throws {
    let paused = ["cause": "paused", "label": "paused", "detail": " since 8:30", "level": "warning"]
    let cases: [([String: Any], String)] = [
      (["state": paused], "paused"), (StatusScreenTests.offline, "offline"), ([:], "online"),
      // An earlier release has no `state`.
      (["state": NSNull(), "isOnline": false], "not online"), (["state": NSNull()], "online"),
    ]
    for (changes, word) in cases {
      let lines = try StatusScreenTests.frame(changes, 80, 24, StatusScreenTests.poor)
      expect(lines[0].hasPrefix("truck-17  \(word)"))
    }
    expect(
      try StatusScreenTests.frame([
        "fix": [
          "mode": 3, "quality": "gnss", "age": 31, "isParked": false,
        ], "withoutFix": 31,
      ]).contains("Fix           lost: 3D, gnss, 31 s old"))
  }

  @Test("plain updates have a row with their reason, unless the settings request them")
  func updateForm() throws {
    func row(_ isSet: Bool) throws -> String? {
      let form: [String: Any] = ["form": "plain", "reason": "the server refuses compact ones", "isSet": isSet]
      let rows = StatusRows(try Self.status(["updateForm": form])).groups.flatMap(\.self)
      return rows.first { $0.name == "Form" }?.text.text
    }
    try expectEqual(row(false), "plain: the server refuses compact ones")
    expectNil(try row(true))
  }

  @Test("in ASCII, the bars are digits, and the track is drawn with asterisks")
  func ascii() throws {
    let lines = try StatusScreenTests.frame([:], 80, 24, StatusScreenTests.poor)
    expect(lines.contains("Last 6 min    66x.32  17 accepted, 3 failed"))
    expect(lines.contains { $0.contains("*") })
    expect(lines.contains { $0.contains("+-3 m") })
  }

  @Test("if no daemon answers, the reason is at the top, and the last response is dimmed")
  func silent() throws {
    let sheet = StatusRows(try StatusScreenTests.status())
    let lines = StatusScreen.frame(
      of: sheet, failure: StyledText("For 5 s: the daemon is not running"), size: Terminal.Size(columns: 80, rows: 24),
      capabilities: StatusScreenTests.full)
    expect(lines[0].text.hasPrefix("truck-17  no daemon answers"))
    expectEqual(lines[1].pieces, [StyledText.Piece(text: "For 5 s: the daemon is not running", style: .bad)])
    expect(lines.contains { $0.text.hasPrefix("Token ") && $0.pieces.allSatisfy { $0.style == .faint } })
    let first = StatusScreen.frame(
      of: nil, failure: StyledText("the daemon is not running"), size: Terminal.Size(columns: 80, rows: 24),
      capabilities: StatusScreenTests.full)
    expectEqual(first.map(\.text).dropFirst(), ["the daemon is not running"])
  }

  @Test("in a pipe, each row is one line of any length that begins with its name, without drawings")
  func plain() throws {
    let lines = StatusScreen.lines(
      of: StatusRows(try StatusScreenTests.status(StatusScreenTests.offline)), width: nil, capabilities: .plain
    ).map(\.text)
    expectEqual(lines[0], "Vehicle       truck-17, 0.1.0, up 3 h")
    expect(
      lines.contains(
        "State         offline for 3 min (untrusted): the certificate of fleetengine.googleapis.com is not trusted: "
          + "unable to get local issuer certificate"))
    expect(lines.contains("Next update   in 9 s, a retry"))
    expect(lines.contains("Last attempt  untrusted, 12 s ago, after 3100 ms"))
    expect(lines.contains("Last 6 min    17 accepted, 3 failed"))
    expect(
      lines.contains(
        "Since start   23 of 26 updates accepted, 20 past positions, 2 of 240 fixes rejected"))
    expect(lines.contains("Events        60 s ago: Online: Fleet Engine accepts updates"))
  }

  @Test("the status says what to do while there is no fix, but not while all is well")
  func advice() throws {
    func rows(_ state: [String: String]) throws -> [String] {
      let status = try StatusScreenTests.status(["state": state])
      return StatusScreen.lines(of: StatusRows(status), width: nil, capabilities: .plain).map(\.text)
    }
    let advice = "The antenna needs a view of the sky, and a cold start takes some minutes"
    var state = ["cause": "noFix", "label": "waiting for a fix", "detail": " for 75 s", "level": "warning"]
    state["advice"] = advice
    try expectEqual(
      Array(rows(state)[1...3]),
      [
        "State         waiting for a fix for 75 s", "What to do    \(advice)",
        "Last update   3 s ago, with 20 past positions, answered in 84 ms over HTTP/2",
      ])
    let good = ["cause": "notDue", "label": "online", "detail": "", "level": "good"]
    try expect(!rows(good).contains { $0.hasPrefix("What to do") })
  }

  @Test("status without --watch fits a small terminal, with a line left for the prompt")
  func once() throws {
    for changes in [[:], StatusScreenTests.offline] {
      let lines = StatusScreen.lines(
        of: StatusRows(try StatusScreenTests.status(changes)), width: 80, capabilities: StatusScreenTests.full)
      expect(lines.count <= 23)
      expect(lines.allSatisfy { $0.width <= 80 })
    }
  }

  @Test("a response of an earlier release, without newer keys, is shown")
  func old() throws {
    let answer = try StatusScreenTests.status([
      "vehicle": NSNull(), "version": NSNull(), "uptime": NSNull(), "isUpdating": NSNull(), "nextUpdate": NSNull(),
      "nextRequest": NSNull(),
      "lastOutcome": NSNull(), "lastMinutes": NSNull(), "track": NSNull(), "events": NSNull(),
    ])
    let lines = StatusScreen.lines(of: StatusRows(answer), width: nil, capabilities: .plain).map(\.text)
    expect(lines.contains("Last update   3 s ago"))
    expect(lines.contains("State         online"))
  }
}
