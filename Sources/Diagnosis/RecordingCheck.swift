// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Glibc
import FixSources
import NMEA
import SystemCalls
import Timekeeping

/// Whether a recording can be read and has positions.
struct RecordingCheck: Check {
  /// Maximum number of bytes that are read: some hours of a drive.
  private static let maxBytes = 1 << 22

  let name: String
  let file: String

  var subject: Doctor.Subject { .source }
  var title: String { "\(name): recording \(file == "-" ? "from standard input" : file)" }

  func run(_ report: (Finding) -> Void) {
    guard file != "-" else { return report(RecordingCheck.unread("it is standard input")) }
    do throws(Errno) {
      // Only a regular file is opened: opening and closing a FIFO would end its writer.
      var status = stat()
      _ = try Errno.retrying { unsafe stat(file, &status) }
      switch status.kind {
      case S_IFREG:
        let (counters, format) = try RecordingCheck.contents(try Descriptor.open(file, O_RDONLY | O_NONBLOCK))
        report(RecordingCheck.finding(counters, format))
      case S_IFDIR: throw Errno(EISDIR)
      default: report(RecordingCheck.unread("it is not a regular file"))
      }
    } catch {
      report(
        .fail(
          .fileUnreadable, "it cannot be read: \(error)",
          "Check source.file; the user of the service must be able to read it"))
    }
  }

  private static func unread(_ why: String) -> Finding {
    .warn(
      .notExamined, "it is not checked: \(why), and reading would consume its data",
      "Check a file with: fleet-locationctl fixes FILE"
    )
  }

  private static func contents(
    _ descriptor: borrowing Descriptor
  ) throws(Errno) -> (NMEADecoder.Counters, RecordingFormat?) {
    var decoder = NMEADecoder()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var total = 0
    var format: RecordingFormat? = .empty
    while total < maxBytes, case .bytes(let count) = try descriptor.read(into: &buffer) {
      if total == 0 { format = RecordingFormat(firstBytes: buffer.prefix(count)) }
      total += count
      decoder.decode(buffer.span.extracting(first: count), at: .boot) { _ in }
    }
    decoder.finish { _ in }
    return (decoder.counters, format)
  }

  /// The finding about the decoder's counters.
  ///
  /// - Parameter format: another format that the file may have.
  static func finding(_ counters: NMEADecoder.Counters, _ format: RecordingFormat?) -> Finding {
    guard counters.sentences > 0 else {
      if let format { return .fail(.noSentences, "it \(format.predicate)", format.advice.sentenceCase) }
      return .fail(
        .noSentences, "it has no NMEA sentence with a correct checksum",
        "Make a recording with: sudo stty -F /dev/ttyUSB0 9600 raw -echo && sudo cat /dev/ttyUSB0 > drive.nmea")
    }
    guard counters.fixes > 0 else {
      return .fail(
        .noPositionSentences, "it has \(counters.sentences.counted("sentence")) but no position",
        "Record it under the open sky")
    }
    return .pass("it has \(counters.sentences.counted("sentence")) and \(counters.fixes.counted("position"))")
  }
}
