// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Configuration
import Vehicle
import LocationDaemon
import Positioning
import RecordingReview
import Release
import SystemCalls
import Timekeeping

/// `fleet-locationctl fixes FILE`: prints the fixes of a recording; with `--verdict` also which of them the filter
/// accepts.
enum FixesCommand: Command {
  static let name = "fixes"
  static let summary = "print the fixes of a recording as JSON Lines; --verdict: which of them the filter accepts"
  static let options: [CommandLineOptions.Option] = [
    .init("verdict"), .init("map", takesValue: true), .init("config", short: "c", takesValue: true),
  ]
  static let usage = """
    Usage: fleet-locationctl fixes FILE
           fleet-locationctl fixes --verdict [--map FILE.svg] [--config FILE] FILE
    Decodes a recording from FILE (a file, a FIFO; "-" is standard input): NMEA 0183, gpsd's JSON (gpspipe -w) or GPX,
    distinguished by their content. Prints each fix as one line of JSON as soon as it is complete. Times are those that
    the receiver reported; "timeOfDay" replaces "time" if no sentence has a date.

          --verdict      read all of FILE, and filter each fix as the daemon would have done live, at the time of the
                         recording. Each line also has "verdict", which is "accepted" or the reason of the rejection,
                         and "assumedAccuracy" in metres. If FILE has no date, a day is assumed, so that each line has
                         "time". A summary is written to standard error: counts, the longest rejected stretch, and the
                         speeds between successive fixes
          --map FILE     draw accepted and rejected fixes into FILE, an SVG picture; implies --verdict
      -c, --config FILE  use the limits of [filter] in these settings, instead of the defaults

    Exit status: 0 if FILE is a recording, 65 if it is not (no sentence with a correct checksum, no JSON of gpsd, no
    GPX), 66 and 77 if FILE cannot be opened, 74 if reading or writing failed, 78 if the limits in the settings are invalid.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let operands = options.operands
    guard let path = operands.first else {
      throw CommandError(.usage, "fixes: FILE is missing (\"-\" is standard input)")
    }
    guard operands.count == 1 else {
      throw CommandError(.usage, "fixes: only one FILE is allowed; unexpected \"\(operands[1])\"")
    }
    let isFiltering = options.has("verdict") || options.has("map")
    guard isFiltering || !options.has("config") else {
      throw CommandError(.usage, "fixes: --config is only used with --verdict")
    }
    return isFiltering
      ? try filter(path, limits: limits(options.value("config")), mapPath: options.value("map")) : try print(path)
  }

  private static func print(_ path: String) throws(CommandError) -> Int32 {
    let input = try CommandInput(path: path)
    var decoder = RecordingDecoder(name: input.name)
    var writer = FixLineWriter(source: "replay")
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      try decoder.decode(buffer[..<count]) { writer.append($0) }
      guard try flush(&writer) else { return 0 }
    }
    try decoder.finish { writer.append($0) }
    guard try flush(&writer) else { return 0 }
    if let warning = try decoder.warning() { warn(warning) }
    return 0
  }

  private static func filter(
    _ path: String, limits: FixFilter.Configuration, mapPath: String?
  ) throws(CommandError) -> Int32 {
    let input = try CommandInput(path: path)
    var decoder = RecordingDecoder(name: input.name)
    var fixes: [Fix] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      try decoder.decode(buffer[..<count]) { fixes.append($0) }
    }
    try decoder.finish { fixes.append($0) }
    if let warning = try decoder.warning() { warn(warning) }
    let review = RecordingReview(fixes, limits: limits)
    if let mapPath { try write(ReviewMap(review, title: input.name).svg, to: mapPath, input: path) }
    var writer = FixLineWriter(source: "replay")
    for filtered in review.fixes {
      writer.append(filtered)
      if writer.bytes.count >= 65_536, try !flush(&writer) { return 0 }
    }
    guard try flush(&writer) else { return 0 }
    StandardError.write(review.summary(of: input.name))
    return 0
  }

  /// - Parameter path: of the settings; nil for the defaults.
  private static func limits(_ path: String?) throws(CommandError) -> FixFilter.Configuration {
    guard let path else { return FixFilter.Configuration(buildDate: Release.buildDate) }
    do throws(ConfigurationError) {
      return try SettingsFile.load(path: path, environment: .system, using: .filter).settings.agent.filter
    } catch {
      throw CommandError(error)
    }
  }

  /// - Parameter input: the path of the recording.
  private static func write(_ text: String, to path: String, input: String) throws(CommandError) {
    // Through a link, so that the link stays.
    let path = SystemFile.resolved(path) ?? path
    if let kind = FileAccess.nonRegularKind(of: path) {
      throw CommandError(.usage, "fixes: --map \(path): is \(kind); name a file, as in drive.svg")
    }
    guard SystemFile.resolved(input) != path else {
      throw CommandError(.usage, "fixes: --map \(path): is the recording; name another file, as in drive.svg")
    }
    if let start = try? SystemFile.content(of: path, limit: 4).bytes.prefix(4), !start.isEmpty,
      !start.elementsEqual("<svg".utf8)
    {
      throw CommandError(
        .usage, "fixes: --map \(path): exists and is not a picture of this command; name another file, as in drive.svg")
    }
    do throws(Errno) {
      try AtomicFile.write(Array(text.utf8), to: path, mode: 0o644, isDurable: false, isUserDirectory: true)
    } catch {
      throw CommandError(.io, "\(path): cannot be written: \(error)")
    }
  }

  /// - Returns: false if the reader has closed the pipe.
  private static func flush(_ writer: inout FixLineWriter) throws(CommandError) -> Bool {
    guard !writer.bytes.isEmpty else { return true }
    defer { writer.bytes.removeAll(keepingCapacity: true) }
    return try StandardOutput.write(writer.bytes)
  }

  private static func warn(_ warning: String) {
    StandardError.write("\(CommandLineTool.name): \(warning)\n")
  }
}
