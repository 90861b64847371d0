// SPDX-License-Identifier: Apache-2.0
import ExternalInput
import Positioning
import SimulatedDrives
import Reporting
import Vehicle
import FleetEngine

/// `docs/filter.md`, generated from the code and its scores.
enum FilterDocument {
  /// The seeds of the drives of each kind.
  static let seeds: Range<UInt64> = 0..<200

  /// The page up to the scores.
  static var beginning: String {
    var text = """
      # Which fixes are accepted

      For technicians who ask why a vehicle was shown in a wrong place, or not at all: what each rejection means, the rules of the filter,
      how to examine a recording, and how well the filter does on recorded and simulated drives. Look at the last rejection first:
      `fleet-locationctl explain` names its reason. With `log.level = "debug"` the journal has, for each reason except `duplicate`, the first
      one since the last accepted fix, then one in ten minutes with the number of the others (`FLEET_EVENT=fixRejected`). A recording of the
      receiver shows more: see [Looking into a complaint](#looking-into-a-complaint).

      The filter compares each fix with the last accepted one and with elapsed time. Each rejection has a reason, which is counted.

      No error of the filter is permanent. A single wrong fix changes nothing. \(FixFilter.agreementCount) fixes in a row, over three seconds or more, that
      contradict the last accepted fix but agree with each other replace it. An accuracy, a speed or a number of satellites that the
      receiver does not report is not a reason for a rejection.

      ## The reasons

      | Reason | What it means | Cause and remedy |
      |---|---|---|

      """
    for reason in FixRejection.allCases {
      text += "| \(reason.rawValue) | \(reason.sentence.text) | \((reason.advice ?? "").sentenceCase). |\n"
    }
    return text + """

      The limits are settings ([filter] in [settings.md](settings.md)). The other rules are fixed. A *predicted position* is the
      last accepted one, extrapolated with the reported speeds and headings.

      * **Time.** A timestamp may be at most 3 s ahead of elapsed time, counted from earlier stamps, and at most `max_age` behind it. A
        date before the build date is a week rollover of the receiver, and is moved forward by multiples of 1024 weeks.
      * **Date.** For a receiver without a date (only GGA or GLL) the date is that of this machine's clock. While the clock is
        wrong, so is the date; once the clock is set, the next fix has the right date. A clock before the build date is ignored. At the start
        such fixes are rejected for up to two seconds: the first one may be from the middle of a burst, and the next one then has a date. This
        does not apply to a recording.
      * **HDOP.** HDOP describes a single solution, but receivers combine several. So a fix whose HDOP is above `max_hdop`, or whose accuracy
        estimated from it is worse than `max_accuracy`, is still accepted if it continues the previous fixes: it is at most 5 s later, and within
        10 m plus 2.5 m × (seconds)² of the predicted position. The accuracy reported for it is that of the last good fix plus 3 m for each second
        since, or that from its HDOP if this is smaller. It must also be within 2.15 times the former of the position that is predicted from the
        last accepted fix. When this accuracy exceeds `max_accuracy`, such fixes are rejected until the HDOP improves. HDOP is ignored if the
        receiver reports its accuracy: with GST, PGRME (Garmin), PUBX,00 (u-blox), PQTMEPE (Quectel) or gpsd's `eph`, unless gpsd has computed
        that from HDOP.
      * **Dead reckoning.** A position without satellites is extrapolated. It is rejected unless the receiver reports its accuracy, as
        receivers with wheel ticks and inertial sensors do. It is also rejected if speed, course and accuracy have not changed by a digit for
        2 s at 2 m/s or more: such a receiver repeats its last measurement.
      * **Jump.** Reported speeds are measured by Doppler shift, and are right even if the position is wrong. A fix is rejected if it is
        further from the last one than the higher of both speeds and an acceleration of 4 m/s² allow. Within 5 s, and at 3 m/s or more, it is
        also rejected if it is further than 2.5 m × (seconds)² from the predicted position. Both rules tolerate an additional
        2.15 times the combined accuracy of both fixes (the root of the sum of the squares: 99 % of differences), but at least 30 m. If the
        receiver reports no speed, the prediction uses the motion between the last three fixes. If accepted positions contradict the
        speeds that a receiver reports, its speeds are ignored until they have matched 64 fixes in a row; this number doubles each time, up to
        4,096, and is halved after 1,800 matches.
      * **Catching up.** Two fixes in a row, instead of \(FixFilter.agreementCount), replace the last accepted one if the second is within 5 m plus
        2.5 m × (seconds)² of the position predicted from the first, and one of these holds: the positions accepted in the last 10 s have
        drifted by more than 50 m from the predicted ones; or they were 2D fixes, and the new ones are 3D and no less accurate.
      * **Frozen.** The position is the same to the last digit, while the reported speeds, of 2 m/s or more, add up to 30 m. A parked
        receiver that repeats its position exactly reports a speed near 0, and is accepted.
      * **After a gap** of 5 s or more in a stream of at least one fix every 2 s, a fix is rejected until a second one agrees with
        it within 20 m (or 2.15 times the combined accuracy), for 8 s at most: after a gap receivers often converge from far away,
        although they report a good accuracy. A first fix within 20 m of the predicted position is accepted at once. Fixes
        that are rejected as dead reckoning, for a poor reported accuracy, for too few satellites or as the position 0, 0 count as missing, so they make a gap.
        Fixes that are rejected for their HDOP, or for the accuracy that is computed from it, do not. This rule does not apply to a recording
        whose own times are kept.
      * **Fast.** The filter knows no roads, so it accepts ferries and trains like cars. A vehicle faster than `max_speed` is rejected
        until ten fixes in a row, over 9 s, have positions and speeds that confirm each other; then it is accepted while it is this fast.
      * **Parked.** This is not a rejection: below \(tenths(MotionDetector.parkedBelow)) m/s for 10 s a vehicle is parked, and its position is kept constant. It moves
        again after 3 s at \(tenths(MotionDetector.movingFrom)) m/s or more; or, whatever its reported speed, after 3 s at a distance of more than 30 m and more than
        three times the accuracy; or at once, if the first fix after a gap of 5 s or more, by arrival or by time, is further away than
        30 m and than its accuracy: the vehicle was moved, for example on a ferry, or the fixes in between were rejected. The accuracy
        of a held position includes its distance to the newest fix. A speed below 0.7 m/s with which the vehicle moved away is not sent, and
        neither is the course, until the receiver reports 1.5 m/s, or, if it has done so before, until the vehicle is parked.
      * **Heading.** Below \(tenths(ReportingPolicy.minimumCourseSpeed)) m/s a receiver's course is the direction in which its position drifts. So a slower vehicle, parked or
        not, is reported with the last course at this speed or more, without its accuracy; without a heading, if there has been none.

      ## Accuracy

      Accuracies are one standard deviation, in metres over ground. GST's deviations to north and east are combined (the root
      of the sum of their squares); PGRME, PUBX,00 and PQTMEPE are used unchanged. If a receiver reports no accuracy, it is estimated as HDOP
      times the error of one range: 5 m, with corrections 2 m, RTK float 0.5 m, RTK fixed 2 cm. Dead reckoning and simulated positions have
      no estimate, because HDOP says nothing about them. At least \(tenths(VehicleLocation.minimumAccuracy)) m is reported: the antenna of an RTK receiver on a vehicle was off by
      0.5 m in half of its fixes ([below](#how-well-it-does-on-real-roads)).

      ## Looking into a complaint

      When a vehicle was shown in a wrong place, or not at all, a recording of its receiver shows why. To record what the daemon reads:
      from a serial port, while the daemon is stopped, with `sudo stty -F /dev/ttyUSB0 9600 raw -echo` (the receiver's baud rate), then
      `sudo cat /dev/ttyUSB0 > drive.nmea`; from gpsd with `gpspipe -w > drive.json`. A GPX file of another device can be used, too.

      ```
      fleet-locationctl fixes --verdict --map drive.svg --config /etc/fleet-locationd/fleet-locationd.toml drive.nmea > verdicts.jsonl
      ```

      Each fix is filtered as the daemon would have done live, as if it had arrived at its own time. The line of a fix has the members that
      `fixes` prints, and `verdict`, which is `accepted` or one of the reasons above; `assumedAccuracy`, the accuracy in metres that the
      filter used, even if the receiver reported none; and always `time`, on 2000-01-01 if the recording has no date. The summary
      on standard error has the counts, the longest time without an accepted fix, the speeds between the positions, and where fixes
      were rejected: with the time, the reasons, and the distance from the line between the accepted fixes around them. A fix that
      was rejected far from that line was wrong; one that was rejected on it was most likely right.

      `drive.svg` opens in any browser. It shows the track with the rejected fixes in the colour of their reason, and below it the six longest
      periods with rejections, enlarged, each with a scale bar, the times, and a thin line from fix to fix in the order of their arrival. It
      contains no coordinates, but a reader who knows the streets can recognize the place: treat it like the recording.


      """
  }

