// SPDX-License-Identifier: Apache-2.0
import SourceSelection
import AgentTesting
import Reporting
import Vehicle
import FleetEngine
import JSON
import FixSources
import Positioning
import RecordingReview
import Timekeeping

/// A recorded drive in virtual time: its bytes arrive as recorded, pass through the daemon's own session and agent,
/// and a simulated Fleet Engine accepts each update after 0.2 s.
struct RoadRun {
  /// An accepted fix.
  struct AcceptedFix {
    /// The fix as the receiver sent it.
    var fix: Fix
    /// The location that an update would report.
    var location: VehicleLocation
    /// The time at which the fix was available.
    var at: BootInstant
    /// Whether the vehicle was considered parked.
    var isParked: Bool
  }

  /// An update, and the accepted fix in it.
  struct Update {
    var at: BootInstant
    /// Index in `fixes`.
    var index: Int
  }

  private(set) var fixes: [AcceptedFix] = []
  private(set) var updates: [Update] = []

  private var fixture: AgentFixture
  private let wallAtStart: Timestamp
  /// Updates without a response yet.
  private var flights: [(id: UInt64, until: BootInstant)] = []

  /// The delay of the receiver's first burst after the start.
  private static let head = Duration.seconds(1)
  private static let latency = Duration.milliseconds(200)

  /// - Parameter jitter: the maximum deviation of a burst's arrival from its recorded time, in milliseconds, uniformly
  ///   distributed.
  init(
    _ drive: RoadDrive, _ reporting: ReportingPolicy.Configuration = .init(), over line: RoadLine, jitter: Int = 0
  ) throws {
    let bursts = try drive.bursts(for: line)
    let first = bursts.first?.time ?? AgentFixture.start
    wallAtStart = first - RoadRun.head
    var configuration = try AgentFixture.configuration()
    configuration.filter.buildDate = RoadDrive.buildDate
    configuration.reporting = reporting
    fixture = try AgentFixture()
    fixture.agent = VehicleAgent(configuration, seed: 1)
    handle(.sources([AgentFixture.source]), at: .boot)
    var random = SplitMix64(seed: 7)
    var next = 0
    var source = RoadSource(line)
    feed(source.start(at: .boot), at: .boot)
    func arrival(_ burst: RoadBurst) -> BootInstant {
      .boot + RoadRun.head + (burst.time - first) + .milliseconds(Int.random(in: -jitter...jitter, using: &random))
    }
    var nextArrival = bursts.first.map(arrival)
    var now = BootInstant.boot
    while let arrivalAt = nextArrival {
      let due = [arrivalAt, source.next, fixture.agent.nextDeadline(at: now), flights.first?.until]
      now = max(now, due.compactMap(\.self).min() ?? now)
      if arrivalAt <= now {
        source.send(bursts[next].bytes, at: now)
        next += 1
        nextArrival = next < bursts.count ? arrival(bursts[next]) : nil
      } else if let flight = flights.first, flight.until <= now {
        flights.removeFirst()
        handle(.updateEnded(id: flight.id, AgentFixture.accepted), at: now)
      } else if let sourceAt = source.next, sourceAt <= now {
        feed(source.step(at: now), at: now)
      } else {
        handle(.deadline, at: now)
      }
    }
  }

  private mutating func feed(_ reports: [SourceReport], at now: BootInstant) {
    for report in reports { handle(.source(AgentFixture.source.id, dated(report, at: now)), at: now) }
  }

  /// One drive has no date. Its fixes get one here, because the filter would reject those of the first two seconds.
  private func dated(_ report: SourceReport, at now: BootInstant) -> SourceReport {
    guard case .fix(var fix) = report, case .ofDay(let milliseconds) = fix.time else { return report }
    fix.time = .utc((wallAtStart + (now - .boot)).nearest(millisecondsOfDay: milliseconds))
    return .fix(fix)
  }

  private mutating func handle(_ input: VehicleAgent.Input, at now: BootInstant) {
    let moment = Moment(boot: now, wall: wallAtStart + (now - .boot))
    let before = fixture.agent.newestTime
    let effects = fixture.agent.handle(input, at: moment)
    if case .source(_, .fix(let fix)) = input, fixture.agent.newestTime != before {
      let snapshot = fixture.agent.snapshot(at: moment)
      if let location = snapshot.newest {
        fixes.append(AcceptedFix(fix: fix, location: location, at: now, isParked: snapshot.isParked))
      }
    }
    for effect in effects {
      switch effect {
      case .fetchToken(let id, _): handle(.tokenEnded(id: id, fixture.token()), at: now)
      case .sendUpdate(let id, _):
        updates.append(Update(at: now, index: fixes.count - 1))
        flights.append((id, now + RoadRun.latency))
      default: break
      }
    }
  }
}

