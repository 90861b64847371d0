// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Observability
import Timekeeping

/// A status as rows of text, before they are laid out for a width.
struct StatusRows {
  /// A name and its text.
  struct Row: Equatable {
    var name: String
    var text: StyledText
    /// Rows with a low weight are removed first if the screen is too small.
    var weight: Int
  }

  static let nameWidth = 14

  /// The vehicle's ID and state, for the top line of a screen.
  var vehicle: String
  var state: StyledText
  /// The daemon's release and uptime; empty if the response has neither.
  var daemon: String
  /// Rows that belong together.
  var groups: [[Row]]
  /// The newest events first, each with its age and its sentence.
  var events: [(age: String, text: StyledText)]
  var sketch: TrackSketch?
  /// Updates in the last few minutes, for a row of bars.
  var updateBars: UpdateBars?

  init(_ status: StatusReport) {
    vehicle = status.vehicle ?? "vehicle"
    state = StatusRows.state(status)
    daemon = [status.version, status.uptime.map { "up \(StatusRows.durationText($0))" }].compactMap(\.self).joined(
      separator: ", ")
    updateBars = UpdateBars(status.lastMinutes)
    groups = [
      StatusRows.updates(status, updateBars), StatusRows.positions(status), StatusRows.tokenAndBacklog(status),
    ]
    events = (status.events ?? []).map { event in
      let (prefix, style): (String, TextStyle) =
        switch event.level {
        case "error": ("error: ", .bad)
        case "warning": ("warning: ", .warning)
        default: ("", .plain)
        }
      var text = StyledText(prefix, style)
      text.append(StatusRows.shortened(event.sentence, status))
      if event.times > 1 { text.append(" (\(event.times) times)", .faint) }
      return (StatusRows.durationText(event.age), text)
    }
    sketch = TrackSketch(status.track)
  }

  /// The same rows with other words.
  func rewording(_ reword: (String) -> String) -> StatusRows {
    var result = self
    for group in groups.indices {
      for row in groups[group].indices { result.groups[group][row].text = groups[group][row].text.rewording(reword) }
    }
    result.events = events.map { (age: $0.age, text: $0.text.rewording(reword)) }
    return result
  }

  /// The first row of a status that is printed once; `status --watch` has a top line instead.
  var title: Row {
    Row(
      name: "Vehicle", text: StyledText(vehicle, .strong) + StyledText(daemon.isEmpty ? "" : ", \(daemon)"), weight: 9)
  }

  // MARK: - State and updates

  /// The state that the daemon reports; earlier releases report only whether it is online.
  private static func state(_ status: StatusReport) -> StyledText {
    guard let state = status.state else {
      return status.isOnline ? StyledText("online", .good) : StyledText("not online", .warning)
    }
    let style: TextStyle =
      switch state.level {
      case "good": .good
      case "warning": .warning
      default: .bad
      }
    return StyledText(state.label, style)
  }

  /// The problem that the state's row names, which the other rows do not repeat; nil if it names none.
  private static func problem(_ status: StatusReport) -> String? {
    guard let state = status.state, state.level != "good" else { return nil }
    return state.detail.parts(around: ": ").map { String($0.after) }
  }

  /// A sentence in which the problem that the state's row names is replaced by "as above".
  private static func shortened(_ sentence: String, _ status: StatusReport) -> String {
    guard let parts = problem(status).flatMap({ sentence.parts(around: $0) }) else { return sentence }
    return "\(parts.before)as above\(parts.after)"
  }

  /// - Parameter trouble: what follows the name of a state; nil for nothing.
  private static func detail(_ trouble: String?, _ status: StatusReport) -> StyledText {
    guard let trouble, trouble != problem(status) else { return StyledText() }
    return StyledText(": \(trouble)")
  }

  private static func updates(_ status: StatusReport, _ updateBars: UpdateBars?) -> [Row] {
    var rows = [Row(name: "State", text: state(status) + StyledText(status.state?.detail ?? ""), weight: 10)]
    if let advice = status.state?.advice {
      rows.append(Row(name: "What to do", text: StyledText(advice), weight: 6))
    }
    rows.append(Row(name: "Last update", text: StyledText(lastUpdate(status)), weight: 9))
    if let outcome = status.lastOutcome, outcome.result != "accepted" {
      rows.append(
        Row(
          name: "Last attempt",
          text: StyledText("\(outcome.result), \(durationText(outcome.age)) ago, after \(latency(outcome))"),
          weight: 3))
    }
    if let duty = duty(status) { rows.append(Row(name: "Duty", text: duty, weight: 8)) }
    rows.append(Row(name: "Next update", text: StyledText(status.nextRequest ?? "not known"), weight: 7))
    if let form = status.updateForm, let reason = form.reason, !form.isSet {
      rows.append(Row(name: "Form", text: StyledText("\(form.form): \(reason)"), weight: 2))
    }
    if let settings = settings(status) {
      rows.append(Row(name: "Settings", text: settings, weight: 8))
    }
    if let updateBars {
      // The first minute may have begun before the daemon.
      let span = min(Int64(updateBars.count) * 60, status.uptime ?? .max)
      rows.append(Row(name: "Last \(durationText(span))", text: StyledText(updateBars.summary), weight: 2))
    }
    return rows
  }

