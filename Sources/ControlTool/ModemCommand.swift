// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import EventLoop
import ExternalInput
import MessageBus
import Positioning
import SystemCalls
import Timekeeping

/// `fleet-locationctl modem enable`: the receiver in a modem is switched on, by root, for a service that may not do that.
enum ModemCommand: Command {
  static let name = "modem"
  static let summary = "switch the receiver of a modem on, for the service to read"
  static let options = SettingsChoice.options + [CommandLineOptions.Option("wait", takesValue: true)]
  static let usage = """
    Usage: fleet-locationctl modem enable [--wait SECONDS] [--config FILE | --instance NAME]
    Has ModemManager switch on the receiver of each modem that the settings name with type = "modemmanager". The service may
    read positions, and no more: the right to switch the receiver on would be one to reset the modem and to enter PINs too.
    The receiver stays on until the modem is reset, loses its power, or ModemManager is started again.

          --wait SECONDS     how long to wait for the modem, 1 to 3600 (default 0)
    \(SettingsChoice.usage)

    Exit status: 0 when every receiver is on, 69 when one is not, 77 when this user may not do it or read the settings,
    78 when the settings are at fault or name no modem.

    """

  /// How long a modem may take.
  private static let enableLimit = Duration.seconds(70)

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    guard options.operands == ["enable"] else {
      throw CommandError(.usage, "modem: \"modem enable\" is expected")
    }
    let limit = try options.value("wait").map { text throws(CommandError) in
      guard let seconds = Int(text), (1...3600).contains(seconds) else {
        throw CommandError(.usage, "modem: --wait \(text): a whole number of seconds from 1 to 3600 is expected")
      }
      return Duration.seconds(seconds)
    }
    let path = try SettingsChoice.path(options)
    ServiceCredentials.adopt(for: path)
    guard let settings = SettingsCheck(path: path, environment: .system).settings else {
      throw CommandError(.configuration, "\(path): not valid; see fleet-locationctl check")
    }
    let selections: [ModemSelection] = settings.sources.compactMap {
      if case .modemManager(let modem) = $0.kind { modem.selection } else { nil }
    }
    guard !selections.isEmpty else {
      throw CommandError(.configuration, "\(path): has no source of type = \"modemmanager\"")
    }
    for selection in selections {
      _ = try StandardOutput.write(try enable(selection, within: limit ?? .zero) + "\n")
    }
    return 0
  }

  /// - Returns: what was done.
  private static func enable(_ selection: ModemSelection, within limit: Duration) throws(CommandError) -> String {
    let loop: EventLoop
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
    var answer: ModemSession.Input?
    var hasNews = false
    let client: ModemManagerClient
    do {
      client = try ModemManagerClient(loop: loop) { if $0 == .changed { hasNews = true } else { answer = $0 } }
    } catch {
      throw CommandError(.unavailable, "there is no message bus: systemctl status dbus")
    }
    defer { client.close() }
    let end = loop.now.boot + limit
    while true {
      answer = nil
      hasNews = false
      client.list()
      try turn(loop, until: loop.now.boot + enableLimit) { answer != nil }
      let trouble: String
      switch answer {
      case .modems(let modems):
        switch selection.step(among: modems) {
        case .read(let modem): return "The receiver of \(modem.name) is on"
        case .wait(let why): trouble = why.text
        case .enable(let modem, let sources):
          answer = nil
          client.enable(sources.union(modem.location?.enabled ?? []), of: modem.path)
          try turn(loop, until: loop.now.boot + enableLimit) { answer != nil }
          switch answer {
          case .enabled: return "The receiver of \(modem.name) is on now"
          case .refused(.unauthorized):
            throw CommandError(.permission, "switching the receiver of \(modem.name) on is not for this user; be root")
          case .refused(.wrongState): trouble = ModemTrouble.wrongState(modem).text
          case .refused: throw CommandError(.unavailable, "ModemManager refuses: \(ExternalText(client.words))")
          default: throw CommandError(.unavailable, "ModemManager does not answer: systemctl status ModemManager")
          }
        }
      case .refused(.absent): trouble = ModemTrouble.noModemManager.text
      default: throw CommandError(.unavailable, "ModemManager does not answer: systemctl status ModemManager")
      }
      guard loop.now.boot < end else { throw CommandError(.unavailable, trouble) }
      try turn(loop, until: end) { hasNews }
    }
  }

  private static func turn(
    _ loop: EventLoop, until deadline: BootInstant, or isDone: () -> Bool
  ) throws(CommandError) {
    do {
      while !isDone(), loop.now.boot < deadline { _ = try loop.turn(waitingAtMost: deadline - loop.now.boot) }
    } catch {
      throw CommandError(.io, error.message)
    }
  }
}
