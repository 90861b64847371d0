#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares gpsd's decoder with the daemon's on recorded drives: gpsd_verdicts.py BINDIR [--list]

gpsdecode, which is gpsd's decoder, reads the drives of Tests/FilterScore/Drives that have a date. `fleet-locationctl fixes --verdict`
filters its reports, and the same drive decoded directly. For fixes of the same time the verdicts and the assumed accuracies are
compared. If one time is reported twice, it counts as accepted if either report was. A difference in accuracy is attributed to gpsd if
the receiver states it with PGRME, which gpsd ignores, or if gpsd has computed it from the dilution of the previous epoch, because it
reports the position before it has read this epoch's GSA. --list prints each difference.
"""
import datetime
import gzip
import json
import os
import subprocess
import sys
import tempfile

DRIVES = os.path.join(os.path.dirname(__file__), "..", "FilterScore", "Drives")
NAMES = ["dotnet2", "morten", "splosch", "genivi-munich", "genivi-swiss", "mtv-f9k"]
# gpsd adds week rollovers to old dates.
ROLLOVER = 1024 * 7 * 86_400_000
# The maximum percentage of different verdicts, in all drives and in each.
MOST, MOST_OF_A_DRIVE = 0.2, 0.6
# The maximum ratio of the two accuracies, unless attributed to gpsd, and the number of fixes of all drives that may exceed it.
RATIO, EXCEPTIONS = 1.1, 2
# Metres of accuracy per unit of HDOP, as assumed by the filter.
RANGE_ERRORS = {"gnss": 5, "dgnss": 2, "rtk-float": 0.5, "rtk-fixed": 0.02}


def milliseconds(fix):
    return round(datetime.datetime.fromisoformat(fix["time"].replace("Z", "+00:00")).timestamp() * 1000) % ROLLOVER


def judged(program, path):
    """The fix of each time: the first accepted one, otherwise the first."""
    output = subprocess.run([program, "fixes", "--verdict", path], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in output.splitlines():
        fix = json.loads(line)
        before = found.setdefault(milliseconds(fix), fix)
        if before["verdict"] != "accepted" == fix["verdict"]:
            found[milliseconds(fix)] = fix
    return found


def cause(time, before, direct, through):
    """Why the accuracies of this fix differ; `same` if they are equal.

    `before`: the times of the two previous epochs.
    """
    one, other = (fixes[time].get("assumedAccuracy", 0) for fixes in (direct, through))
    if max(one, other) <= RATIO * min(one, other):
        return "same"
    fix, dilution = direct[time], through[time].get("hdop", 0)
    stated = fix.get("horizontalAccuracy", 0)
    if abs(stated - fix.get("hdop", 0) * RANGE_ERRORS.get(fix["quality"], 0)) > 0.01 * stated:
        return "stated"
    if any(abs(direct[earlier].get("hdop", 0) - dilution) < 0.006 for earlier in before):
        return "earlier"
    return "other"


def main():
    program, lists = os.path.join(sys.argv[1], "fleet-locationctl"), "--list" in sys.argv
    failures = []
    total = dict.fromkeys(("both", "verdicts", "stated", "earlier", "other"), 0)
    print(f"{'drive':14} {'direct':>6} {'gpsd':>6} {'both':>6} {'other verdict':>15} | other accuracy: {'stated':>6} {'earlier':>7} {'other':>5}")
    with tempfile.TemporaryDirectory() as directory:
        for name in NAMES:
            recording, reports = (os.path.join(directory, name + suffix) for suffix in (".nmea", ".json"))
            with gzip.open(os.path.join(DRIVES, name + ".nmea.gz")) as packed, open(recording, "wb") as file:
                file.write(packed.read())
            with open(recording, "rb") as source, open(reports, "wb") as file:
                subprocess.run(["gpsdecode"], stdin=source, stdout=file, stderr=subprocess.DEVNULL, check=True)
            direct, through = judged(program, recording), judged(program, reports)
            both = sorted(direct.keys() & through.keys())
            verdicts = [time for time in both if direct[time]["verdict"] != through[time]["verdict"]
                        and "accepted" in (direct[time]["verdict"], through[time]["verdict"])]
            accepted = [time for time in both if direct[time]["verdict"] == through[time]["verdict"] == "accepted"]
            times = sorted(direct)
            place = {time: index for index, time in enumerate(times)}
            causes = {time: cause(time, times[max(place[time] - 2, 0):place[time]], direct, through) for time in accepted}
            if lists:
                for time in sorted(set(verdicts + [time for time, why in causes.items() if why == "other"])):
                    print(json.dumps(direct[time]), json.dumps(through[time]), sep="\n  ")
            share = 100 * len(verdicts) / max(len(both), 1)
            counts = {why: list(causes.values()).count(why) for why in ("stated", "earlier", "other")}
            print(f"{name:14} {len(direct):6} {len(through):6} {len(both):6} {len(verdicts):6} {share:6.2f} % | {'':15} "
                  f"{counts['stated']:6} {counts['earlier']:7} {counts['other']:5}")
            if not accepted or share > MOST_OF_A_DRIVE or len(both) < 0.95 * max(len(direct), len(through)):
                failures.append(name)
            for key, count in {"both": len(both), "verdicts": len(verdicts), **counts}.items():
                total[key] += count
    share = 100 * total["verdicts"] / total["both"]
    print(f"{'all':14} {'':6} {'':6} {total['both']:6} {total['verdicts']:6} {share:6.2f} % | {'':15} "
          f"{total['stated']:6} {total['earlier']:7} {total['other']:5}")
    if failures or share > MOST or total["other"] > EXCEPTIONS:
        sys.exit(f"gpsd and the decoder differ: {', '.join(failures) or 'all drives together'}")


main()
