#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of an update and its fix, without the kernel's: instructions.py PROGRAMS

The difference between a run of 500 updates and one of 100 under callgrind, so that the start is not included. It needs valgrind.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading

from harness import TLS_FRONT
from measure import Bench


def count(bench, program, updates):
    """The instructions of a run, and the number of updates that were accepted during it."""
    arguments = bench.daemon(bench.recording(updates))
    valgrind = subprocess.Popen(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *arguments[1:]],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    report = []
    reader = threading.Thread(target=lambda: report.append(valgrind.stderr.read()))
    reader.start()
    accepted = 0
    # The emulator's output must be read, otherwise it would block.
    while valgrind.poll() is None:
        accepted += bench.server.read(0.05)
    reader.join()
    accepted += bench.server.read(0.2)
    collected = re.search(r"Collected : (\d+)", report[0])
    if valgrind.returncode != 0 or not collected or accepted < updates // 2:
        sys.exit(f"instructions: {accepted} updates and status {valgrind.returncode}:\n{report[0][-2000:]}")
    return int(collected[1]), accepted


def main():
    (programs,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        # Valgrind does not understand Swift's debugging information.
        program = os.path.join(directory, "fleet-locationd")
        subprocess.run(["strip", "--strip-debug", "-o", program, os.path.join(programs, "fleet-locationd")], check=True)
        subprocess.run([TLS_FRONT, "certificates", os.path.join(directory, "tls")], check=True)
        bench = Bench(programs, "", os.path.join(directory, "tls"), directory)
        try:
            (few, fewer), (many, more) = (count(bench, program, updates) for updates in (100, 500))
        finally:
            bench.server.close()
    print(f"{(many - few) / (more - fewer):,.0f} instructions per update")


if __name__ == "__main__":
    main()
