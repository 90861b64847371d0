// SPDX-License-Identifier: Apache-2.0
import Observability
import Configuration
import EventLoop
import ExternalInput
import MessageBus
import FixSources
import Timekeeping

/// The receiver of a modem: finds it, and reads its positions until a new one arrives.
struct ModemManagerCheck: Check {
  /// A modem has a new position every second.
  private static let positionTimeout = Duration.seconds(8)
  private static let replyTimeout = Duration.seconds(12)

  let name: String
  let settings: ModemManagerSettings
  let environment: Doctor.Environment

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): \(SourceKind.modemManager(settings).name)" }

  func run(_ report: (Finding) -> Void) {
    let loop = environment.loop
    var reply: ModemSession.Input?
    let client: ModemManagerClient
    do {
      client = try ModemManagerClient(loop: loop) { if $0 != .changed { reply = $0 } }
    } catch {
      return report(
        .fail(.modemManagerFailed, "the D-Bus system bus is not available", "apt install dbus; systemctl status dbus"))
    }
    defer { client.close() }
    /// Makes one request, and waits for its reply.
    func ask(_ request: () -> Void) -> ModemSession.Input? {
      reply = nil
      request()
      try? loop.run(until: loop.now.boot + ModemManagerCheck.replyTimeout) { reply != nil }
      return reply
    }
    guard case .modems(let modems)? = ask({ client.list() }) else {
      return report(ModemManagerCheck.finding(reply, client.errorMessage))
    }
    let modem: Modem
    switch settings.selection.step(among: modems) {
    case .wait(let trouble): return report(.fail(.modemUnusable, trouble))
    case .enable(let found, _):
      // A running daemon has tried to enable it and failed. Without a daemon it is unknown whether it may, and this
      // check changes nothing.
      return report(
        environment.isDaemonRunning
          ? .fail(.modemOff, ModemProblem.mayNotEnable(found))
          : .warn(
            .modemOff, "the receiver of \(found.name) is off",
            "The service switches it on if polkit grants it org.freedesktop.ModemManager1.Device.Control "
              + "(\(ManualPage.receivers)); otherwise: sudo fleet-locationctl modem enable"))
    case .read(let found): modem = found
    }
    report(.pass("\(modem.name), and its receiver is on"))
    if modem.location?.isSignalled == true {
      report(
        .warn(
          .positionsExposed, "another program makes the modem broadcast its positions to every user of this machine",
          "sudo mmcli -m \(modem.number) --location-set-disable-signal, if that program does not need it"))
    }
    var session = ModemSession(
      selection: ModemSelection(device: modem.path), silenceTimeout: ModemManagerCheck.positionTimeout, seed: 0)
    var received: ReceiverProbe.ReceivedFix?
    var inView: Int?
    var isRead = false
    var loss: String?
    var inputs: [ModemSession.Input] = [.start, .opened, .modems([modem])]
    let end = loop.now.boot + ModemManagerCheck.positionTimeout
    while received == nil, loop.now.boot < end || !inputs.isEmpty {
      guard !inputs.isEmpty else {
        let due = min(session.nextDeadline ?? end, end)
        try? loop.run(until: due) { false }
        inputs.append(.deadline)
        continue
      }
      for effect in session.handle(inputs.removeFirst(), at: loop.now.boot) {
        switch effect {
        case .locate(let path):
          let position = ask { client.locate(path) }
          if case .refused? = position { return report(ModemManagerCheck.finding(position, client.errorMessage)) }
          inputs.append(position ?? .refused(.silent))
        case .report(.fix(let fix)): received = ReceiverProbe.ReceivedFix(fix: fix, at: loop.now)
        case .report(.sky(let count)): inView = count
        case .report(.reading): isRead = true
        case .report(.lost(let why)): loss = why
        default: break
        }
      }
    }
    report(.pass("this user may read its positions"))
    if let received {
      report(.pass("a fix: \(FixText.quality(received.fix))"))
      for finding in ClockFindings.findings(received, buildDate: environment.buildDate) { report(finding) }
    } else if isRead {
      report(.warn(.noFix, "no fix\(FixText.inView(inView))", SkyAdvice.text(inView: inView)))
    } else {
      report(
        .fail(
          .receiverSilent,
          loss
            ?? "no new position within \(ModemManagerCheck.positionTimeout.wholeSeconds) s: "
            + "ModemManager repeats the last one",
          "Check its GNSS antenna; see mmcli -m \(modem.number) --location-get"))
    }
  }

  private static func finding(_ reply: ModemSession.Input?, _ message: String) -> Finding {
    guard case .refused(let refusal)? = reply else {
      return .fail(.modemManagerFailed, "ModemManager does not answer", "systemctl status ModemManager")
    }
    switch refusal {
    case .absent: return .fail(.modemManagerFailed, ModemProblem.noModemManager)
    case .unauthorized: return .fail(.modemDenied, ModemProblem.mayNotRead)
    case .silent: return .fail(.modemManagerFailed, "ModemManager does not answer", "systemctl status ModemManager")
    case .gone: return .fail(.modemUnusable, "the modem has just disappeared", "Check its plug and its power")
    case .wrongState, .other:
      return .fail(
        .modemManagerFailed, "ModemManager refused: \(ExternalText(message))",
        "See mmcli -m any and journalctl -u ModemManager")
    }
  }
}
