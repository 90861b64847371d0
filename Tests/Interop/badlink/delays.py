#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the delay of each position from the fix to Fleet Engine, over several kinds of links.

  delays.py BINDIR RESULT.json [--minutes N]      N minutes (5) for each kind; it needs root

The daemon, the link and the server are those of badlink.py. A position belongs to the link at its own time, and is measured when
it arrives for the first time, as the live position or as a queued one.
"""
import argparse
import json
import os
import sys
import time

from badlink import Bench
from trial import Failure, Record, epoch_seconds, positions, work_directory

# The default interval. At 5 s, Fleet Engine's limit, which counts from each response, would delay positions as well.
INTERVAL = 10
GOOD = "set delay=60 jitter=15 loss=0 rate=0"


def steadily(order):
    def link(bench, seconds):
        bench.order(order)
        bench.run(seconds)

    return link


def tunnels(bench, seconds):
    """A minute of silence in every two minutes."""
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


def arrivals(record):
    """For the time of each position: when it first arrived, in seconds since 1970, and whether it had been queued."""
    found = {}
    for entry in Record(record.path).entries():
        if entry["accepted"]:
            for index, position in enumerate(positions(entry)):
                found.setdefault(epoch_seconds(position["supplementalLocationTime"]), (epoch_seconds(entry["time"]), index > 0))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("result")
    parser.add_argument("--minutes", type=float, default=5)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("delays.py: network namespaces need root")
    spans = []
    with work_directory("delays", keep=False) as work:
        bench = Bench(os.path.abspath(arguments.binaries), work, INTERVAL)
        try:
            bench.up()
            for name, what, link in LINKS:
                bench.order(GOOD)
                bench.run(INTERVAL + 1)
                begin = time.time()
                link(bench, arguments.minutes * 60)
                spans.append((name, what, begin, time.time()))
                # Queued positions must not wait for the next link.
                bench.order(GOOD)
                bench.next_accepted(60)
                bench.run(2 * INTERVAL)
            found = arrivals(bench.record)
        except Failure as failure:
            sys.exit(f"delays.py: {failure}")
        finally:
            bench.down()
    links = []
    for name, what, begin, end in spans:
        chosen = sorted(((at - fix) * 1000, past) for fix, (at, past) in found.items() if begin <= fix < end)
        live = [round(delay) for delay, past in chosen if not past]
        past = [round(delay) for delay, past in chosen if past]
        links.append({"name": name, "what": what, "live": live, "past": past})
        middle, most = chosen[(len(chosen) - 1) // 2][0], chosen[-1][0]
        print(
            f"{name:15} {len(chosen):4} positions ({len(past)} queued), half within {middle:.0f} ms, "
            f"all within {most:.0f} ms ({what})")
    with open(arguments.result, "w", encoding="utf-8") as file:
        json.dump({"minutes": arguments.minutes, "interval": INTERVAL, "links": links}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
