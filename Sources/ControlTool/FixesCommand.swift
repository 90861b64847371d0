// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Delivery
import Glibc
import LocationDaemon
import Positioning
import Release
import SystemCalls
import Timekeeping

/// `fleet-locationctl fixes FILE`: a recording, printed as fixes, with or without what the filter makes of them.
enum FixesCommand: Command {
  static let name = "fixes"
  static let summary = "print the fixes of a recording as JSON Lines, and with --verdict what the filter makes of them"
  static let options: [CommandLineOptions.Option] = [
    .init("verdict"), .init("map", takesValue: true), .init("config", short: "c", takesValue: true),
  ]
  static let usage = """
    Usage: fleet-locationctl fixes FILE
           fleet-locationctl fixes --verdict [--map FILE.svg] [--config FILE] FILE
    Decodes a recording from FILE (a file, a FIFO; "-" is standard input): NMEA 0183, gpsd's JSON (gpspipe -w) or GPX,
    told apart by their content. Prints each fix as one line of JSON as soon as the input completes it. Times are as the
    receiver reported them. "timeOfDay" stands for "time" when no sentence reported the date.

          --verdict      read all of FILE, and judge each fix as the daemon would have judged it live at the time that the
                         recording states. Each line has "verdict", which is "accepted" or why it was rejected,
                         "assumedAccuracy" in metres, and always "time": on an assumed day when FILE has no date. A summary
                         goes to standard error: counts, the longest rejected stretch, implied speeds
          --map FILE     draw accepted and rejected fixes into FILE, an SVG picture; implies --verdict
      -c, --config FILE  the limits of [filter] in these settings, instead of those that hold where nothing is set

    Exit status: 0 when the input held sentences, 65 when it held none with a right checksum and is no other recording, 66
    and 77 when FILE cannot be opened, 74 when reading or writing failed, 78 when the settings are wrong.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let operands = options.operands
    guard let path = operands.first else { throw CommandError(.usage, "fixes: which file? (\"-\" is standard input)") }
    guard operands.count == 1 else {
      throw CommandError(.usage, "fixes: one file at a time, and \"\(operands[1])\" is one more")
    }
    let isJudging = options.has("verdict") || options.has("map")
    guard isJudging || !options.has("config") else {
      throw CommandError(.usage, "fixes: --config has the limits for --verdict, which is not given")
    }
    // A reader that goes away is seen as EPIPE.
    signal(SIGPIPE, SIG_IGN)
    return isJudging
      ? try judge(path, limits: limits(options.value("config")), map: options.value("map")) : try print(path)
  }

  private static func print(_ path: String) throws(CommandError) -> Int32 {
    let input = try InputFile(path: path)
    var recording = Recording(name: input.name)
    var writer = FixLineWriter(source: "replay")
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      try recording.decode(buffer[..<count]) { writer.append($0) }
      guard try flush(&writer) else { return 0 }
    }
    try recording.finish { writer.append($0) }
    guard try flush(&writer) else { return 0 }
    if let complaint = try recording.complaint() { complain(complaint) }
    return 0
  }

  private static func judge(
    _ path: String, limits: FixFilter.Configuration, map: String?
  ) throws(CommandError) -> Int32 {
    let input = try InputFile(path: path)
    var recording = Recording(name: input.name)
    var fixes: [Fix] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      try recording.decode(buffer[..<count]) { fixes.append($0) }
    }
    try recording.finish { fixes.append($0) }
    if let complaint = try recording.complaint() { complain(complaint) }
    let review = RecordingReview(fixes, limits: limits)
    if let map { try write(ReviewMap(review, title: input.name).svg, to: map) }
    var writer = FixLineWriter(source: "replay")
    for judged in review.fixes {
      writer.append(judged)
      if writer.bytes.count >= 65_536, try !flush(&writer) { return 0 }
    }
    guard try flush(&writer) else { return 0 }
    StandardError.write(review.summary(of: input.name))
    return 0
  }

  /// - Parameter path: of the settings; nil for none.
  private static func limits(_ path: String?) throws(CommandError) -> FixFilter.Configuration {
    guard let path else { return FixFilter.Configuration(buildDate: Release.buildDate) }
    do {
      return try SettingsFile.load(path: path, environment: .system).settings.agent.filter
    } catch {
      throw CommandError(.configuration, error.message)
    }
  }

  private static func write(_ text: String, to path: String) throws(CommandError) {
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false)
    } catch {
      throw CommandError(.io, "\(path): cannot be written: \(error)")
    }
  }

  /// Whether somebody still reads.
  private static func flush(_ writer: inout FixLineWriter) throws(CommandError) -> Bool {
    guard !writer.bytes.isEmpty else { return true }
    defer { writer.bytes.removeAll(keepingCapacity: true) }
    return try StandardOutput.write(writer.bytes)
  }

  private static func complain(_ complaint: String) {
    StandardError.write("\(CommandLineTool.name): \(complaint)\n")
  }
}
