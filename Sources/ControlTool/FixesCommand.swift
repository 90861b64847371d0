// SPDX-License-Identifier: Apache-2.0
import CommandLineOptions
import Glibc
import Positioning
import Timekeeping

/// `fleet-locationctl fixes FILE`: an NMEA recording, printed as fixes.
enum FixesCommand: Command {
  static let name = "fixes"
  static let summary = "print the fixes of an NMEA 0183 recording as JSON Lines"
  static let options: [CommandLineOptions.Option] = []
  static let usage = """
    Usage: fleet-locationctl fixes FILE
    Decodes NMEA 0183 from FILE (a recording, a FIFO; "-" is standard input) and prints each fix as one line of JSON as
    soon as the input completes it. Times are as the receiver told them. "timeOfDay" stands for "time" when no sentence
    told the date.

    Exit status: 0 when the input held sentences, 65 when it held none with a right checksum, 66 and 77 when FILE cannot
    be opened, 74 when reading or writing failed.

    """

  static func run(_ options: CommandLineOptions) throws(CommandError) -> Int32 {
    let operands = options.operands
    guard let path = operands.first else { throw CommandError(.usage, "fixes: which file? (\"-\" is standard input)") }
    guard operands.count == 1 else {
      throw CommandError(.usage, "fixes: one file at a time, and \"\(operands[1])\" is one more")
    }
    // A reader that goes away is seen as EPIPE.
    signal(SIGPIPE, SIG_IGN)
    let input = try InputFile(path: path)
    var decoder = NMEADecoder()
    var writer = FixLineWriter(source: "replay")
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try input.read(into: &buffer)
      guard count > 0 else { break }
      decoder.decode(buffer.span.extracting(0..<count), at: .boot) { writer.append($0) }
      guard try flush(&writer) else { return 0 }
    }
    decoder.finish { writer.append($0) }
    guard try flush(&writer) else { return 0 }
    return try verdict(decoder.counters, input.name)
  }

  /// Whether somebody still reads.
  private static func flush(_ writer: inout FixLineWriter) throws(CommandError) -> Bool {
    guard !writer.bytes.isEmpty else { return true }
    defer { writer.bytes.removeAll(keepingCapacity: true) }
    return try StandardOutput.write(writer.bytes)
  }

  private static func verdict(_ counters: NMEADecoder.Counters, _ name: String) throws(CommandError) -> Int32 {
    guard counters.sentences > 0 else {
      throw CommandError(
        .data,
        """
        \(name): no NMEA sentence with a right checksum (\(counters.wrongChecksum) with a wrong one, \
        \(counters.unchecked) cut or without); is it a recording of a receiver, made at the right baud rate?
        """)
    }
    if counters.fixes == 0 {
      StandardError.write(
        "\(CommandLineTool.name): \(name): \(counters.sentences) sentences, and none told a valid position\n")
    }
    return 0
  }
}
