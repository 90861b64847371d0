#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the NMEA decoder with gpsd's: decoders.py PROGRAMS DECODER-BENCHMARK

Both read the same file, an hour of a receiver with four constellations at 1 Hz, and print what they understood as JSON, to
/dev/null: `fleet-locationctl fixes` and `gpsdecode`, as whole processes, in turn. Debian's gpsdecode also prints the
satellites, because gpsd's clients ask for them. The decoder alone, without its text output, is measured as well.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROUNDS = int(os.environ.get("BENCH_DECODER_ROUNDS", "7"))
# Starting a program takes some milliseconds: with this many hours in a file they are negligible.
HOURS = 5


def cpu(command, file):
    with open(file, "rb") as source:
        process = subprocess.Popen(command, stdin=source, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command[0]} failed: {status}")
    return usage.ru_utime + usage.ru_stime


def allocations(program, file, directory):
    """Calls of allocation functions in one pass over a file; None without heaptrack."""
    if shutil.which("heaptrack") is None:
        return None
    record = os.path.join(directory, "heaptrack")
    subprocess.run(["heaptrack", "-o", record, program, file, "0"], capture_output=True, check=True)
    name = next(os.path.join(directory, entry) for entry in os.listdir(directory) if entry.startswith("heaptrack."))
    report = subprocess.run(["heaptrack", "--analyze", name], capture_output=True, text=True, check=True).stdout
    os.remove(name)
    return int(re.search(r"calls to allocation functions: (\d+)", report)[1])


def figures(programs, decoder_benchmark):
    with tempfile.TemporaryDirectory() as directory:
        hour = subprocess.run([decoder_benchmark, "--print"], capture_output=True, check=True).stdout
        sentences = hour.count(b"$")
        names = {count: os.path.join(directory, f"{count}.nmea") for count in (1, HOURS)}
        for count, name in names.items():
            with open(name, "wb") as output:
                output.write(hour * count)
        pairs = []
        for _ in range(ROUNDS):
            ours = cpu([os.path.join(programs, "fleet-locationctl"), "fixes", "-"], names[HOURS])
            theirs = cpu(["gpsdecode"], names[HOURS])
            pairs.append((sentences * HOURS / ours, sentences * HOURS / theirs))
        output = subprocess.run([decoder_benchmark], capture_output=True, text=True, check=True).stdout
        alone = float(output.rsplit(":", 1)[1])
        # What is allocated only once cancels out in the difference.
        counts = [allocations(decoder_benchmark, names[count], directory) for count in (1, HOURS)]
    yardstick = statistics.median(theirs for _, theirs in pairs)
    result = {
        "NMEA sentences per CPU-second, and gpsdecode": {
            "daemon": statistics.median(ours for ours, _ in pairs), "yardstick": yardstick,
            "ratio": statistics.median(ours / theirs for ours, theirs in pairs), "digits": 0,
            "aim": ["ratio at least", 10]},
        "  the decoder alone": {
            "daemon": alone, "yardstick": yardstick, "ratio": alone / yardstick, "digits": 0,
            "aim": ["at least", 3_000_000]},
    }
    if None not in counts:
        result["  allocations per sentence"] = {
            "daemon": (counts[1] - counts[0]) / (sentences * (HOURS - 1)), "digits": 4}
    return result


if __name__ == "__main__":
    for title, figure in figures(*sys.argv[1:]).items():
        print(title, figure)
