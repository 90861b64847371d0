// SPDX-License-Identifier: Apache-2.0
import Expectations
import SourceSelection
import FixSources
import Positioning
import Testing
import Timekeeping

/// Transcripts: the sources' fixes, second by second, and the source that is used.
struct SourceSelectorTests {
  /// A list of sources, of which those with reception report one fix a second.
  private struct Bench {
    static let start = Timestamp(seconds: 1_796_083_200)

    var selector: SourceSelector
    var now = 0
    /// Indices of the sources that report good fixes, and of those that report bad ones (with a huge HDOP).
    var good: Set<Int> = []
    var bad: Set<Int> = []
    /// The number of seconds by which the clock of each source is ahead.
    var clocks = [0, 0, 0]
    /// The source used in each second: `-` for none, a letter for each source, in capitals when the fix is rejected,
    /// `~` when it is held.
    var transcript = ""
    /// Times of all accepted positions.
    var positions: [Timestamp] = []
    var hasEnded = false

    init(_ count: Int, silenceTimeout: Duration = .seconds(10), pace: Double = 1, isPausable: Bool = false) {
      selector = SourceSelector(filter: Bench.filter)
      let list = (0..<count).map {
        SourceSelector.ConfiguredSource(
          id: $0, label: "s\($0)", silenceTimeout: silenceTimeout, pace: pace, isPausable: isPausable)
      }
      _ = selector.handle(.replaced(list), at: moment)
    }

    static var filter: FixFilter.Configuration {
      FixFilter.Configuration(buildDate: Timestamp(seconds: 1_795_219_200))
    }

    var moment: Moment {
      Moment(boot: .boot + .seconds(now), wall: Bench.start + .seconds(now))
    }

    mutating func handle(_ report: SourceReport, from index: Int) -> [SourceSelector.Effect] {
      let effects = selector.handle(.report(report, from: index), at: moment)
      if effects.contains(.ended) { hasEnded = true }
      return effects
    }

    /// Runs for this number of seconds, and returns the sources used.
    @discardableResult
    mutating func play(_ seconds: Int) throws -> String {
      let before = transcript.count
      for _ in 0..<seconds {
        now += 1
        if let deadline = selector.nextDeadline, deadline <= moment.boot { _ = selector.handle(.deadline, at: moment) }
        var letters = ""
        for index in selector.overview.sources.map(\.id) where good.union(bad).contains(index) {
          let letter = ["a", "b", "c"][index]
          for effect in handle(.fix(try fix(index)), from: index) {
            switch effect {
            case .accepted(let accepted, _):
              letters += letter
              // Each position is reported, as if there were no interval.
              _ = selector.handle(.reported(accepted.time), at: moment)
              positions.append(accepted.time)
            case .held: letters += "~"
            case .rejected: letters += letter.uppercased()
            case .changed, .ended: break
            }
          }
        }
        expect(letters.count <= 1, "two sources are used in one second: \(letters)")
        transcript += letters.isEmpty ? "-" : letters
      }
      return String(transcript.dropFirst(before))
    }

    private func fix(_ index: Int) throws -> Fix {
      // The receivers are a few metres apart, as on one roof.
      let place = try #require(Coordinate(latitude: 48 + Double(index) * 0.00001, longitude: 11))
      var fix = Fix(coordinate: place, time: .utc(Bench.start + .seconds(now + clocks[index])))
      fix.hdop = good.contains(index) ? 1 : 50
      return fix
    }

    var conditions: [SourceOverview.Condition] { selector.overview.sources.map(\.condition) }
  }

  private func repeated(_ letter: String, _ count: Int) -> String { String(repeating: letter, count: count) }

  @Test("a single source is used whatever it reports, and no deadline is set")
  func alone() throws {
    var bench = Bench(1)
    _ = bench.handle(.reading("s0 at 9600 baud"), from: 0)
    bench.bad = [0]
    try expectEqual(bench.play(3), "AAA")
    bench.bad = []
    bench.good = [0]
    try expectEqual(bench.play(2), "aa")
    expectNil(bench.selector.nextDeadline)
    expectEqual(bench.handle(.ended, from: 0).last, .ended)
  }

