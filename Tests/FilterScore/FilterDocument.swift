// SPDX-License-Identifier: Apache-2.0
import Positioning
import Delivery
import Documentation

/// `docs/filter.md`, made of the code and of what it scored.
enum FilterDocument {
  /// Drives of each kind that the table stands on.
  static let seeds: Range<UInt64> = 0..<200

  /// All but the scores.
  static var beginning: String {
    var text = """
      # Which fixes are accepted

      For technicians who ask why a vehicle was shown in a wrong place, or not at all. Look at the last rejection first:
      `fleet-locationctl explain` names its reason, and so does the journal (`FLEET_EVENT=fixRejected`). A recording of the
      receiver shows more: see [Looking into a complaint](#looking-into-a-complaint).

      A filter stands between the receiver and Fleet Engine. It compares each fix with the last accepted one and with elapsed
      time. Each rejected fix has a reason, which is counted.

      No error lasts, and no rejection does. One wild fix changes nothing. \(FixFilter.agreement) in a row, over three seconds or more, that
      contradict the last accepted one but agree with each other replace it. What is unknown (an accuracy, a speed, a number of satellites)
      speaks against no fix.

      ## The reasons

      | Reason | What it means | What to make of it |
      |---|---|---|

      """
    for reason in FixRejection.allCases {
      text += "| \(reason.rawValue) | \(reason.explanation) | \(reason.advice) |\n"
    }
    return text + """

      The limits are settings ([filter] in [settings.md](settings.md)). The rest is fixed:

      * **Time.** A stamp may be 3 s ahead of elapsed time, counted from the stamps before, and `max_age` behind it. A date before
        that of the build is a receiver's week rollover: it is moved forward by 1024 weeks.
      * **Date.** A receiver without a date (GGA or GLL alone) gets that of this machine's clock, at every fix. While the clock is
        wrong, so is the date; once the clock is set, the next fix has the right one. A clock before the date of the build
        cannot be right and is ignored.
      * **HDOP.** It describes one solution, and receivers filter. Beyond `max_hdop`, or where the accuracy that it suggests is worse than
        `max_accuracy`, a fix is still accepted if it continues the ones before: within 5 s, and within 10 m and 2.5 m × (seconds)² of
        where the reported speeds and headings lead. Its accuracy is then that of the last good fix and 3 m for each second since, and
        is reported so. When it exceeds `max_accuracy`, fixes are rejected until the HDOP improves. HDOP does not matter
        where the receiver states its accuracy: by GST, PGRME (Garmin), PUBX,00 (u-blox) or gpsd's `eph`.
      * **Dead reckoning.** A position without satellites is extrapolated. It is rejected unless the receiver states its accuracy, as receivers
        with wheel ticks and inertial sensors do.
      * **Jump.** A speed comes from the Doppler shift and is right when the place is not. A fix is rejected if it is further from
        the last than the higher of both speeds and 4 m/s² allow; or, within 5 s and from 3 m/s on, if it is further from where
        speed and heading lead than 2.5 m × (seconds)². Beyond that it may be off by 2.15 times both accuracies together (the root of the sum
        of their squares: 99 % of differences), at least 30 m. Where a receiver reports no speed, the last three fixes predict the next in
        its place. A receiver whose speeds are refuted by its own places has no say in this until they have been right for 64 fixes,
        and for twice as many each time.
      * **Catching up.** Two fixes in a row, instead of \(FixFilter.agreement), replace the last accepted one if the second is within 5 m and
        2.5 m × (seconds)² of where its own speed leads from the first, and either the places accepted in the last 10 s have drifted by more than 50 m
        from what the reported speeds say, or they had no height of their own (2D) and the new ones have.
      * **Frozen.** The same place to the last digit, while the reported speeds, of 2 m/s or more, add up to 30 m. A parked
        receiver that repeats its place exactly reports a speed near 0, and is accepted.
      * **After a gap** of 5 s or more in a stream of at least a fix every 2 s, the first fix waits for a second that agrees with
        it within 20 m (or 2.15 times both accuracies), for 8 s at most: a receiver is often drawn in from far away
        then, and claims to be good. One that is within 20 m of where the speeds before and after the gap lead is accepted at once. Fixes
        rejected for their accuracy or HDOP are no gap; dead reckoning is. None of this holds for a recording whose own times are kept.
      * **Fast.** Ferries and trains are no trouble: nothing asks for a road. A vehicle faster than `max_speed` is rejected
        until ten fixes in a row, over 9 s, have places and speeds that bear each other out; then it is accepted for as long as
        it is so fast.
      * **Parked.** Not rejected, but held still: under \(tenths(MotionDetector.parkedBelow)) m/s for 10 s a vehicle is parked, and its place is locked. It is released
        at \(tenths(MotionDetector.movingFrom)) m/s for 3 s; at any speed and without one, when it has been 30 m and three times the accuracy away for 3 s; and at
        once by a first fix after a gap of 5 s or more that is 30 m and its accuracy away: then it was moved unseen.

      ## Accuracy

      Accuracies are one standard deviation, in metres over ground. GST's deviations to north and east are put together (the root
      of the sum of their squares); PGRME and PUBX,00 are taken as they are. A receiver that states none is given HDOP times the error of one range:
      5 m, with corrections 2 m, RTK float 0.5 m, RTK fixed 2 cm. Dead reckoning and simulated positions have none, for HDOP says nothing of them.

      ## Looking into a complaint

      When a vehicle was shown in a wrong place, or in none, a recording of its receiver says why. What the daemon reads from a serial
      port is recorded with `cat /dev/ttyUSB0 > drive.nmea` while the daemon is stopped, from gpsd with `gpspipe -w > drive.json`; GPX
      of another device does as well.

      ```
      fleet-locationctl fixes --verdict --map drive.svg --config /etc/fleet-locationd/fleet-locationd.toml drive.nmea > verdicts.jsonl
      ```

      Each fix is judged as the daemon would have judged it live, arriving at the time that it states. Its line has the members that
      `fixes` prints, and `verdict`: `accepted`, or one of the reasons above; `assumedAccuracy`: what the filter took for its accuracy,
      in metres, where the receiver stated none as well; and always `time`, on 2000-01-01 where the recording has no date. The summary
      on standard error has the counts, the longest time without an accepted fix, the speeds that the positions imply, and where fixes
      were rejected: with the time, the reasons, and how far they were off the line between the accepted fixes around them. A fix that
      was rejected far off that line was wrong; one that was rejected on it was most likely right.

      `drive.svg` opens in any browser: the track with the rejected fixes in the colour of their reason, and below it the six longest
      episodes closer, each with a scale bar, the times, and a thin line from fix to fix in the order in which they came. It holds no
      coordinates, but who knows the streets will know the place: treat it like the recording.


      """
  }

