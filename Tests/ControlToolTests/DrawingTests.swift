// SPDX-License-Identifier: Apache-2.0
import Expectations
import Observability
import Foundation
import Terminal
import Testing

@testable import ControlTool

struct DrawingTests {
  private func sketch(_ points: [[Int]]) throws -> TrackSketch? {
    let track = try JSONSerialization.data(withJSONObject: ["seconds": 60, "points": points] as [String: Any])
    return TrackSketch(try JSONDecoder().decode(StatusReport.Track.self, from: track))
  }

  @Test("north is up, east is right, and the vehicle is at the end of the track")
  func directions() throws {
    let sketch = try #require(try sketch([[-200, -100], [0, -100], [0, 0]]))
    let lines = sketch.lines(columns: 9, rows: 3, isUnicode: false).map(\.text)
    // The same scale in both directions: a character is twice as high as it is wide.
    expectEqual(lines, ["        @", "        *", "*********"])
    expectEqual(sketch.caption, "Track, 60 s, 200 m")
  }

  @Test("with Unicode, the track is drawn with braille dots")
  func braille() throws {
    let sketch = try #require(try sketch([[-700, 0], [0, 0]]))
    expectEqual(sketch.lines(columns: 4, rows: 1, isUnicode: true).map(\.text), ["⠤⠤⠤@"])
  }

  @Test(
    "extreme coordinates are drawn without a crash",
    arguments: [
      [[Int.max, Int.min], [0, 0]], [[0, 0], [0, 0]], [[1], [2, 3], [0, 0], []],
      [[Int.min, Int.min], [Int.max, Int.max]],
    ])
  func absurd(points: [[Int]]) throws {
    let lines = try sketch(points)?.lines(columns: 10, rows: 4, isUnicode: true)
    expect(lines?.count ?? 4 == 4)
    _ = try sketch(points)?.caption
  }

  @Test("fewer than two points are not a track")
  func none() throws {
    expectNil(try sketch([[0, 0]]))
    expectNil(try sketch([]))
  }

  @Test("extreme numbers of updates are drawn as bars")
  func bars() {
    expectEqual(UpdateBars([[Int.max, 1], [-5, -5], [], [Int.max, Int.max]])?.bars(isUnicode: true).width, 4)
    expectNil(UpdateBars([]))
    expectEqual(UpdateBars([[12, 0], [1, 0]])?.bars(isUnicode: false).text, "91")
  }

  @Test("only lines that changed are redrawn, and all of them after a resize")
  func painter() {
    var painter = ScreenPainter(TerminalCapabilities(hasColour: false, isUnicode: true))
    let size = Terminal.Size(columns: 10, rows: 3)
    func paint(_ lines: [String], _ size: Terminal.Size) -> String {
      String(decoding: painter.paint(lines.map { StyledText($0) }, on: size), as: UTF8.self)
    }
    expectEqual(
      paint(["one", "two"], size), "\u{1b}[?2026h\u{1b}[2J\u{1b}[1;1Hone\u{1b}[K\u{1b}[2;1Htwo\u{1b}[K\u{1b}[?2026l")
    expectEqual(paint(["one", "two"], size), "")
    expectEqual(paint(["one", "2"], size), "\u{1b}[?2026h\u{1b}[2;1H2\u{1b}[K\u{1b}[?2026l")
    expectEqual(paint(["one"], size), "\u{1b}[?2026h\u{1b}[2;1H\u{1b}[K\u{1b}[?2026l")
    // Nothing is erased after a line that fills the row.
    expectEqual(paint(["0123456789"], size), "\u{1b}[?2026h\u{1b}[1;1H0123456789\u{1b}[?2026l")
    expect(paint(["0123456789"], Terminal.Size(columns: 11, rows: 3)).hasPrefix("\u{1b}[?2026h\u{1b}[2J"))
    painter.invalidate()
    expect(paint(["0123456789"], Terminal.Size(columns: 11, rows: 3)).hasPrefix("\u{1b}[?2026h\u{1b}[2J"))
  }
}
