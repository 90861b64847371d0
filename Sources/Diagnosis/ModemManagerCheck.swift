// SPDX-License-Identifier: Apache-2.0
import Configuration
import EventLoop
import ExternalInput
import MessageBus
import Positioning
import SystemCalls
import Timekeeping

/// The receiver of a modem: found, and asked until it gives a position that is new.
struct ModemManagerCheck: Check {
  /// A modem gives a position a second.
  private static let span = Duration.seconds(8)
  private static let answerLimit = Duration.seconds(12)

  let name: String
  let settings: ModemManagerSettings
  let surroundings: Doctor.Surroundings

  var title: String { "\(name): \(SourceKind.modemManager(settings).name)" }

  func run(_ report: (Finding) -> Void) {
    let loop = surroundings.loop
    var answer: ModemSession.Input?
    let client: ModemManagerClient
    do {
      client = try ModemManagerClient(loop: loop) { if $0 != .changed { answer = $0 } }
    } catch {
      return report(.fail("there is no message bus", "apt install dbus; systemctl status dbus"))
    }
    defer { client.close() }
    /// Asks one question.
    func ask(_ question: () -> Void) -> ModemSession.Input? {
      answer = nil
      question()
      try? loop.turn(until: loop.now.boot + ModemManagerCheck.answerLimit) { answer != nil }
      return answer
    }
    guard case .modems(let modems)? = ask({ client.list() }) else {
      return report(ModemManagerCheck.finding(answer, client.words))
    }
    let modem: Modem
    switch settings.selection.step(among: modems) {
    case .wait(let trouble): return report(.fail(trouble.what, trouble.advice))
    case .enable(let found, _):
      let what = "the receiver of \(found.name) is off"
      let advice =
        "\(ModemTrouble.mayNotEnable(found).advice); the service itself switches it on where polkit grants it "
        + "org.freedesktop.ModemManager1.Device.Control (docs/receivers.md)"
      // A daemon has tried. Without one it is unknown whether it may, and the doctor changes nothing.
      return report(surroundings.isDaemonRunning ? .fail(what, advice) : .warn(what, advice))
    case .read(let found): modem = found
    }
    report(.pass("\(modem.name), and its receiver is on"))
    if modem.location?.isSignalled == true {
      report(
        .warn(
          "another program has it send its positions to every user of this machine",
          "sudo mmcli -m \(modem.number) --location-set-disable-signal, if that program can do without"))
    }
    var hearing = ModemSession(
      selection: ModemSelection(device: modem.path), silenceTimeout: ModemManagerCheck.span, seed: 0)
    var told: ReceiverHearing.Told?
    var inView: Int?
    var isRead = false
    var loss: String?
    var inputs: [ModemSession.Input] = [.start, .connected, .modems([modem])]
    let end = loop.now.boot + ModemManagerCheck.span
    while told == nil, loop.now.boot < end || !inputs.isEmpty {
      guard !inputs.isEmpty else {
        let due = min(hearing.nextDeadline ?? end, end)
        try? loop.turn(until: due) { false }
        inputs.append(.deadline)
        continue
      }
      for effect in hearing.handle(inputs.removeFirst(), at: loop.now.boot) {
        switch effect {
        case .locate(let path):
          let position = ask { client.locate(path) }
          if case .refused? = position { return report(ModemManagerCheck.finding(position, client.words)) }
          inputs.append(position ?? .refused(.silent))
        case .report(.fix(let fix)): told = ReceiverHearing.Told(fix: fix, at: loop.now)
        case .report(.sky(let count)): inView = count
        case .report(.reading): isRead = true
        case .report(.lost(let why)): loss = why
        default: break
        }
      }
    }
    report(.pass("this user may read its positions"))
    if let told {
      report(.pass("a fix: \(FixText.quality(told.fix))"))
      for finding in ClockFindings.findings(told, buildDate: surroundings.buildDate) { report(finding) }
    } else if isRead {
      report(
        .warn(
          "no fix\(FixText.inView(inView))",
          "It needs a view of the sky and, after a while without power, some minutes; is its antenna connected?"))
    } else {
      let trouble = ModemTrouble.silent(modem, for: ModemManagerCheck.span)
      report(
        .fail(
          loss ?? "nothing new from it in \(ModemManagerCheck.span.wholeSeconds) s: ModemManager repeats what it had",
          trouble.advice))
    }
  }

  private static func finding(_ answer: ModemSession.Input?, _ words: String) -> Finding {
    guard case .refused(let refusal)? = answer else {
      return .fail("ModemManager does not answer", "systemctl status ModemManager")
    }
    switch refusal {
    case .absent: return .fail(ModemTrouble.noModemManager.what, ModemTrouble.noModemManager.advice)
    case .unauthorized: return .fail(ModemTrouble.mayNotRead.what, ModemTrouble.mayNotRead.advice)
    case .silent: return .fail("ModemManager does not answer", "systemctl status ModemManager")
    case .gone: return .fail("the modem has just gone", "Check its plug and its power")
    case .wrongState, .other:
      return .fail("ModemManager refuses: \(ExternalText(words))", "See mmcli -m any and journalctl -u ModemManager")
    }
  }
}
