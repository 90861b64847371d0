// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Diagnosis
import ExternalInput
import FleetEngine
import Glibc
import GzipCoding
import JSON
import SystemCalls
import Timekeeping

/// `fleet-locationctl report`: one archive with what support needs, without secrets and coordinates.
enum ReportCommand: Command {
  static let name = "report"
  static let summary = "write an archive for support: checks, state, settings, journal, unit, versions, last crash"
  static let options =
    SettingsChoice.options + [
      CommandLineOptions.Option("socket", takesValue: true),
      CommandLineOptions.Option("output", short: "o", takesValue: true),
      CommandLineOptions.Option("positions"), CommandLineOptions.Option("list"),
    ]
  static let usage = """
    Usage: fleet-locationctl report [--output FILE] [--positions] [--list] [--config FILE | --instance NAME]
                                    [--socket PATH]
    Writes a compressed archive (.tar.gz) for support, whether the daemon runs or not: the checks of doctor, which take up
    to a minute, the state of the daemon, every setting, the journal of the last 24 hours, the unit with its drop-ins, the
    releases of programs, and the last crash. Before it is written its contents are listed. Secrets and coordinates are
    masked. Run it as root: other users see less.

      -o, --output FILE      the archive; it must not exist (default: fleet-locationd-report-TIME.tar.gz in this
                             directory). Only its owner may read it
          --positions        include coordinates: those in the journal (log.positions), and the shape of the track of the
                             last ten minutes
          --list             list the contents and write nothing
    \(SettingsChoice.usage)
          --socket PATH      the daemon's control socket (default: that of the installed service)

    Exit status: 0 if the archive was written, 74 if it cannot be, 77 if this user may not read the settings.

    """

  /// Longer than `doctor` takes when it runs as the service.
  private static let timeLimit = Duration.seconds(330)

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    if let operand = options.operands.first {
      throw CommandError(.usage, "report: unexpected \"\(operand)\": the archive is named with --output")
    }
    let path = try SettingsChoice.path(options)
    let programs = try ProgramRunner()
    let now = programs.now.wall
    let output =
      options.value("output")
      ?? "fleet-locationd-report-\(now.rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" })Z.tar.gz"
    if !options.has("list") {
      guard FileAccess.error(output, F_OK) != nil else {
        throw CommandError(.io, "\(output): exists already; name another file with --output")
      }
      // This is checked before doctor runs, which takes up to a minute.
      if let why = FileAccess.error(AtomicFile.directory(of: output), W_OK | X_OK) {
        throw CommandError(.io, "\(output): cannot be written: \(why); name another file with --output, as in /tmp")
      }
    }
    guard let toolPath = ProgramRunner.ownToolPath else { throw CommandError(.io, "/proc is not mounted") }
    let service = InstalledService(settings: path)
    var report = SupportReport(Redaction(names: names(path), keepsPositions: options.has("positions")))
    var isDaemonRunning: Bool?
    for part in SupportReport.parts(
      unit: service?.unit, settings: settingsArguments(options, path),
      socket: options.value("socket") ?? service?.socket)
    {
      let collected = part.sources.map { collect($0, programs, toolPath) }
      if part.name == SupportReport.stateFile { isDaemonRunning = collected.contains { !$0.output.isEmpty } }
      report.add(part, collected)
    }
    report.finish()
    _ = try StandardOutput.write(report.listing(isDaemonRunning: isDaemonRunning))
    guard !options.has("list") else { return 0 }
    guard let archive = GzipEncoder().encode(report.archive(time: now.milliseconds / 1000)) else {
      throw CommandError(.io, "no memory for the archive")
    }
    do throws(Errno) {
      try AtomicFile.write(archive, to: output, mode: 0o600, isDurable: true, isUserDirectory: true)
    } catch {
      throw CommandError(.io, "\(output): cannot be written: \(error)")
    }
    return try StandardOutput.write("Written: \(output), \(archive.count) bytes\n")
  }

  private static func settingsArguments(_ options: CommandLineOptions, _ path: String) -> [String] {
    options.value("instance").map { ["--instance", $0] } ?? ["--config", path]
  }

  /// The names of provider and vehicle; empty if the settings cannot be read.
  private static func names(_ path: String) -> [String] {
    ServiceCredentials.adopt(for: path)
    return SettingsCheck(path: path, environment: .system).settings?.vehicle.names ?? []
  }

  private static func collect(
    _ source: SupportReport.Source, _ programs: ProgramRunner, _ toolPath: String
  ) -> SupportReport.SourceResult {
    switch source {
    // 1: a check has failed, or the vehicle is not online.
    case .command(let words): return programs.run([toolPath] + words, within: timeLimit, accepting: [0, 1])
    case .program(let words): return programs.run(words, within: .seconds(60))
    case .file(let path):
      // Files of /proc have no size.
      let lines = SystemFile.lines(path)
      guard !lines.isEmpty else { return SupportReport.SourceResult(output: [], failure: "cannot be read") }
      return SupportReport.SourceResult(output: Array(lines.joined(separator: "\n").utf8), failure: nil)
    }
  }
}
