// SPDX-License-Identifier: Apache-2.0
import FixSources
import ExternalInput
import NMEA
import Observability
package import Timekeeping

extension ReceiverProbe {
  /// The findings about the receiver.
  ///
  /// - Parameters:
  ///   - buildDate: a clock that shows an earlier time is wrong.
  ///   - isCommandPort: whether udev knows it as a modem's port for AT commands.
  package func findings(buildDate: Timestamp, isCommandPort: Bool = false) -> [Finding] {
    if isCommandPort, counters.sentences < 2 {
      return [
        .fail(
          .otherProtocol, "it is a modem's port for AT commands, as udev knows it, and sends no NMEA sentence",
          ReceiverProtocol.at.advice.sentenceCase)
      ]
    }
    guard byteCount > 0 else { return [silenceFinding] }
    guard counters.sentences >= 2 else { return [noSentenceFinding] }
    return [sentenceFinding] + checksumFindings + positionFindings(buildDate)
  }

  private var silenceFinding: Finding {
    .fail(
      .receiverSilent, "it is open, but no byte was received in \(waited)",
      "Check its power and its cable; a modem's receiver must be switched on, and has a port of its own: \(ManualPage.receivers)"
    )
  }

  private var noSentenceFinding: Finding {
    if let otherProtocol {
      return .fail(
        .otherProtocol, "it sends \(otherProtocol.name) instead of NMEA 0183", otherProtocol.advice.sentenceCase)
    }
    if isProbing {
      return .fail(
        .noSentences, "\(byteCount) bytes were received in \(waited), but no sentence at any baud rate",
        "It probably does not send NMEA 0183: try it with gpsd")
    }
    let speed = baud.map { " at \($0) baud" } ?? ""
    return .fail(
      .noSentences, "\(byteCount) bytes were received in \(waited), but no sentence\(speed)",
      baud == nil ? "It probably does not send NMEA 0183: try it with gpsd" : "Set source.baud = \"auto\"")
  }

  private var sentenceFinding: Finding {
    let speed = baud.map { " at \($0) baud\(isProbing ? ", detected" : "")" } ?? ""
    let sentence =
      "\(counters.sentences) sentences in \(seconds(listened)) s\(speed): \(census.kinds.joined(separator: " "))"
      + " of \(census.talkers.map(ReceiverProbe.system).joined(separator: ", "))"
    guard !census.hasPosition else { return .pass(sentence) }
    return .fail(.noPositionSentences, sentence + "; none of them has a position", "Enable RMC or GGA in the receiver")
  }

  private var checksumFindings: [Finding] {
    let share = Double(counters.wrongChecksum) / Double(counters.wrongChecksum + counters.sentences) * 100
    guard share > LineStatistics.maximumWrongChecksumShare * 100 else { return [.pass("their checksums are correct")] }
    let sentence = "\(Int(share.rounded())) % of lines have wrong checksums"
    // TCP and UDP have checksums of their own.
    guard baud != nil else {
      return [
        .warn(
          .wrongChecksums, "\(sentence): the sender's receiver or its cable",
          "At the sender there is interference on the line to the receiver, or the baud rate is wrong")
      ]
    }
    return [
      .warn(
        .wrongChecksums, "\(sentence): cable or baud rate",
        "There is interference on the line, or another program reads it too")
    ]
  }

  private func positionFindings(_ buildDate: Timestamp) -> [Finding] {
    guard census.hasPosition else { return [] }
    guard let received else {
      return [
        .warn(
          .noFix, "no fix\(FixText.inView(satellitesInView))", SkyAdvice.text(inView: satellitesInView))
      ]
    }
    return [.pass("a fix: \(FixText.quality(received.fix))")] + ClockFindings.findings(received, buildDate: buildDate)
  }

  private var waited: String {
    seconds(isProbing ? ReceiverProbe.searchSilenceLimit : ReceiverProbe.silenceLimit) + " s"
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
