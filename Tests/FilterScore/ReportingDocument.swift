// SPDX-License-Identifier: Apache-2.0
import Reporting
import FleetEngine
import Positioning
import Timekeeping

/// `docs/reporting.md`, generated from the reports of recorded drives.
enum ReportingDocument {
  /// A set of settings, with its description.
  struct Choice {
    var text: String
    var configuration: ReportingPolicy.Configuration
  }

  /// The drives that have speeds and dates.
  static let drives = RoadDrive.allCases.filter { $0 != .boston }
  /// The jitter of the arrival of fixes, in milliseconds.
  static let jitters = [2, 20, 50]
  static let kinds: [(name: String, line: @Sendable (RoadDrive) -> RoadLine)] = [
    ("serial, reads 100 ms apart", { .uart(baud: $0.baud) }), ("nmea-tcp", { _ in .tcp }), ("gpsd", { _ in .gpsd }),
  ]
  static let usual = Choice(text: "`interval = \"10s\"`: the defaults", configuration: .init())
  static let deviations = [5.0, 10, 20].map { deviation in
    Choice(text: "`deviation = \"\(Int(deviation)) m\"`", configuration: .init(deviation: deviation))
  }
  /// The values in the example settings file.
  static let chosen = ReportingPolicy.Configuration(deviation: 5)
  static let others = [
    Choice(text: "`interval = \"9s\"`", configuration: .init(interval: .seconds(9))),
    Choice(text: "`interval = \"8s\"`", configuration: .init(interval: .seconds(8))),
    Choice(text: "`heading = 20`", configuration: .init(heading: 20)),
    Choice(text: "`distance = \"200 m\"`, `heading = 20`", configuration: .init(distance: 200, heading: 20)),
    Choice(
      text: "`distance = \"200 m\"`, `heading = 20`, `interval = \"50s\"`",
      configuration: .init(interval: .seconds(50), distance: 200, heading: 20)),
  ]

  /// The reports of all drives with these settings.
  static func report(_ choice: Choice) throws -> RoadReport {
    try drives.map { RoadReport(try RoadRun($0, choice.configuration, over: .uart(baud: $0.baud), jitter: 2)) }
      .reduce(RoadReport(), +)
  }

  /// The reports of all drives over this kind of line, from which the share of outdated updates is computed.
  static func outdated(over line: (RoadDrive) -> RoadLine, jitter: Int) throws -> RoadReport {
    try RoadDrive.allCases.map { RoadReport(try RoadRun($0, over: line($0), jitter: jitter)) }.reduce(RoadReport(), +)
  }

  static func corners(_ reports: [(Choice, RoadReport)]) -> String {
    let base = Double(reports.first?.1.updates ?? 1)
    var text = """
      | Settings | Updates/h | Change | Track, mean | p95 | worst | Shown, mean | p95 |
      |---|---:|---:|---:|---:|---:|---:|---:|

      """
    for (choice, report) in reports {
      let more = Int((100 * (Double(report.updates) / base - 1)).rounded())
      text += "| \(choice.text) | \(Int(report.updatesPerHour.rounded())) | \(more > 0 ? "+" : "")\(more) % "
      for numbers in [report.track, report.shown] {
        let p95 = RoadReport.quantile(0.95, of: numbers)
        let isTrack = numbers.count == report.track.count && numbers == report.track
        text += "| \(metres(RoadReport.mean(numbers))) | \(metres(p95)) "
        if isTrack { text += "| \(metres(numbers.max() ?? 0)) " }
      }
      text += "|\n"
    }
    return text
  }

  private static func metres(_ number: Double) -> String {
    "\(number < 20 ? FilterDocument.tenths(number) : "\(Int(number.rounded()))") m"
  }

  private static func percent(_ share: Double) -> String { "\(FilterDocument.tenths(share * 100)) %" }

  static func freshness(_ reports: [[RoadReport]]) -> String {
    var text = """
      | Source | Updates | \(jitters.map { "±\($0) ms" }.joined(separator: " | ")) | Mean interval |
      |---|---:|\(jitters.map { _ in "---:|" }.joined())---:|

      """
    for (kind, row) in zip(kinds, reports) { text += freshnessRow(kind.name, row) + "\n" }
    return text
  }

  /// - Parameter reports: one for each jitter.
  static func freshnessRow(_ name: String, _ reports: [RoadReport]) -> String {
    let shares = reports.map { percent($0.outdatedShare) }.joined(separator: " | ")
    let interval = FilterDocument.hundredths(RoadReport.mean(reports[0].intervals))
    return "| \(name) | \(reports[0].driving) | \(shares) | \(interval) s |"
  }

