// SPDX-License-Identifier: Apache-2.0
import Authorization
import Daemon
import FixSources
import HTTPMessages
import Observability
import PositionBacklog
import Positioning
import Timekeeping
import Vehicle

/// A line of a run's transcript.
struct TranscriptLine {
  var second: Double
  var text: String
  /// Whether the story omits the line.
  var isDetail: Bool

  var description: String { "\(World.column(second, 9)) \(text)" }
}

/// One second of a run, for its picture.
struct PictureSecond {
  var isOff: Bool
  var hasFix: Bool
  var isPaused: Bool
  var isOffDuty: Bool
  var waiting: Int
}

/// A run for an engineer to read: events, decisions, and their reasons.
extension World {
  /// The picture, and the transcript without details.
  var story: String {
    let lines = transcript.filter { !$0.isDetail }.map(\.description)
    return "\(scenario.source)\n\n\(picture)\n\n\(lines.joined(separator: "\n"))\n"
  }

  /// A time in seconds, rounded to the millisecond, right-aligned in a column of this width.
  static func column(_ second: Double, _ width: Int) -> String {
    let milliseconds = Int((second * 1000).rounded())
    let text = "\(milliseconds / 1000).\(String("\(1000 + milliseconds % 1000)".dropFirst()))"
    return String(repeating: " ", count: max(width - text.count, 0)) + text
  }

  // MARK: - Events

  /// Notes the faults that begin or end in this second, and records the second for the picture.
  func noteFaults(second: Int) {
    guard isTranscribing else { return }
    for fault in scenario.faults {
      let whose = fault.source > 0 ? " of source \(fault.source)" : ""
      if max(fault.from, 1) == second, fault.until > second {
        note("* fault \(fault.kind)\(whose) begins, until \(fault.until) s")
      } else if fault.until == second {
        note("* fault \(fault.kind)\(whose) ends")
      }
    }
    let isPaused = pauseNote != nil
    pictured.append(
      PictureSecond(
        isOff: isOff, hasFix: hasFixSinceTick, isPaused: isPaused, isOffDuty: dutyNote != nil, waiting: copy.count))
    hasFixSinceTick = false
  }

  /// Notes the reason why nothing is sent, if it differs from the previous one.
  func noteCause(_ plan: Plan, of vehicle: VehicleAgent) {
    guard let cause = plan.cause.map(CauseCase.init), cause != lastCause else { return }
    lastCause = cause
    let explanation = Explanation(vehicle.snapshot(at: moment))
    note("? \(explanation.reason): \(explanation.sentence)", isDetail: cause == .inFlight)
  }

  static func isDetail(_ input: Daemon.Input) -> Bool {
    switch input {
    case .vehicle(.source(_, .fix(_))), .line, .deadline, .measured, .sources, .launched, .start, .pauseStored,
      .dutyStored,
      .watchdog, .vehicle(.runStateFound), .vehicle(.updateFormFound):
      true
    case .storeEnded(let outcome): if case .failed = outcome { false } else { true }
    default: false
    }
  }

  static func isDetail(_ effect: Daemon.Effect) -> Bool {
    switch effect {
    case .connect, .storeRunState, .storeToken, .storeUpdateForm, .line, .showStatus, .measure, .writeMetrics,
      .storeTraffic, .readSettings, .readKeptSettings, .useSettings, .ready, .store, .monitor, .lockVehicle, .position,
      .servePositions:
      true
    default: false
    }
  }

  static func isDetail(_ message: Daemon.Message) -> Bool {
    switch message {
    case .toVehicle(.source(_, .fix(_))), .toVehicle(.source(_, .sky(_))), .fromVehicle(.backlog(.changed(_))): true
    default: false
    }
  }

  /// A short description of an update; times are those of the positions, in seconds since boot.
  static func brief(_ request: HTTPRequest) -> String {
    guard let body = StrictJSON(request.body)?.object else { return "\(request.method) \(request.url)" }
    func second(_ location: StrictJSON?) -> String {
      guard let text = location?.object?["supplementalLocationTime"]?.string, let time = Timestamp(rfc3339: text) else {
        return "no time"
      }
      return "\(column((time - Scenario.boot).inSeconds, 0)) s"
    }
    var parts: [String] = []
    if let live = body["lastLocation"] { parts.append("the position of \(second(live))") }
    if let past = body["pastLocations"]?.array {
      parts.append("\(past.count) past of \(second(past.first)) to \(second(past.last))")
    }
    if let state = body["vehicleState"]?.string { parts.append(state) }
    if request.contentCoding == .identity { parts.append("plain") }
    if request.usesNewConnection { parts.append("on a new connection") }
    return parts.joined(separator: ", ")
  }

  // MARK: - The picture

  /// Rows of characters over the time of the run.
  private var picture: String {
    let perColumn = max((scenario.duration + 99) / 100, 1)
    let columns = (scenario.duration + perColumn - 1) / perColumn
    var rows: [(name: String, text: String)] = []
    func add(_ name: String, _ character: (Range<Int>) -> Character) {
      let text = (0..<columns).map { character($0 * perColumn..<($0 + 1) * perColumn) }
      rows.append((name, String(text)))
    }
    func any(_ range: Range<Int>, _ matches: (PictureSecond) -> Bool) -> Bool {
      pictured[min(range.lowerBound, pictured.count)..<min(range.upperBound, pictured.count)].contains(where: matches)
    }
    for fault in scenario.faults {
      let name = "\(FaultCase(fault.kind))" + (fault.source > 0 ? " (\(fault.source))" : "")
      add(name) { $0.overlaps(fault.from..<max(fault.until, fault.from + 1)) ? "#" : "." }
    }
    add("off") { any($0, \.isOff) ? "#" : "." }
    add("fix") { any($0, \.hasFix) ? "+" : "." }
    add("update") { range in
      let sent = attempts.filter { range.contains(Int(World.seconds($0.at))) }
      if sent.isEmpty { return "." }
      return sent.allSatisfy(\.isAccepted) ? "+" : sent.contains(where: \.isAccepted) ? "*" : "x"
    }
    add("waiting") { range in
      let most = pictured.indices.filter(range.contains).map { pictured[$0].waiting }.max() ?? 0
      return most > 9 ? "#" : Character("\(most)")
    }
    if pictured.contains(where: \.isPaused) { add("paused") { any($0, \.isPaused) ? "#" : "." } }
    if pictured.contains(where: \.isOffDuty) { add("off duty") { any($0, \.isOffDuty) ? "#" : "." } }
    let width = rows.map(\.name.count).max() ?? 0
    let axis = stride(from: 0, to: columns, by: 10).map { column in
      let text = "\(column * perColumn)"
      return text + String(repeating: " ", count: max(10 - text.count, 1))
    }.joined()
    let head = "s" + String(repeating: " ", count: max(width - 1, 0)) + "  \(axis)"
    return ([head] + rows.map { $0.name + String(repeating: " ", count: width - $0.name.count) + "  \($0.text)" })
      .joined(separator: "\n")
  }
}