  /// Nil for a vehicle whose state the daemon does not set.
  private static func duty(_ status: StatusReport) -> StyledText? {
    guard let duty = status.duty else { return nil }
    guard duty == "OFFLINE" else {
      return StyledText("on duty") + StyledText(status.isPaused ? ", OFFLINE during the pause" : "")
    }
    let since = status.offDutySince.map { " since \($0)" } ?? ""
    return StyledText("off duty", .warning)
      + StyledText("\(since), fleet-locationctl online ends it")
      + StyledText(status.isOfflinePending == true ? "; OFFLINE not accepted yet" : "", .warning)
  }

  /// Nil if the settings of the files are in force.
  static func settings(_ status: StatusReport) -> StyledText? { status.settings.flatMap(settings) }

  private static func settings(_ settings: StatusReport.Settings) -> StyledText? {
    if let why = settings.takenBack {
      return StyledText("the previous settings", .bad)
        + StyledText(", because the settings in the files were reverted: \(why)")
    }
    if let why = settings.unconfirmed { return StyledText("not confirmed", .bad) + StyledText(": \(why)") }
    if let confirmation = settings.confirmation {
      return StyledText("not confirmed yet", .warning) + StyledText(": \(confirmation.sentence)")
    }
    if let mistake = settings.mistake {
      return StyledText("last ones that worked", .bad)
        + StyledText(", because the files have a mistake: \(SettingsStatus.summary(of: mistake))")
    }
    return settings.lastReload?.mistake.map {
      StyledText("reload failed", .bad)
        + StyledText(", the previous ones are in force: \(SettingsStatus.summary(of: $0))")
    }
  }

  private static func lastUpdate(_ status: StatusReport) -> String {
    guard let age = status.lastUpdate else { return "none yet" }
    guard let outcome = status.lastOutcome, outcome.result == "accepted" else { return "\(durationText(age)) ago" }
    let past = outcome.past > 0 ? ", with \(outcome.past.counted("past position"))" : ""
    let transport = status.transport.map { " over \($0)" } ?? ""
    return "\(durationText(age)) ago\(past), answered in \(latency(outcome))\(transport)"
  }

  private static func latency(_ outcome: StatusReport.Outcome) -> String {
    outcome.milliseconds < 10_000 ? "\(outcome.milliseconds) ms" : durationText(outcome.milliseconds / 1000)
  }

  // MARK: - Positions

  private static func positions(_ status: StatusReport) -> [Row] {
    let newest = Row(
      name: "Fix",
      text: status.fix.map { fix($0, isLost: status.withoutFix != nil) } ?? StyledText("none yet", .warning), weight: 8)
    let lastFix = status.lastFix ?? status.explanation.sentence
    return sources(status) + lines(status) + [newest]
      + (lastFix.isEmpty ? [] : [Row(name: "Last fix", text: StyledText(lastFix), weight: 4)])
  }

  /// One row for each of several sources: whether it is used, or why not.
  private static func sources(_ status: StatusReport) -> [Row] {
    // If a source is selected, `sourceTrouble` says why it is not read, for example during a pause.
    let troubleSuffix = status.sourceTrouble.map { ", \($0)" } ?? ""
    guard let sources = status.sources else {
      let text =
        status.source.map { StyledText($0 + troubleSuffix) }
        ?? StyledText("none", .bad) + detail(status.sourceTrouble ?? "no data yet", status)
      return [Row(name: "Source", text: text, weight: 7)]
    }
    let used = sources.first(where: \.isUsed)?.name
    return [
      Row(
        name: "Source",
        text: used.map { StyledText($0 + troubleSuffix) }
          ?? StyledText("none of the \(sources.count) has accepted fixes", .bad),
        weight: 7)
    ]
      + sources.enumerated().map { index, source in
        Row(
          name: "  \(index + 1)",
          text: StyledText("\(source.isUsed ? "used: " : "")\(shortened(source.explanation, status))"),
          weight: 3)
      }
  }