  /// The table of drives on real roads.
  static func road(_ scores: [(RoadDrive, RoadScore)]) -> String {
    var text = """
      ## How well it does on real roads

      Drives of other people, 6.9 hours, judged with live rules ([where they are from](../Tests/FilterScore/Drives/README.md)). *Wrong* are
      rejected fixes that were measured and lie within 15 m of the line between the accepted ones around them; *longest*, for how many seconds in
      a row while moving. Then how many fixes without satellites and of a frozen receiver were rejected, and how many *jumps* are left between
      accepted fixes, of more than 50 m beyond what the speeds allow: an echo begins with one and ends with one. With `FILTER_SCORE=1`
      or without, `swift test --filter FilterScore` compares them with this page.

      | Drive | Fixes | Rejected | Wrong | | Longest | Without satellites | Frozen | Jumps |
      |---|---:|---:|---:|---:|---:|---:|---:|---:|

      """
    for (name, score) in scores.map({ ($0.rawValue, $1) }) + [("all", scores.map(\.1).reduce(RoadScore(), +))] {
      let good = score.fixes - score.rejected + score.wrong
      text +=
        "| \(name) | \(score.fixes) | \(score.rejected) | \(score.wrong) | \(percent(Double(score.wrong) / Double(max(good, 1)))) "
      text += "| \(score.longest) s | \(score.unmeasuredStopped) of \(score.unmeasured) "
      text += "| \(score.frozenStopped) of \(score.frozen) | \(score.jumps) |\n"
    }
    let known = scores.map(\.1).reduce(RoadScore(), +)
    return text + """

      Against the reference trajectory of mtv-f9k half of the accepted fixes are off by less than \(hundredths(known.median)) m, and none by more
      than \(hundredths(known.largest)) m.


      """
  }

  static func scores(_ table: [(Trouble, Score)]) -> String {
    var text = """
      ## How well it does against a known truth

      Drives of five minutes with a fix every second (two hours with one every 5 s, parked), \(seeds.count) of each kind, with a known truth. A fix is
      bad when it is off by more than 50 m and by more than three times what it claims, or when its time is wrong and cannot be
      repaired. The rest are good. The last columns are the longest time for which good fixes were rejected, and how often in an hour the
      vehicle was said to stop or set off. The same numbers come from

      ```
      FILTER_SCORE=1 swift test --filter FilterScore
      ```

      which also compares them with this page; with `UPDATE_GOLDENS=1` instead of `FILTER_SCORE=1` it writes them anew.

      | Trouble | Bad fixes | accepted | | Good fixes | rejected | | Longest | Turns/h |
      |---|---:|---:|---:|---:|---:|---:|---:|---:|

      """
    for (trouble, score) in table {
      let hours = Double(trouble.duration * seeds.count) / 3600
      text +=
        "| \(trouble.rawValue) | \(score.bad) | \(score.badPassed) | \(score.bad == 0 ? "" : percent(score.passedShare)) "
        + "| \(score.good) | \(score.goodRefused) | \(percent(score.refusedShare)) | \(score.longestSilence) s "
        + "| \(tenths(Double(score.turns) / hours)) |\n"
    }
    return text + """

      What is accepted of the bad ones is what the receiver's own reports do not contradict: a place that wanders off between walls
      by less than 30 m a second while 4 m are claimed; the last of an error after a tunnel, which fades by less than 20 m a second;
      a receiver that froze at a stop, with a speed of 0. Of a frozen receiver's fixes those count as good
      that lie within 50 m of the truth, frozen or not.

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