  /// The table of drives on real roads.
  static func road(_ scores: [(RoadDrive, RoadScore)]) -> String {
    var text = """
      ## How well it does on real roads

      6.9 hours of published recordings were filtered with the rules for live fixes ([their sources](../Tests/FilterScore/Drives/README.md)). *Wrong*
      counts wrong rejections: fixes that were not extrapolated and lie within 15 m of the line between the accepted ones around them; *longest* is the
      number of seconds in a row with wrong rejections while moving. The next columns are the fixes without satellites, and those of a frozen
      receiver, that were rejected. *Jumps* are those left between accepted fixes, of more than 50 m beyond what the speeds allow: a multipath
      error begins and ends with one. The test `swift test --filter FilterScore` computes this table anew and compares it.

      | Drive | Fixes | Rejected | Wrong | Share | Longest | Without satellites | Frozen | Jumps |
      |---|---:|---:|---:|---:|---:|---:|---:|---:|

      """
    for (name, score) in scores.map({ ($0.rawValue, $1) }) + [("all", scores.map(\.1).reduce(RoadScore(), +))] {
      let good = score.fixes - score.rejected + score.wrong
      text +=
        "| \(name) | \(score.fixes) | \(score.rejected) | \(score.wrong) | \(percent(Double(score.wrong) / Double(max(good, 1)))) "
      text += "| \(score.longest) s | \(score.unmeasuredRejected) of \(score.unmeasured) "
      text += "| \(score.frozenRejected) of \(score.frozen) | \(score.jumps) |\n"
    }
    let known = scores.map(\.1).reduce(RoadScore(), +)
    return text + """

      Compared with the reference trajectory of mtv-f9k, half of the accepted fixes are off by less than \(hundredths(known.median)) m, and none by more
      than \(hundredths(known.largest)) m.


      """
  }

