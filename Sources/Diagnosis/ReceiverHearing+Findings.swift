// SPDX-License-Identifier: Apache-2.0
import Positioning
package import Timekeeping

extension ReceiverHearing {
  /// What to make of what was heard.
  ///
  /// - Parameter buildDate: no clock can be right that shows less.
  package func findings(buildDate: Timestamp) -> [Finding] {
    guard byteCount > 0 else { return [silence] }
    guard counters.sentences >= 2 else { return [noise] }
    return [sentences] + checksums + position(buildDate)
  }

  private var silence: Finding {
    .fail(
      "it is open, and not one byte came in \(waited)",
      "Check its power and its cable; a modem has to be told to begin, and has several ports: docs/receivers.md")
  }

  private var noise: Finding {
    if binaryMessages > 1 {
      return .fail(
        "it speaks u-blox's binary protocol and not NMEA 0183",
        "Switch NMEA on in the receiver, or let gpsd read it: type = \"gpsd\"")
    }
    if isProbing {
      return .fail(
        "\(byteCount) bytes came in \(waited), and no sentence at any speed",
        "It may not speak NMEA 0183: see what gpsd makes of it")
    }
    let speed = baud.map { " at \($0) baud" } ?? ""
    return .fail(
      "\(byteCount) bytes came in \(waited), and no sentence\(speed)",
      baud == nil ? "It may not speak NMEA 0183: see what gpsd makes of it" : "Set source.baud = \"auto\"")
  }

  private var sentences: Finding {
    let speed = baud.map { " at \($0) baud\(isProbing ? ", found by itself" : "")" } ?? ""
    let sentence =
      "\(counters.sentences) sentences in \(seconds(listened)) s\(speed): \(census.kinds.joined(separator: " "))"
      + " of \(census.talkers.map(ReceiverHearing.system).joined(separator: ", "))"
    guard !census.tellsPosition else { return .pass(sentence) }
    return .fail(sentence + "; none of them tells a position", "The receiver has to be told to send RMC or GGA")
  }

  private var checksums: [Finding] {
    let share = Double(counters.wrongChecksum) / Double(counters.wrongChecksum + counters.sentences) * 100
    guard share > LineHealth.mostWrong * 100 else { return [.pass("their checksums are right")] }
    return [
      .warn(
        "\(Int(share.rounded())) % of lines have wrong checksums: cable or baud rate",
        "Something disturbs the line, or another program reads it too")
    ]
  }

  private func position(_ buildDate: Timestamp) -> [Finding] {
    guard census.tellsPosition else { return [] }
    guard let told else {
      return [
        .warn(
          "no fix\(FixText.inView(satellitesInView))",
          "It needs a view of the sky and, after a while without power, some minutes")
      ]
    }
    return [.pass("a fix: \(FixText.quality(told.fix))")] + ClockFindings.findings(told, buildDate: buildDate)
  }

  private var waited: String {
    seconds(isProbing ? ReceiverHearing.search : ReceiverHearing.patience) + " s"
  }

  private func seconds(_ duration: Duration) -> String { "\(max(duration.wholeSeconds, 1))" }

  private static func system(_ talker: String) -> String {
    let name: String? =
      switch talker {
      case "GP": "GPS"
      case "GL": "GLONASS"
      case "GA": "Galileo"
      case "GB", "BD": "BeiDou"
      case "GQ", "QZ": "QZSS"
      case "GI": "NavIC"
      case "GN": "several systems"
      default: nil
      }
    return name.map { "\(talker) (\($0))" } ?? talker
  }
}
