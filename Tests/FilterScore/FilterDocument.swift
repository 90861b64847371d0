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
      # Which fixes are believed

      Between the receiver and Fleet Engine stands a filter. It compares each fix with the one that it believed before, and with
      the time that has passed. Every fix that it refuses has a reason, which is counted; `fleet-locationctl explain` says why the
      last one was not sent, and the journal says it too (`FLEET_EVENT=fixRejected`).

      It is made never to be fooled for long, and never to be stubborn. One wild fix changes nothing; \(FixFilter.agreement) in a row, over three
      seconds or more, that contradict what was believed but agree with each other are where the vehicle is. What is unknown
      (an accuracy, a speed, a number of satellites) speaks against no fix.

      ## The reasons

      | Reason | What it means | What to make of it |
      |---|---|---|

      """
    for reason in FixRejection.allCases {
      text += "| \(reason.rawValue) | \(reason.explanation) | \(reason.advice) |\n"
    }
    return text + """

      The limits are settings ([filter] in [settings.md](settings.md)). The rest is not:

      * **Time.** A stamp may be 3 s ahead of elapsed time, counted from the stamps before, and `max_age` behind it. A date before
        that of the build is a receiver's week counter that started anew: it is moved forward by 1024 weeks and believed.
      * **Jump.** A speed comes from the Doppler shift and is right when the place is not. A fix is refused if it is further from
        the last than the higher of both speeds and 4 m/s² allow; or, within 5 s and from 3 m/s on, if it is further from where
        speed and heading lead than 2.5 m × (seconds)². Beyond that it may be off by twice the sum of both accuracies, at least
        30 m. Where a receiver tells no speed, the way of the last three fixes foretells the next in its place. A receiver whose speeds are refuted by its own places has no say in this until they have been right for 64 fixes, and for twice as many each time.
      * **Frozen.** The same place to the last digit, while the speeds told, of 2 m/s or more, add up to 30 m. A parked
        receiver that repeats its place exactly tells a speed near 0, and is believed.
      * **After a gap** of 5 s or more in a stream of at least a fix every 2 s, the first fix waits for a second that agrees with
        it within 20 m (and twice the sum of both accuracies), for 8 s at most: a receiver is often drawn in from far away
        then, and claims to be good. Not in a recording whose own times are kept.
      * **Fast.** On a ferry or a train there is no road, and nothing asks for one. A vehicle faster than `max_speed` is refused
        until ten fixes in a row, over 9 s, have places and speeds that bear each other out; then it is believed for as long as
        it is so fast.
      * **Parked.** Not refused, but held still: under \(tenths(MotionDetector.parkedBelow)) m/s for 10 s a vehicle is parked, and its place is locked. It is released
        at \(tenths(MotionDetector.movingFrom)) m/s for 3 s; or, at any speed and without one, when it has been 30 m and three times the accuracy away for 3 s.

      ## Accuracy

      Accuracies are one standard deviation, in metres over ground. GST's deviations to north and east are put together (the root
      of the sum of their squares). A receiver without GST is given HDOP times the error of one range: 5 m, with
      corrections 2 m, RTK float 0.5 m, RTK fixed 2 cm. Dead reckoning and simulated positions have none, for HDOP says nothing of them.

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

  static func scores(_ table: [(Trouble, Score)]) -> String {
    var text = """
      ## How well it does

      Drives of five minutes with a fix every second (two hours with one every 5 s, parked), \(seeds.count) of each kind, with a known truth. A fix is
      bad when it is off by more than 50 m and by more than three times what it claims, or when its time is wrong and cannot be
      mended. The rest are good. The last columns are the longest time for which good fixes were refused, and how often in an hour the
      vehicle was said to stop or set off. The same numbers come from

      ```
      FILTER_SCORE=1 swift test --filter FilterScore
      ```

      which also compares them with this page; with `UPDATE_GOLDENS=1` instead of `FILTER_SCORE=1` it writes them anew.

      | Trouble | Bad fixes | passed | | Good fixes | refused | | Longest | Turns/h |
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

      What passes of the bad ones is what the receiver's own words do not speak against: a place that wanders off between walls
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
