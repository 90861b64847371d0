// SPDX-License-Identifier: Apache-2.0
/// The contents of a report for support: what is collected, without secrets and coordinates.
struct SupportReport {
  /// A source of a part.
  enum Source: Equatable {
    /// The output of a command of this program.
    case command([String])
    /// The output of another program, searched for in PATH.
    case program([String])
    case file(String)

    /// The source as a command line.
    var commandLine: String {
      switch self {
      case .command(let words): ([CommandLineTool.name] + words).joined(separator: " ")
      case .program(let words): words.joined(separator: " ")
      case .file(let path): "cat \(path)"
      }
    }
  }

  /// How a part is redacted.
  enum Kind: Equatable {
    /// JSON of this program, which has no secrets.
    case document
    /// Output in which this program has masked secrets.
    case masked
    /// Text without secrets and coordinates: releases, and the line of a crash (docs/crashes.md), whose addresses and
    /// build ID would look like a secret.
    case plain
    case journal
    case unit
  }

  /// A file of the archive.
  struct Part: Equatable {
    var name: String
    /// The title in the list of contents.
    var title: String
    var kind: Kind
    var sources: [Source]
  }

  /// The result of one source.
  struct SourceResult: Equatable {
    var output: [UInt8]
    /// Why it failed, with the beginning of its standard error; nil if it did not.
    var failure: String?
    /// The lines of its standard error, of which only the beginning is kept, if it did not fail.
    var warnings: [String] = []
  }

  /// A file with its content.
  struct File: Equatable {
    var name: String
    var title: String
    var content: [UInt8]
  }

  /// The directory of all files in the archive.
  static let directory = "fleet-locationd-report"
  /// The file that exists only if a daemon answers.
  static let stateFile = "status.json"
  /// Maximum number of lines of the journal.
  private static let maxLines = 20_000

  let redaction: Redaction
  /// The files that have content.
  private(set) var files: [File] = []
  /// What is missing, and why.
  private(set) var gaps: [String] = []
  private var logLines: [String] = []

  init(_ redaction: Redaction) {
    self.redaction = redaction
  }

  /// The parts of every report.
  ///
  /// - Parameters:
  ///   - unit: of the service; nil if no installed service reads the settings: then there is no journal, crash or unit.
  ///   - settings: options that name the settings, such as `["--instance", "van"]`.
  ///   - socket: of the daemon; nil if it is not known which one reads the settings.
  static func parts(unit: String?, settings: [String], socket: String?) -> [Part] {
    let socket = socket.map { ["--socket", $0] } ?? []
    let service = unit.map { unit in
      [
        Part(
          name: "journal.txt", title: "the journal of the last 24 hours", kind: .journal,
          sources: [
            .program(journalctl(unit, ["--since=-24h", "-n", "\(maxLines)", "-o", "short-iso"]))
          ]),
        Part(
          name: "crash.txt", title: "the last crash", kind: .plain,
          sources: [
            .program(journalctl(unit, ["-n", "1", "-o", "short-iso", "FLEET_EVENT=crashed"])),
            .program(
              journalctl(unit, ["-n", "1", "-o", "cat", "--output-fields=FLEET_BACKTRACE", "FLEET_EVENT=crashed"])),
          ]),
        Part(
          name: "unit.txt", title: "the unit with its drop-ins", kind: .unit,
          sources: [.program(["systemctl", "cat", "--no-pager", unit])]),
      ]
    }
    let state = Part(
      name: stateFile, title: "the state of the daemon", kind: .document,
      sources: [.command(["status", "--json"] + socket)])
    return [
      Part(
        name: "doctor.json", title: "all checks", kind: .document,
        sources: [.command(["doctor", "--json"] + settings + socket)])
    ] + (socket.isEmpty ? [] : [state]) + [
      Part(
        name: "settings.toml", title: "every setting, and where it is set", kind: .masked,
        sources: [.command(["settings"] + settings)])
    ] + (service ?? []) + [
      Part(
        name: "versions.txt", title: "releases of programs, libraries and the kernel", kind: .plain,
        sources: [
          .command(["--version"]), .file("/etc/os-release"), .file("/proc/version"),
          .program(["systemctl", "--version"]),
          .program(
            ["dpkg-query", "-W"]
              + ["fleet-locationd*", "libc6", "libcurl*", "libsqlite3-0", "libssl*", "libstdc++6", "libsystemd0"]
              + ["gpsd", "modemmanager", "ca-certificates"]),
        ])
    ]
  }