  /// One row for each problem of a serial line or of datagrams; none if all is well.
  private static func lines(_ status: StatusReport) -> [Row] {
    (status.lines ?? []).flatMap { line in
      ([line.trouble].compactMap(\.self) + line.senderWarnings.map(\.sentence.text)).map {
        Row(name: "Line", text: StyledText($0, .warning) + StyledText(" (\(line.source))"), weight: 6)
      }
    }
  }

  private static func fix(_ fix: StatusReport.Fix, isLost: Bool) -> StyledText {
    var words = ["\(fix.mode)D", fix.quality]
    if let accuracy = fix.horizontalAccuracy { words.append("±\(Int(max(min(accuracy, 9999), 0).rounded(.up))) m") }
    words.append("\(durationText(fix.age)) old")
    if let satellites = fix.satellites { words.append(satellites.counted("satellite")) }
    if fix.isParked { words.append("parked") }
    let text = StyledText(words.joined(separator: ", "))
    return isLost ? StyledText("lost", .warning) + StyledText(": ") + text : text
  }

  // MARK: - Token, backlog, clock and traffic

  private static func tokenAndBacklog(_ status: StatusReport) -> [Row] {
    func count(_ name: String) -> Int { status.counters[name, default: 0] }
    let rejected = status.counters.filter { $0.key.hasPrefix("rejected.") }.values.reduce(0, &+)
    return [
      Row(name: "Token", text: token(status), weight: 6),
      Row(name: "Backlog", text: backlog(status.backlog), weight: 5),
    ] + clock(status) + traffic(status) + [
      Row(
        name: "Since start",
        text: StyledText(
          "\(count("accepted")) of \(count("attempts").counted("update")) accepted, "
            + "\(count("backfilled").counted("past position")), "
            + "\(rejected) of \(count("fixes").counted("fix", "fixes")) rejected"), weight: 1)
    ]
  }

  private static func token(_ status: StatusReport) -> StyledText {
    let since = status.tokenTroubleSince.map { " for \(durationText($0))" } ?? ""
    guard let lifetime = status.token else {
      return status.tokenTrouble.map { StyledText("none", .bad) + StyledText(since) + detail($0, status) }
        ?? StyledText("none yet")
    }
    let trouble = status.tokenTrouble.map {
      StyledText("; no new one", .warning) + StyledText(since) + detail($0, status)
    }
    return StyledText("valid for \(durationText(lifetime))") + (trouble ?? StyledText())
  }

  /// One row if the machine's clock is wrong, otherwise none.
  private static func clock(_ status: StatusReport) -> [Row] {
    guard let offset = status.clockOffset else { return [] }
    let size = durationText(Int64(clamping: offset.magnitude))
    return [
      Row(
        name: "Clock", text: StyledText("this machine's clock is \(size) \(offset < 0 ? "behind" : "ahead")", .warning),
        weight: 5)
    ]
  }

  /// One row if the date is known, otherwise none: the data volume is counted for each day.
  private static func traffic(_ status: StatusReport) -> [Row] {
    guard let traffic = status.traffic, case let today = traffic.today else { return [] }
    let retransmitted = today.retransmitted > 0 ? " (\(today.retransmitted.dataVolumeText) retransmitted)" : ""
    let perUpdate = today.perUpdate.map { ", \($0.dataVolumeText) per update" } ?? ""
    let month = (traffic.month.sent &+ traffic.month.received).dataVolumeText
    return [
      Row(
        name: "Traffic",
        text: StyledText(
          "today \(today.sent.dataVolumeText) sent\(retransmitted), "
            + "\(today.received.dataVolumeText) received\(perUpdate); this month \(month)"),
        weight: 2)
    ]
  }

  private static func backlog(_ backlog: StatusReport.Backlog) -> StyledText {
    var text = StyledText(backlog.count.counted("position"))
    if let age = backlog.oldestAge { text.append(", the oldest \(durationText(age)) old") }
    switch backlog.store {
    case "disk": text.append("; on disk\(backlog.bytes.map { " (\($0 / 1024 + ($0 % 1024 > 0 ? 1 : 0)) kB)" } ?? "")")
    case "memory":
      text.append("; ")
      text.append("in memory only", .warning)
      text.append(": \(backlog.storeTrouble ?? "")")
    case "unread": text.append("; the file is not read yet")
    default: text.append("; in memory: backlog.directory is not set")
    }
    let lost = backlog.removed.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
    if !lost.isEmpty { text.append("; removed: \(lost.joined(separator: ", "))") }
    return text
  }

  /// - Parameter seconds: a duration in the daemon's response.
  static func durationText(_ seconds: Int64) -> String { Duration.seconds(seconds).humanReadable }
}
