#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests what simulate.py reports about a program that fails, traps, or runs nothing: test-simulate.py"""

import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).with_name("simulate.py")

# Stands in for the test program: each seed that SEEDS names ends as SEEDS says.
PROGRAM = """#!/usr/bin/env -S python3 -S -E
import os, signal, sys
first, runs = int(os.environ["SIMULATION_SEED"]), int(os.environ["SIMULATION_RUNS"])
ends, failed = SEEDS, 0
for seed in range(first, first + runs):
    end = ends.get(seed)
    if end == "trap":
        os.kill(os.getpid(), signal.SIGILL)
    if end == "fail":
        failed += 1
        print(f"↳ SIMULATION_SEED={seed} SIMULATION_RUNS=1 swift test --filter RandomRunTests")
print("ran", max(runs - RUNS_LESS, 0))
print("✔ Test run with 1 test in 1 suite ended")
sys.exit(1 if failed else 0)
"""


def simulate(seeds, runs_less=0):
    """Runs seeds 1 to 1020 of such a program, and returns the exit status and the output."""
    with tempfile.TemporaryDirectory() as directory:
        program = pathlib.Path(directory, "program")
        program.write_text(PROGRAM.replace("SEEDS", repr(seeds)).replace("RUNS_LESS", str(runs_less)))
        program.chmod(0o755)
        ended = subprocess.run([SCRIPT, program, "1..1020", pathlib.Path(directory, "done")], capture_output=True, text=True)
        return ended.returncode, ended.stdout + ended.stderr


for name, arguments, status, text in [
    ("no failure", ({},), 0, "1020 seeds of 1 to 1020"),
    ("two failures in one block", ({7: "fail", 900: "fail"},), 1, "2 failed: 7, 900."),
    ("a trap stops nothing", ({900: "fail", 1001: "trap", 1019: "fail"},), 1, "3 failed: 900, 1001, 1019."),
    ("a program that runs less than it should", ({}, 1), 1, "exit status 0, "),
    ("one that runs nothing", ({}, 1000), 1, "exit status 0, 0 runs"),
]:
    ended, output = simulate(*arguments)
    if ended != status or text not in output:
        sys.exit(f"simulate.py, {name}: exit status {ended}, and not {status} with “{text}”:\n{output}")