  /// The unit may have a journal of its own (`LogNamespace=`).
  private static func journalctl(_ unit: String, _ options: [String]) -> [String] {
    ["journalctl", "--no-pager", "-q", "--namespace=*", "-u", unit] + options
  }

  /// Adds a part.
  ///
  /// - Parameter results: one for each of its sources.
  mutating func add(_ part: Part, _ results: [SourceResult]) {
    var content: [UInt8] = []
    for (source, result) in zip(part.sources, results) {
      let failure = result.failure.map { redaction.text($0) }
      logLines.append(
        "\(part.name): \(source.commandLine): \(result.output.count) bytes\(failure.map { "; \($0)" } ?? "")")
      if result.output.isEmpty, let reason = failure ?? (part.kind == .journal ? "no entries" : nil) {
        gaps.append("\(part.name): \(source.commandLine): \(reason)")
      }
      guard !result.output.isEmpty else { continue }
      if part.sources.count > 1 { content += "$ \(source.commandLine)\n".utf8 }
      content += redacted(result.output, part.kind)
      if content.last != UInt8(ascii: "\n") { content.append(UInt8(ascii: "\n")) }
    }
    if !content.isEmpty { files.append(File(name: part.name, title: part.title, content: content)) }
  }

  /// Adds the last file: the commands that were run for the others.
  mutating func finish() {
    let lines = logLines.map { "\($0)\n" }.joined()
    files.append(File(name: "report.txt", title: "the commands of this report", content: Array(lines.utf8)))
  }

  private func redacted(_ bytes: [UInt8], _ kind: Kind) -> [UInt8] {
    let text = String(decoding: bytes, as: UTF8.self)
    return switch kind {
    // Anything that is not JSON is treated as text of unknown origin.
    case .document: redaction.document(bytes) ?? Array(redaction.text(text).utf8)
    case .masked: Array(redaction.maskingPositions(in: text).utf8)
    case .plain: bytes
    case .journal: Array(redaction.journal(text).utf8)
    case .unit: Array(redaction.unit(text).utf8)
    }
  }

  /// The list that a person reads before the archive is written.
  ///
  /// - Parameter isDaemonRunning: whether the daemon answers; nil if it is not known which one reads the settings.
  func listing(isDaemonRunning: Bool?) -> String {
    let nameWidth = files.map(\.name.utf8.count).max() ?? 0
    let sizeWidth = files.map { "\($0.content.count)".utf8.count }.max() ?? 0
    var text =
      switch isDaemonRunning {
      case true?: "The daemon is running.\n"
      case false?: "The daemon is not running; the report is made without it.\n"
      case nil: "No installed service reads these settings; name its daemon with --socket to include its state.\n"
      }
    text += "Contents, in bytes:\n"
    for file in files {
      let name = file.name + String(repeating: " ", count: nameWidth - file.name.utf8.count)
      let size = "\(file.content.count)"
      text += "  \(name)  \(String(repeating: " ", count: sizeWidth - size.utf8.count))\(size)  \(file.title)\n"
    }
    if !gaps.isEmpty { text += "Missing:\n" + gaps.map { "  \($0)\n" }.joined() }
    text +=
      redaction.keepsPositions
      ? "Secrets are masked. Coordinates are included (--positions).\n" : "Secrets and coordinates are masked.\n"
    return text
  }

  /// - Parameter time: seconds since 1970, for all files.
  func archive(time: Int64) -> [UInt8] {
    var archive = TarArchive(time: time)
    for file in files { archive.add("\(SupportReport.directory)/\(file.name)", file.content) }
    return archive.finished
  }
}