  static func scores(_ table: [(Trouble, Score)]) -> String {
    var text = """
      ## How well it does against a known truth

      Simulated drives of five minutes with a fix every second (parked: two hours with one every 5 s), \(seeds.count) of each kind. A fix is
      bad if it is off by more than 50 m and by more than three times its reported accuracy, or if its time is wrong and cannot be
      repaired; all other fixes are good. *Longest* is the longest time for which good fixes were rejected, and the last column is how
      often in an hour the vehicle was reported to stop or to start. These figures are measured by

      ```
      FILTER_SCORE=1 swift test --filter FilterScore
      ```

      which compares them with this page; with `UPDATE_GOLDENS=1` instead of `FILTER_SCORE=1` it updates the page.

      | Simulated error | Bad fixes | Accepted | Share | Good fixes | Rejected | Share | Longest | Stops and starts/h |
      |---|---:|---:|---:|---:|---:|---:|---:|---:|

      """
    for (trouble, score) in table {
      let hours = Double(trouble.duration * seeds.count) / 3600
      text +=
        "| \(trouble.rawValue) | \(score.bad) | \(score.badPassed) | \(score.bad == 0 ? "" : percent(score.passedShare)) "
        + "| \(score.good) | \(score.goodRefused) | \(percent(score.refusedShare)) | \(score.longestSilence) s "
        + "| \(tenths(Double(score.motionChanges) / hours)) |\n"
    }
    return text + """

      The bad fixes that were accepted are those that the receiver's own reports do not contradict: a position that drifts between walls
      by less than 30 m a second, with a reported accuracy of 4 m; the end of an error after a tunnel, which decreases by less than 20 m a
      second; a receiver that froze at a stop, with a speed of 0. Fixes of a frozen receiver count as good if they are within 50 m of the
      truth.

      """
  }

  private static func percent(_ share: Double) -> String { "\(hundredths(share * 100)) %" }

  static func hundredths(_ number: Double) -> String {
    let whole = Int((number * 100).rounded())
    return "\(whole / 100).\(whole % 100 < 10 ? "0" : "")\(whole % 100)"
  }

  static func tenths(_ number: Double) -> String {
    let whole = Int((number * 10).rounded())
    return "\(whole / 10).\(whole % 10)"
  }
}