extension RoadDrive {
  /// The sentence that begins or ends each of the receiver's bursts.
  private enum Order {
    case begins(String)
    case ends(String)
  }

  /// The usual baud rate of a receiver with bursts of this length. At 9600 baud, 960 bytes take a second.
  var baud: Int {
    switch self {
    case .boston, .dotnet2, .morten: 9600
    case .splosch, .geniviMunich, .geniviSwiss, .mountainView: 38_400
    }
  }

  private var order: Order {
    switch self {
    case .boston, .dotnet2: .begins("$GPGGA")
    case .morten, .geniviMunich: .begins("$GPRMC")
    case .mountainView: .begins("$GNRMC")
    case .splosch: .ends("$GPGGA")
    case .geniviSwiss: .ends("$GPRMC")
    }
  }

  /// The receiver's bursts, in the order of the recording. A burst that is not later than the previous one is joined to
  /// the previous one.
  func bursts(for line: RoadLine) throws -> [RoadBurst] {
    let fixes = try review().fixes.map { reviewed in
      var reviewed = reviewed
      // The review dates a drive without a date to 2000-01-01, and a clock before the build date is treated as not set.
      let assumedDay = Timestamp(seconds: 946_684_800)
      if reviewed.time < RoadDrive.buildDate { reviewed.time = RoadDrive.buildDate + (reviewed.time - assumedDay) }
      return reviewed
    }
    if line == .gpsd { return fixes.map { RoadBurst(time: $0.time, bytes: RoadDrive.report($0)) } }
    var bursts: [RoadBurst] = []
    var bytes: [UInt8] = []
    var timeOfDay: Int64?
    // The date is that of the first fix; each time is within half a day of the previous one.
    var time = fixes.first?.time ?? RoadDrive.buildDate
    func end() {
      if let timeOfDay { time = time.nearest(millisecondsOfDay: timeOfDay) }
      if let last = bursts.last, time <= last.time {
        bursts[bursts.count - 1].bytes += bytes
      } else if !bytes.isEmpty {
        bursts.append(RoadBurst(time: time, bytes: bytes))
      }
      bytes = []
      timeOfDay = nil
    }
    for text in try recording().split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true) {
      let fields = text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      let address = String(decoding: fields[0], as: UTF8.self)
      let stated = RoadDrive.timeOfDay(fields, address)
      if case .begins(address) = order { end() }
      if let stated, let timeOfDay, stated != timeOfDay { end() }
      bytes += text
      bytes.append(UInt8(ascii: "\n"))
      timeOfDay = stated ?? timeOfDay
      if case .ends(address) = order { end() }
    }
    end()
    return bursts
  }

  /// The time in an RMC or GGA sentence, in milliseconds since midnight; nil for other sentences.
  private static func timeOfDay(_ fields: [ArraySlice<UInt8>], _ address: String) -> Int64? {
    guard address.hasSuffix("RMC") || address.hasSuffix("GGA"), fields.count > 1,
      let number = Double(String(decoding: fields[1], as: UTF8.self)), (0..<240_000).contains(number)
    else { return nil }
    let whole = Int64(number)
    let milliseconds = Int64(((number - Double(whole)) * 1000).rounded())
    return (whole / 10_000 * 3600 + whole / 100 % 100 * 60 + whole % 100) * 1000 + milliseconds
  }

  /// gpsd's report of a fix.
  private static func report(_ reviewed: RecordingReview.ReviewedFix) -> [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.openObject()
    writer.key("class")
    writer.string("TPV")
    writer.key("mode")
    writer.number(reviewed.fix.mode.rawValue)
    writer.key("time")
    writer.string(reviewed.time.rfc3339)
    for (key, value) in [
      ("lat", reviewed.fix.coordinate.latitude), ("lon", reviewed.fix.coordinate.longitude),
      ("speed", reviewed.fix.speed), ("track", reviewed.fix.heading),
    ] {
      guard let value else { continue }
      writer.key(key)
      writer.number(value, decimals: 8)
    }
    writer.closeObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