  @Test("the source of higher priority is used from its first fix on, and the other is ignored")
  func preferred() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try expectEqual(bench.play(30), repeated("a", 30))
    expectEqual(bench.selector.overview.used, 0)
  }

  @Test("at the start the next source is used only after the silence timeout of the one with the highest priority")
  func initialSilence() throws {
    var bench = Bench(2)
    _ = bench.handle(.reading("s0"), from: 0)
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
    expectEqual(bench.selector.overview.reason, .best)
    expectEqual(bench.selector.overview.problems(before: 1), "1: s0 has no acceptable position")
  }

  @Test("at the start a lost source of higher priority does not delay the use of another")
  func lostAtStart() throws {
    var bench = Bench(2)
    _ = bench.handle(.lost("s0: there is no such device"), from: 0)
    bench.good = [1]
    try expectEqual(bench.play(3), "bbb")
    expectEqual(bench.selector.overview.problems(before: 1), "1: s0: there is no such device")
  }

  @Test("failover occurs after the silence timeout; if a source fails soon after it was selected, failback takes 20 s")
  func failover() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try expectEqual(bench.play(5), "aaaaa")
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
    bench.good = [0, 1]
    // The source failed soon after it was selected, so the hold-down is twice ten seconds. It begins with the second
    // fix, because the filter rejects a single fix after a gap.
    try expectEqual(bench.play(23), repeated("b", 21) + "aa")
    expectEqual(bench.selector.overview.reason, .failback(after: .seconds(20)))
  }

  @Test("failback to a source that had worked for a long time takes ten seconds")
  func failback() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(100)
    _ = bench.handle(.lost("s0: the device is gone"), from: 0)
    bench.good = [1]
    // The silence timeout does not apply to a source that is reported lost.
    try expectEqual(bench.play(5), "bbbbb")
    _ = bench.handle(.reading("s0"), from: 0)
    bench.good = [0, 1]
    try expectEqual(bench.play(13), repeated("b", 11) + "aa")
  }

  @Test("the hold-down of a flapping source grows each time, and is reset after a stable period")
  func flapping() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(5)
    var waits: [Int] = []
    for _ in 0..<6 {
      bench.good = [1]
      try bench.play(11)
      bench.good = [0, 1]
      var wait = 0
      while try bench.play(1) == "b" { wait += 1 }
      waits.append(wait)
    }
    expectEqual(waits, [21, 41, 81, 161, 301, 301])
    try bench.play(400)
    bench.good = [1]
    try bench.play(11)
    bench.good = [0, 1]
    try expectEqual(bench.play(12), repeated("b", 11) + "a")
  }

  @Test("sporadic fixes are not enough for failback: each gap as long as the silence timeout restarts the hold-down")
  func nowAndThen() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(100)
    bench.good = [1]
    try bench.play(11)
    for _ in 0..<10 {
      bench.good = [0, 1]
      try expectEqual(bench.play(5), "bbbbb")
      bench.good = [1]
      try expectEqual(bench.play(10), repeated("b", 10))
    }
  }

  @Test("when both sources are silent, the first one with an accepted fix is used")
  func bothSilent() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(100)
    bench.good = []
    try bench.play(30)
    expectNil(bench.selector.overview.used)
    expectNil(bench.selector.nextDeadline)
    bench.good = [1]
    try expectEqual(bench.play(3), "-bb")
    bench.good = []
    _ = bench.handle(.lost("s1 gone"), from: 1)
    expectNil(bench.selector.overview.used)
    bench.good = [0]
    try expectEqual(bench.play(3), "Aaa")
  }

  @Test("a source of higher priority whose fixes are all rejected is treated as silent, and the reason is reported")
  func quality() throws {
    var bench = Bench(2)
    bench.bad = [0]
    try expectEqual(bench.play(3), "AAA")
    expectEqual(bench.conditions, [.searching(.poorHDOP), .waiting])
    bench.good = [1]
    try expectEqual(bench.play(9), "AAAAAAbbb")
    expectEqual(
      bench.selector.overview.problems(before: 1),
      "1: s0 has no acceptable position (rejected: HDOP worse than filter.max_hdop)")
    bench.bad = []
    bench.good = [0, 1]
    try expectEqual(bench.play(11), repeated("b", 10) + "a")
  }

  @Test("a receiver that only repeats its last fix is treated as silent")
  func frozen() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(100)
    bench.good = [1]
    let place = try #require(Coordinate(latitude: 48, longitude: 11))
    let same = Fix(coordinate: place, time: .utc(Bench.start + .seconds(100)))
    var used = ""
    for _ in 0..<15 {
      for case .rejected(_, .duplicate) in bench.handle(.fix(same), from: 0) { used += "a" }
      used += try bench.play(1)
    }
    expect(used.hasSuffix("bbbb") && used.hasPrefix("a"))
    expectEqual(bench.conditions.first, .searching(nil))
  }

  @Test("when a recording ends, the next source that has not ended is used; the selector ends with the last source")
  func ends() throws {
    var bench = Bench(3)
    bench.good = [0, 1, 2]
    try expectEqual(bench.play(2), "aa")
    bench.good = [0, 2]
    _ = bench.handle(.ended, from: 1)
    try expectEqual(bench.play(2), "aa")
    bench.good = [2]
    _ = bench.handle(.ended, from: 0)
    try expectEqual(bench.play(2), "cc")
    expect(!bench.hasEnded)
    _ = bench.handle(.ended, from: 2)
    expect(bench.hasEnded && bench.conditions == [.ended, .ended, .ended])
  }

  @Test("a suspend does not count as silence")
  func suspended() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(20)
    bench.now += 3600
    _ = bench.selector.handle(.resumed(after: .seconds(3600)), at: bench.moment)
    expectEqual(bench.selector.overview.used, 0)
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
  }

  @Test("a source that had a fix hours into a pause is replaced if it is silent after the pause")
  func fixDuringPause() throws {
    var bench = Bench(2, isPausable: true)
    bench.good = [0, 1]
    try bench.play(20)
    _ = bench.selector.handle(.needed(false), at: bench.moment)
    bench.now += 18_000
    bench.good = [0]
    try expectEqual(bench.play(2), "Aa")
    bench.now += 18_000
    _ = bench.selector.handle(.needed(true), at: bench.moment)
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
  }

  @Test("a new list of sources keeps the state of those that remain")
  func replaced() throws {
    var bench = Bench(2)
    bench.good = [0, 1]
    try bench.play(100)
    // The first source is removed, and a new one inserted before the second.
    _ = bench.selector.handle(
      .replaced([
        SourceSelector.ConfiguredSource(id: 2, label: "new", silenceTimeout: .seconds(10)),
        SourceSelector.ConfiguredSource(id: 1, label: "s1", silenceTimeout: .seconds(10)),
      ]), at: bench.moment)
    expectEqual(bench.conditions, [.waiting, .good])
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
    bench.good = [1, 2]
    try expectEqual(bench.play(11), repeated("b", 10) + "c")
  }

  // MARK: - Clocks that differ

  @Test(
    "after a failover to a receiver whose clock lags, its fixes are held until they are newer than those reported",
    arguments: [
      (0, "bbbbbbbbbbbb"), (-3, "~~~bbbbbbbbb"), (-8, "~~~~~~~~bbbb"), (-10, "~~~~~~~~~~bb"), (3, "bbbbbbbbbbbb"),
      (8, "bbbbbbbbbbbb"),
    ])
  func lag(seconds: Int, expected: String) throws {
    var bench = Bench(2)
    bench.clocks = [0, seconds, 0]
    bench.good = [0, 1]
    try expectEqual(bench.play(20), repeated("a", 20))
    _ = bench.handle(.lost("s0: the device is gone"), from: 0)
    expectEqual(
      bench.selector.overview.hold, (seconds < 0 ? SourceOverview.Hold.behind(by: .seconds(-seconds)) : nil))
    bench.good = [1]
    try expectEqual(bench.play(12), expected)
    expectNil(bench.selector.overview.hold)
    expectEqual(bench.conditions.last, .good)
    // The failback is to a clock that is ahead or behind.
    _ = bench.handle(.reading("s0"), from: 0)
    bench.good = [0, 1]
    let back = try bench.play(34)
    expect(!back.contains("A") && !back.contains("B") && back.hasSuffix("aaa"))
    expectEqual(bench.positions, bench.positions.sorted())
    expectEqual(Set(bench.positions).count, bench.positions.count)
  }

  @Test("no fix is held at a failover after silence if the next source's clock lags by less than the silence timeout")
  func lagAfterSilence() throws {
    var bench = Bench(2)
    bench.clocks = [0, -8, 0]
    bench.good = [0, 1]
    try bench.play(20)
    bench.good = [1]
    try expectEqual(bench.play(12), "---------bbb")
  }

  @Test(
    "a receiver clock that differs by more than max_age is accepted at the fifth fix, even if it is far behind",
    arguments: [-11, -3600, 11, 3600])
  func contradictedClock(seconds: Int) throws {
    var bench = Bench(2)
    bench.clocks = [0, seconds, 0]
    bench.good = [0, 1]
    try bench.play(20)
    _ = bench.handle(.lost("s0: the device is gone"), from: 0)
    expectEqual(bench.selector.overview.hold, .contradicted(offset: .seconds(seconds)))
    bench.good = [1]
    try expectEqual(bench.play(4), "~~~~")
    expectEqual(bench.selector.overview.hold, .contradicted(offset: .seconds(seconds)))
    bench.now += 1
    let fix = Fix(
      coordinate: try #require(Coordinate(latitude: 48.00001, longitude: 11)),
      time: .utc(Bench.start + .seconds(bench.now + seconds)))
    let accepted = FixFilter.Accepted(fix: fix, time: Bench.start + .seconds(bench.now + seconds))
    expectEqual(bench.handle(.fix(fix), from: 1).last, .accepted(accepted, invalidatesLater: seconds < 0))
    expectNil(bench.selector.overview.hold)
    try expectEqual(bench.play(3), "bbb")
  }

  @Test("if a source's earlier timestamps are found to have been wrong, that is reported with the accepted fix")
  func overruling() throws {
    var bench = Bench(1)
    bench.good = [0]
    try bench.play(5)
    bench.clocks = [-60, 0, 0]
    try expectEqual(bench.play(4), "AAAA")
    bench.now += 1
    let time = Bench.start + .seconds(bench.now - 60)
    let fix = Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: .utc(time))
    expectEqual(
      bench.handle(.fix(fix), from: 0), [.accepted(FixFilter.Accepted(fix: fix, time: time), invalidatesLater: true)])
    try expectEqual(bench.play(2), "aa")
  }

  @Test("fixes of a source from new settings are held until they are newer than reported positions")
  func replacedWithLag() throws {
    var bench = Bench(1)
    bench.good = [0]
    try bench.play(20)
    _ = bench.selector.handle(
      .replaced([SourceSelector.ConfiguredSource(id: 1, label: "new", silenceTimeout: .seconds(10))]), at: bench.moment)
    bench.clocks = [0, -3, 0]
    bench.good = [1]
    try expectEqual(bench.play(5), "~~~bb")
  }

  @Test("the filter takes the pace of a source into account, even after new settings")
  func pace() throws {
    var bench = Bench(1, pace: 20)
    _ = bench.selector.handle(.configured(Bench.filter), at: bench.moment)
    for second in 1...3 {
      bench.now = second
      // 400 m/s are 72 km/h at twenty times the speed.
      var fix = Fix(
        coordinate: try #require(Coordinate(latitude: 48 + Double(second * 400) / 111_200, longitude: 11)),
        time: .utc(Bench.start + .seconds(second)))
      fix.speed = 400
      let accepted = FixFilter.Accepted(fix: fix, time: Bench.start + .seconds(second))
      expect(bench.handle(.fix(fix), from: 0).contains(.accepted(accepted, invalidatesLater: false)))
    }
  }

  @Test("reports of sources that are not in the list change nothing")
  func outOfRange() {
    var bench = Bench(2)
    expect(bench.handle(.ended, from: 2) == [] && bench.handle(.lost("x"), from: -1) == [])
  }
}
