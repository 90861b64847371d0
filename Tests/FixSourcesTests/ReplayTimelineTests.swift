// SPDX-License-Identifier: Apache-2.0
import Expectations
import FixSources
import Positioning
import Testing
import Timekeeping

struct ReplayTimelineTests {
  private static let recorded = Timestamp(seconds: 1_700_000_000)
  private static let start = Moment(boot: .boot + .seconds(50), wall: Timestamp(seconds: 1_796_083_200))

  private func fix(_ time: Fix.Time?) throws -> Fix {
    Fix(coordinate: try #require(Coordinate(latitude: 48, longitude: 11)), time: time)
  }

  /// Schedules fixes at these seconds of the recording.
  ///
  /// - Returns: when each fix is due, in seconds since the start, and its time, in seconds since `base`.
  private func play(
    _ seconds: [Double], pace: Double, shiftsTimes: Bool, base: Timestamp
  ) throws -> [(due: Double, time: Double)] {
    var timeline = ReplayTimeline(pace: pace, shiftsTimes: shiftsTimes, start: ReplayTimelineTests.start)
    return try seconds.map { second in
      let recorded = ReplayTimelineTests.recorded + .milliseconds(Int64(second * 1000))
      let scheduled = timeline.schedule(try fix(.utc(recorded)))
      let placed = try #require(scheduled)
      let time = try #require(placed.fix.timestamp)
      return ((placed.due - ReplayTimelineTests.start.boot).inSeconds, (time - base).inSeconds)
    }
  }

  @Test("each fix is due after its recorded time since the first fix, divided by the pace", arguments: [0.5, 1, 2, 10])
  func pace(pace: Double) throws {
    let played = try play([0, 1, 2.5, 12], pace: pace, shiftsTimes: true, base: ReplayTimelineTests.start.wall)
    expectEqual(played.map(\.due), [0, 1 / pace, 2.5 / pace, 12 / pace])
    // The first fix has the current time, and the others follow.
    expectEqual(played.map(\.time), played.map { ($0.due * 1000).rounded(.down) / 1000 })
  }

  @Test("however small the pace is, a fix is only due later", arguments: [1e-9, 1e-300, .leastNonzeroMagnitude])
  func tinyPace(pace: Double) throws {
    let played = try play([0, 10, 20], pace: pace, shiftsTimes: true, base: ReplayTimelineTests.start.wall)
    expect(played[1].due > 1e9 && played[2].due >= played[1].due)
  }

  @Test("if times are not shifted, fixes keep their recorded times, and are due after the recorded intervals")
  func keeps() throws {
    let played = try play([0, 1, 3], pace: 1, shiftsTimes: false, base: ReplayTimelineTests.recorded)
    expectEqual(played.map(\.due), [0, 1, 3])
    expectEqual(played.map(\.time), [0, 1, 3])
  }

  @Test("a first fix without a date does not delay the others, even if the wall clock has a different date")
  func undatedFirst() throws {
    var timeline = ReplayTimeline(pace: 1, shiftsTimes: false, start: Self.start)
    let midnight = Timestamp(seconds: 1_796_169_600)
    for (second, time) in [
      Fix.Time.ofDay(milliseconds: 43_200_000), .utc(midnight + .seconds(43_201)), .ofDay(milliseconds: 43_202_000),
      .utc(midnight + .seconds(43_203)),
    ].enumerated() {
      let due = timeline.schedule(try fix(time))?.due
      expectEqual(due, Self.start.boot + .seconds(second))
    }
  }

  @Test("at pace 0 every fix is due at once")
  func immediate() throws {
    try expectEqual(
      play([0, 1, 300], pace: 0, shiftsTimes: false, base: ReplayTimelineTests.recorded).map(\.due), [0, 0, 0])
  }

  @Test("at pace 0, shifted times keep recorded intervals of up to a minute, and fixes keep their speeds")
  func immediateAndShifted() throws {
    let start = ReplayTimelineTests.start
    let played = try play([0, 1, 31, 300], pace: 0, shiftsTimes: true, base: start.wall)
    expectEqual(played.map(\.due), [0, 0, 0, 0])
    expectEqual(played.map(\.time), [0, 1, 31, 91], "a gap is a minute at most")
    try expectEqual(speeds(pace: 0, shiftsTimes: true), [12, 0.5])
  }

  /// The replayed speed and speed accuracy of a fix that was recorded with 12 m/s and 0.5 m/s.
  private func speeds(pace: Double, shiftsTimes: Bool) throws -> [Double?] {
    var timeline = ReplayTimeline(pace: pace, shiftsTimes: shiftsTimes, start: ReplayTimelineTests.start)
    var moving = try fix(.utc(ReplayTimelineTests.recorded))
    (moving.speed, moving.speedAccuracy) = (12, 0.5)
    let scheduled = timeline.schedule(moving)
    let placed = try #require(scheduled).fix
    return [placed.speed, placed.speedAccuracy]
  }

  @Test("speeds are scaled by the pace if times are shifted, so that they match the positions")
  func speeds() throws {
    try expectEqual(speeds(pace: 20, shiftsTimes: true), [240, 10])
    try expectEqual(speeds(pace: 0.5, shiftsTimes: true), [6, 0.25])
    try expectEqual(speeds(pace: 20, shiftsTimes: false), [12, 0.5])
  }

  @Test(
    "of fixes that fall into one millisecond, only the first and those with the same recorded time are replayed")
  func crowded() throws {
    var timeline = ReplayTimeline(pace: 1000, shiftsTimes: true, start: ReplayTimelineTests.start)
    let played = try [0.0, 0.4, 0.8, 1, 1, 1.6, 2].map { second -> Timestamp? in
      let recorded = ReplayTimelineTests.recorded + .milliseconds(Int64(second * 1000))
      return timeline.schedule(try fix(.utc(recorded)))?.fix.timestamp
    }
    let start = ReplayTimelineTests.start.wall
    expectEqual(
      played,
      [
        start, nil, nil, start + .milliseconds(1), start + .milliseconds(1), nil, start + .milliseconds(2),
      ])
  }

  @Test("a gap in the recording is shortened to a minute, and a step back in time causes no wait")
  func gaps() throws {
    let played = try play([0, 40_000, 40_001, 5, 6], pace: 1, shiftsTimes: true, base: ReplayTimelineTests.start.wall)
    expectEqual(played.map(\.due), [0, 60, 61, 61, 62])
  }

  @Test("a fix without a date gets its date from the previous fix, even across midnight")
  func withoutDate() throws {
    var timeline = ReplayTimeline(pace: 1, shiftsTimes: true, start: ReplayTimelineTests.start)
    let midnight = Timestamp(seconds: 1_700_006_400)
    _ = timeline.schedule(try fix(.utc(midnight - .seconds(1))))
    func due(_ time: Fix.Time?) throws -> Double? {
      timeline.schedule(try fix(time)).map { ($0.due - ReplayTimelineTests.start.boot).inSeconds }
    }
    try expectEqual(due(.ofDay(milliseconds: 500)), 1.5)
    // A fix without any time is played together with the previous one.
    try expectEqual(due(nil), 1.5)
    try expectEqual(due(.ofDay(milliseconds: 2500)), 3.5)
  }
}