  /// The sentence on fixes at standstill.
  static func standstill(_ report: RoadReport) -> String {
    """
    Of \(report.standing) accepted fixes below 1 m/s between two courses, \(percent(report.misdirectedShare)) are reported
    with a heading that is more than 45° away from both, the course before and the course after.
    """
  }

  /// The whole page.
  ///
  /// - Parameters:
  ///   - corners: the report for each choice.
  ///   - freshness: the reports for each kind of source, one for each jitter.
  static func page(corners: [(Choice, RoadReport)], freshness: [[RoadReport]], standing: RoadReport) -> String {
    """
    # When a position is sent

    For fleet engineers who choose how often a vehicle reports, and what a map of the reports shows: the rules, which setting shows corners for
    the fewest updates, and what the positions are like, measured on recorded drives. The keys are under \("`[reporting]`") in
    [settings.md](settings.md).

    * While the vehicle drives, an update is sent each `interval`, with the fix that is nearest to that time.
    * `distance`, `heading` and `deviation` make an update due earlier: after driving that far, after turning by that angle, or when the
      straight line from the last update to the newest position would miss a position between them by more than that. So do
      starting and stopping.
    * Two updates are at least 5 s apart, because Google advises against more.
    * For a parked vehicle, and for one without a new fix, an update is sent each `heartbeat` ([filter.md](filter.md) says when a vehicle
      counts as parked).

    ## Corners

    With an update every 10 s, a map draws a straight line across each corner between two updates. `deviation` sends one after the corner,
    and none on a straight road, however long it is. The table is from the six drives with speed and date, 6.2 hours
    ([their sources](../Tests/FilterScore/Drives/README.md)), which the daemon's own code read byte by byte in virtual time, with the defaults
    except for what the row says. *Track* is how far the driven positions are from the line between the updates, *shown* how far the vehicle
    was from its last update, which is what a map shows between two of them.

    \(table(corners))
    ![A corner with an update every 10 s, and with deviation = "5 m"](images/corner.svg)

    Grey: the positions of the receiver, one a second. Orange: the updates with the defaults, and the line that a map draws between them. Blue:
    with `deviation = "5 m"`. The corner is the one that the defaults cut most in the drive through Mountain View.

    **Recommended: `deviation = "5 m"`**, which `fleet-locationd --example-settings` has: for as many updates as `heading = 20` or an interval
    of 9 s need, the track is closer to the road than with either. The default is 0, so that an upgrade does not increase anyone's bill. A month
    of [79,200 updates](performance.md#mobile-data), which are 37.7 MB, becomes larger by \(monthly(corners)).

    ## The age of a fix

    Receivers send a fix each second, a little early or late. If an update is due just before a fix arrives, it waits for that fix; otherwise
    it would carry a position that is a second old. The table has the share of updates with a fix that was older than half a period,
    although the next fix arrived less than half a period later, by the jitter of the arrivals (uniform; all seven drives):

    \(self.freshness(freshness))
    ## The heading at standstill

    A receiver's course is noise while the vehicle stands. Below \(FilterDocument.tenths(ReportingPolicy.minimumCourseSpeed)) m/s the last faster course is reported
    ([filter.md](filter.md)). \(standstill(standing))

    ## How it is measured

        FILTER_SCORE=1 swift test --filter RoadReportTests

    measures all of this and compares it with this page; with `UPDATE_GOLDENS=1` instead of `FILTER_SCORE=1` it updates the page and the
    picture.

    """
  }

  private static func table(_ reports: [(Choice, RoadReport)]) -> String { corners(reports) }

  /// The additional updates and data volume of `chosen` per month.
  private static func monthly(_ reports: [(Choice, RoadReport)]) -> String {
    guard let usual = reports.first?.1,
      let chosen = reports.first(where: { $0.0.configuration == ReportingDocument.chosen })?.1
    else {
      return ""
    }
    let more = Double(chosen.updates) / Double(usual.updates) - 1
    // docs/performance.md: 442 bytes for an update, both ways, with the headers of IPv4 and TCP.
    let updates = Int((79_200 * more / 100).rounded()) * 100
    return "\(updates) updates and \(FilterDocument.tenths(Double(updates) * 442 / 1e6)) MB"
  }

