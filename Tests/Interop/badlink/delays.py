#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how long each position takes from the fix to Fleet Engine, over links of several kinds.

  delays.py BINDIR RESULT.json [--minutes N]      N minutes (5) for each kind; it needs root

The daemon, the link and the server are those of badlink.py. A position belongs to the link of its own time, and counts when
it arrives for the first time, as the live position or as one that was held back.
"""
import argparse
import datetime
import json
import os
import shutil
import signal
import sys
import tempfile
import time

from badlink import Bench, Failure

# The default. At 5 s Fleet Engine's own limit, which counts from each answer, would have positions wait as well.
INTERVAL = 10
GOOD = "set delay=60 jitter=15 loss=0 rate=0"


def steadily(order):
    def link(bench, seconds):
        bench.order(order)
        bench.run(seconds)

    return link


def tunnels(bench, seconds):
    """A minute of silence in every two."""
    bench.order(GOOD)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for order in ("silent on", "silent off"):
            bench.order(order)
            bench.run(min(60, max(end - time.monotonic(), 0)))
    bench.order("silent off")


LINKS = [
    ("good LTE", "60 ms each way, nothing lost", steadily(GOOD)),
    ("poor LTE", "60 ms, 1 % of packets lost, 1 Mbit/s", steadily("set delay=60 jitter=15 loss=1 rate=1000")),
    ("2G", "300 ms, 20 kbit/s", steadily("set delay=300 jitter=100 loss=0 rate=20")),
    ("edge of a cell", "120 ms, 20 % lost", steadily("set delay=120 jitter=60 loss=20 rate=0")),
    ("tunnels", "60 ms, silent for every other minute", tunnels),
]


def milliseconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def arrivals(record):
    """Of each position, by its time: when it arrived first, and whether it had been held back. Milliseconds."""
    found = {}
    with open(record, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if not entry["accepted"]:
                continue
            body, at = json.loads(entry["body"]), milliseconds(entry["time"])
            for position in body.get("pastLocations", []):
                found.setdefault(milliseconds(position["supplementalLocationTime"]), (at, True))
            found.setdefault(milliseconds(body["lastLocation"]["supplementalLocationTime"]), (at, False))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("result")
    parser.add_argument("--minutes", type=float, default=5)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("delays.py: network namespaces need root")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = tempfile.mkdtemp(prefix="delays-")
    bench = Bench(os.path.abspath(arguments.binaries), work, INTERVAL)
    spans = []
    try:
        bench.up()
        for name, what, link in LINKS:
            bench.order(GOOD)
            bench.run(INTERVAL + 1)
            begin = time.time() * 1000
            link(bench, arguments.minutes * 60)
            spans.append((name, what, begin, time.time() * 1000))
            # Queued positions must not wait for the next link.
            bench.order(GOOD)
            bench.next_accepted(60)
            bench.run(2 * INTERVAL)
        found = arrivals(bench.record)
    except Failure as failure:
        sys.exit(f"delays.py: {failure}")
    finally:
        bench.down()
        shutil.rmtree(work, ignore_errors=True)
    links = []
    for name, what, begin, end in spans:
        chosen = sorted((at - told, past) for told, (at, past) in found.items() if begin <= told < end)
        live = [round(delay) for delay, past in chosen if not past]
        past = [round(delay) for delay, past in chosen if past]
        links.append({"name": name, "what": what, "live": live, "past": past})
        middle, most = chosen[(len(chosen) - 1) // 2][0], chosen[-1][0]
        print(
            f"{name:15} {len(chosen):4} positions ({len(past)} held back), half within {middle:.0f} ms, "
            f"all within {most:.0f} ms ({what})")
    with open(arguments.result, "w", encoding="utf-8") as file:
        json.dump({"minutes": arguments.minutes, "interval": INTERVAL, "links": links}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
