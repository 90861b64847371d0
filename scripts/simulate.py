#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random drives of many seeds: simulate.py [--processes N] PROGRAM FIRST..LAST [FILE]

PROGRAM is the optimized test program of `make simulate SEEDS=…`. The seeds are run in blocks by N processes (2). A seed that fails is
printed with its command and its smallest scenario, and does not stop the others. Each finished block becomes a line of FILE
(build/simulation/done) with the commit, so that the same command continues after an interruption. At the end it prints how many seeds of
this commit have run, which failed, and the resulting bound on the rate of failures.
"""

import argparse
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

BLOCK = 1000


class Block:
    """A line of the file: commit, first seed, last seed, seconds, and the seeds that failed."""

    def __init__(self, commit, first, last, seconds, failed):
        self.commit, self.first, self.last, self.seconds, self.failed = commit, first, last, seconds, failed

    @staticmethod
    def read(line):
        commit, first, last, seconds, *failed = line.split()
        return Block(commit, int(first), int(last), float(seconds), [int(seed) for seed in failed])

    def __str__(self):
        return " ".join([self.commit, str(self.first), str(self.last), f"{self.seconds:.1f}", *map(str, self.failed)])


def commit():
    """The commit that is checked out, with `+` if files differ from it."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def run(program, name, first, last):
    """Runs a block, and returns it with what is to be printed of it."""
    environment = dict(os.environ, SIMULATION_SEED=str(first), SIMULATION_RUNS=str(last - first + 1), SIMULATION_GOES_ON="1")
    start = time.monotonic()
    ended = subprocess.run(
        [program, "--testing-library", "swift-testing", "--no-parallel", "--filter", "RandomRunTests/invariants"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    seconds = time.monotonic() - start
    output = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout)
    failed = sorted({int(seed) for seed in re.findall(r"SIMULATION_SEED=(\d+) SIMULATION_RUNS=1\b", output)})
    if ended.returncode < 0:
        # The program has trapped: find the seed.
        if first == last:
            return Block(name, first, last, seconds, [first]), f"SIMULATION_SEED={first} ended with {ended.returncode}:\n{output[-4000:]}"
        middle = (first + last) // 2
        (left, left_text), (right, right_text) = run(program, name, first, middle), run(program, name, middle + 1, last)
        if not left.failed and not right.failed:
            sys.exit(f"seeds {first} to {last} ended with {ended.returncode}, but not by halves\n{output[-4000:]}")
        return (Block(name, first, last, time.monotonic() - start, left.failed + right.failed),
                "\n".join(text for text in [left_text, right_text] if text))
    # A program that ran other seeds, or none, has proved nothing.
    ran = sum(map(int, re.findall(r"\bran (\d+)$", output, re.MULTILINE)))
    if "Test run with" not in output or ran != last - first + 1 or (ended.returncode != 0) != bool(failed):
        sys.exit(f"seeds {first} to {last}: exit status {ended.returncode}, {ran} runs\n{output[-4000:]}")
    text = "\n".join(line for line in output.splitlines() if not re.match(r"[◇✔]|ran ", line)) if failed else ""
    return Block(name, first, last, seconds, failed), text


def missing(done, first, last):
    """The seeds of a range that no block has, in blocks."""
    have = set()
    for block in done:
        have.update(range(max(block.first, first), min(block.last, last) + 1))
    start = None
    for seed in range(first, last + 2):
        is_missing = seed <= last and seed not in have
        if is_missing and start is None:
            start = seed
        if start is not None and (not is_missing or seed - start == BLOCK):
            yield start, seed - 1
            start = seed if is_missing else None


def bound(runs, failures):
    """The 95 % upper limit of failures in a million runs, with the Poisson distribution."""
    low, high = 0.0, failures + 30.0 + 10 * math.sqrt(failures)
    for _ in range(100):
        mean = (low + high) / 2
        chance = sum(math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) for k in range(failures + 1))
        low, high = (mean, high) if chance > 0.05 else (low, mean)
    return high / runs * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("program")
    parser.add_argument("seeds")
    parser.add_argument("file", nargs="?", default="build/simulation/done")
    arguments = parser.parse_args()
    seeds = re.fullmatch(r"(\d+)\.\.(\d+)", arguments.seeds)
    if not seeds or int(seeds[1]) > int(seeds[2]):
        sys.exit(f"SEEDS={arguments.seeds}: must be a range such as 1..1000000")
    first, last = int(seeds[1]), int(seeds[2])
    name, file = commit(), pathlib.Path(arguments.file)
    file.parent.mkdir(parents=True, exist_ok=True)
    done = [Block.read(line) for line in file.read_text().splitlines()] if file.exists() else []
    # It is not recorded with which uncommitted changes a block was run.
    done = [] if name.endswith("+") else [block for block in done if block.commit == name and first <= block.first <= block.last <= last]
    blocks = list(missing(done, first, last))
    print(f"Commit {name}: {sum(end - start + 1 for start, end in blocks)} of seeds {first} to {last} to run", flush=True)

    lock = threading.Lock()

    def work(block):
        result, text = run(os.path.abspath(arguments.program), name, *block)
        with lock:
            done.append(result)
            with file.open("a") as lines:
                print(result, file=lines)
            if text:
                print(text)
            print(f"{result.first} to {result.last}: {result.seconds:.0f} s, {len(result.failed)} failed", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        for ended in concurrent.futures.as_completed([pool.submit(work, block) for block in blocks]):
            try:
                ended.result()
            except SystemExit:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    runs = sum(block.last - block.first + 1 for block in done)
    failed = sorted(seed for block in done for seed in block.failed)
    hours = sum(block.seconds for block in done) / 3600
    print(f"{runs} seeds of {first} to {last} on commit {name} in {hours:.2f} hours of one processor: {len(failed)} failed"
          + (f": {', '.join(map(str, failed))}" if failed else "")
          + f". With 95 % certainty fewer than {bound(runs, len(failed)):.1f} of a million fail.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