  /// The corner that is cut most with the default settings, with the updates of both settings from half a minute before
  /// it to half a minute after it.
  static func picture(_ usual: RoadRun, _ chosen: RoadRun) -> String {
    var worst = (error: 0.0, location: usual.fixes[0].location)
    for (from, to) in zip(usual.updates, usual.updates.dropFirst()) where from.index < to.index {
      let (start, end) = (usual.fixes[from.index].location, usual.fixes[to.index].location)
      guard end.time - start.time <= .seconds(20) else { continue }
      for fix in usual.fixes[(from.index + 1)...to.index] {
        let error = RoadReport.distance(of: fix.fix.coordinate, from: start.coordinate, to: end.coordinate)
        if error > worst.error { worst = (error, fix.location) }
      }
    }
    /// Offsets east and north of the corner, in metres.
    func offsets(_ locations: [VehicleLocation]) -> [(x: Double, y: Double)] {
      locations.filter { abs(($0.time - worst.location.time).inSeconds) <= 30 }.map { location in
        let distance = worst.location.coordinate.distance(to: location.coordinate)
        let rotation = Trigonometry.rotation(degrees: worst.location.coordinate.heading(to: location.coordinate) ?? 0)
        return (distance * rotation.sine, distance * rotation.cosine)
      }
    }
    let driven = offsets(usual.fixes.map(\.location))
    let drawn = [usual, chosen].map { run in offsets(run.updates.map { run.fixes[$0.index].location }) }
    let left = driven.map(\.x).min() ?? 0
    let top = driven.map(\.y).max() ?? 0
    let width = max((driven.map(\.x).max() ?? 0) - left, 1)
    let height = max(top - (driven.map(\.y).min() ?? 0), 1)
    let scale = min(780 / width, 320 / height)
    func place(_ offset: (x: Double, y: Double)) -> String {
      "\(Int((40 + (offset.x - left) * scale).rounded())) \(Int((90 + (top - offset.y) * scale).rounded()))"
    }
    let dots = { (offsets: [(x: Double, y: Double)]) in offsets.map { "M\(place($0))h.01" }.joined() }
    let line = { (offsets: [(x: Double, y: Double)]) in "M" + offsets.map(place).joined(separator: "L") }
    let frame = Int((height * scale).rounded()) + 160
    let cut = FilterDocument.tenths(worst.error)
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 \(frame)" width="860" height="\(frame)" role="img" \
      aria-labelledby="title description">
      <title id="title">A corner, as a map draws it</title>
      <desc id="description">The receiver's positions, one a second, and the lines between the updates: one every 10 s \
      misses the corner by \(cut) m; with deviation = "5 m" an update follows the corner.</desc>
      <style>
      text{font:13px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}
      .title{font-size:17px;font-weight:600}
      .ground{fill:#ffffff;stroke:#d0d7de}.axis{stroke:#57606a;fill:none}
      .line{fill:none;stroke-width:2;stroke-linejoin:round}.dots{fill:none;stroke-linecap:round;stroke-width:9}
      .driven{fill:none;stroke-linecap:round;stroke-width:5;stroke:#8c959f}
      .sa{stroke:#0072b2}.sb{stroke:#d55e00}
      @media (prefers-color-scheme:dark){
      text{fill:#e6edf3}.ground{fill:#0d1117;stroke:#30363d}.axis{stroke:#9da7b3}
      .driven{stroke:#6e7681}.sa{stroke:#56b4e9}.sb{stroke:#ff8c42}
      }
      </style>
      <rect class="ground" x="0.5" y="0.5" width="859" height="\(frame - 1)" rx="6"/>
      <text class="title" x="20" y="30">A corner, as a map draws it</text>
      <path class="driven" d="M24 48h.01"/>
      <text x="34" y="52">the receiver, each second</text>
      <path class="dots sb" d="M224 48h.01"/>
      <text x="234" y="52">an update every 10 s: \(cut) m beside the road</text>
      <path class="dots sa" d="M524 48h.01"/>
      <text x="534" y="52">with deviation = "5 m"</text>
      <path class="driven" d="\(dots(driven))"/>
      <path class="line sb" d="\(line(drawn[0]))"/>
      <path class="dots sb" d="\(dots(drawn[0]))"/>
      <path class="line sa" d="\(line(drawn[1]))"/>
      <path class="dots sa" d="\(dots(drawn[1]))"/>
      <path class="axis" d="M40 \(frame - 24)h\(Int((20 * scale).rounded()))"/>
      <text x="40" y="\(frame - 30)">20 m</text>
      </svg>

      """
  }
}
