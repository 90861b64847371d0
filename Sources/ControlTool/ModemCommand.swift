// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import EventLoop
import ExternalInput
import MessageBus
import FixSources
import SystemCalls
import Timekeeping

/// `fleet-locationctl modem enable`: switches on the GNSS receiver of a modem, as root; the service itself may not.
enum ModemCommand: Command {
  static let name = "modem"
  static let summary = "switch on the GNSS receiver of a modem"
  static let options = SettingsChoice.options + [CommandLineOptions.Option("wait", takesValue: true)]
  static let usage = """
    Usage: fleet-locationctl modem enable [--wait SECONDS] [--config FILE | --instance NAME]
    Asks ModemManager to switch on the GNSS receiver of each modem that the settings name with type = "modemmanager". The
    service itself may only read positions: permission to switch the receiver on would also permit resetting the modem and
    entering PINs. The receiver stays on until the modem is reset or loses power, or ModemManager restarts.

          --wait SECONDS     how long to wait for the modem, 1 to 3600 (default 0)
    \(SettingsChoice.usage)

    Exit status: 0 if every receiver is on, 69 if one is not, 77 if this user may not do this or read the settings, 78 if
    the settings of the sources are invalid or name no modem.

    """

  /// Maximum time for a modem to switch its receiver on.
  private static let enableTimeout = Duration.seconds(70)

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
    let settings: Settings
    do throws(ConfigurationError) {
      settings = try SettingsFile.load(path: path, environment: .system, using: .source).settings
    } catch {
      throw CommandError(error)
    }
    let selections: [ModemSelection] = settings.sources.compactMap {
      if case .modemManager(let modem) = $0.kind { modem.selection } else { nil }
    }
    guard !selections.isEmpty else {
      throw CommandError(.configuration, "\(path): has no source of type = \"modemmanager\"")
    }
    let loop: EventLoop
    do { loop = try EventLoop() } catch { throw CommandError(.io, error.message) }
    let start = loop.now.boot
    var pending = selections
    var failures: [CommandError] = []
    // First those that are there: none waits for one that is absent.
    for end in limit.map({ [start, start + $0] }) ?? [start] {
      let selections = pending
      (pending, failures) = ([], [])
      for selection in selections {
        do throws(CommandError) {
          _ = try StandardOutput.write(try enable(selection, until: end, loop) + "\n")
        } catch {
          pending.append(selection)
          failures.append(error)
        }
      }
    }
    guard let first = failures.first else { return 0 }
    throw CommandError(first.code, failures.map(\.message).joined(separator: "\n"))
  }

  /// - Returns: the line to print about it.
  private static func enable(
    _ selection: ModemSelection, until end: BootInstant, _ loop: EventLoop
  ) throws(CommandError) -> String {
    var reply: ModemSession.Input?
    var hasChanged = false
    let client: ModemManagerClient
    do {
      client = try ModemManagerClient(loop: loop) { if $0 == .changed { hasChanged = true } else { reply = $0 } }
    } catch {
      throw CommandError(.unavailable, "the D-Bus system bus is not available: systemctl status dbus")
    }
    defer { client.close() }
    while true {
      reply = nil
      hasChanged = false
      client.list()
      try run(loop, until: loop.now.boot + enableTimeout) { reply != nil }
      let failure: String
      switch reply {
      case .modems(let modems):
        switch selection.step(among: modems) {
        case .read(let modem): return "The receiver of \(modem.name) is on"
        case .wait(let why): failure = why.withAdvice.text
        case .enable(let modem, let sources):
          reply = nil
          client.enable(sources.union(modem.location?.enabled ?? []), of: modem.path)
          try run(loop, until: loop.now.boot + enableTimeout) { reply != nil }
          switch reply {
          case .enabled: return "The receiver of \(modem.name) is on now"
          case .refused(.unauthorized):
            throw CommandError(
              .permission, "this user may not switch on the receiver of \(modem.name); run this as root")
          case .refused(.wrongState): failure = ModemProblem.wrongState(modem).withAdvice.text
          case .refused: throw CommandError(.unavailable, "ModemManager refused: \(ExternalText(client.errorMessage))")
          default: throw CommandError(.unavailable, "ModemManager does not answer: systemctl status ModemManager")
          }
        }
      case .refused(.absent): failure = ModemProblem.noModemManager.withAdvice.text
      default: throw CommandError(.unavailable, "ModemManager does not answer: systemctl status ModemManager")
      }
      guard loop.now.boot < end else { throw CommandError(.unavailable, failure) }
      try run(loop, until: end) { hasChanged }
    }
  }

  private static func run(
    _ loop: EventLoop, until deadline: BootInstant, or isDone: () -> Bool
  ) throws(CommandError) {
    do {
      while !isDone(), loop.now.boot < deadline { _ = try loop.runOnce(timeout: deadline - loop.now.boot) }
    } catch {
      throw CommandError(.io, error.message)
    }
  }
}
