#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `make demo` as on a terminal: demo.py BINDIR

Three vehicles of both services at five times the speed until the time is up, one of on-demand trips until Ctrl-C on a
terminal, and invalid arguments.
"""
import glob
import math
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DEMO = os.path.join(HERE, "..", "..", "scripts", "demo.sh")
UPDATE = re.compile(r"(\d+):(\d+):([\d.]+) (\S+) +(-?[\d.]+),(-?[\d.]+) +([\d.]+) m/s")


def check(is_so, what, output=""):
    if not is_so:
        sys.exit(f"demo: {what}\n{output}")


def environment(directory, **variables):
    return {**os.environ, "TMPDIR": directory, **{f"DEMO_{key}": value for key, value in variables.items()}}


def updates(output):
    """For each vehicle: seconds of the day, degrees and metres per second."""
    found = {}
    for hour, minute, second, name, *numbers in UPDATE.findall(output):
        at = int(hour) * 3600 + int(minute) * 60 + float(second)
        found.setdefault(name, []).append((at, *map(float, numbers)))
    return found


def metres(one, other):
    north = (other[1] - one[1]) * 111_200
    east = (other[2] - one[2]) * 111_200 * math.cos(math.radians(one[1]))
    return math.hypot(north, east)


def several(programs, directory):
    begun = time.monotonic()
    done = subprocess.run(
        [DEMO, programs], env=environment(directory, VEHICLES="3", SPEEDUP="5", SECONDS="8"), capture_output=True,
        text=True, timeout=60)
    output = done.stdout + done.stderr
    check(done.returncode == 0, f"exit status {done.returncode}", output)
    check(time.monotonic() - begun < 30, "eight seconds took longer than thirty", output)
    check(re.search(r"Live map +http://127\.0\.0\.1:\d+/\n", output), "no address of a map", output)
    check("Transport     HTTP/2 over TLS, through nghttpx\n" in output, "it does not show HTTP/2", output)
    check("3 daemons in " in output and " of CPU and " in output, "CPU and memory are not shown", output)
    found = updates(output)
    check(sorted(found) == ["taxi-2", "truck-1", "truck-3"], f"updates of {sorted(found)}", output)
    check(re.search(r"taxi-2 .* ONLINE\n", output) and not re.search(r"truck-\d .* ONLINE\n", output), "states", output)
    quick = 0
    for name, track in found.items():
        check(len(track) >= 5, f"{name} has {len(track)} updates", output)
        # The speed in a town is 14 m/s at most, and much lower at corners and stops.
        way = sum(metres(*step) for step in zip(track, track[1:]))
        quick += way / (track[-1][0] - track[0][0]) > 25 and max(update[3] for update in track) > 50
    check(quick >= 2, "they do not get on five times as fast", output)
    starts = [track[0] for track in found.values()]
    apart = min(metres(starts[a], starts[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    check(apart > 100, f"two of them start {apart:.0f} m apart", output)


def without_http2(programs, directory):
    variables = environment(directory, SPEEDUP="5", SECONDS="4") | {"NGHTTPX_OPTIONS": "--npn-list=http/1.1"}
    done = subprocess.run([DEMO, programs], env=variables, capture_output=True, text=True, timeout=60)
    check(done.returncode == 1 and "demo: updates of truck-17 used HTTP/1.1, not HTTP/2\n" in done.stderr,
          f"a server without HTTP/2: exit status {done.returncode}", done.stdout + done.stderr)


def from_receiver(programs, directory, kind):
    done = subprocess.run(
        [DEMO, programs], env=environment(directory, SOURCE=kind, SECONDS="12"), capture_output=True, text=True,
        timeout=60)
    output = done.stdout + done.stderr
    check(done.returncode == 0, f"SOURCE={kind}: exit status {done.returncode}", output)
    check(len(updates(output).get("truck-17", [])) >= 2, f"SOURCE={kind}: too few updates", output)


def until_interrupted(programs, directory):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(DEMO, [DEMO, programs], environment(directory, SERVICE="trips"))
    output, pressed, end = "", None, time.monotonic() + 30
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            output += os.read(terminal, 65536).decode()
        except OSError:
            break
        if pressed is None and updates(output):
            socket = re.search(r"status --watch --socket (\S+)", output)
            check(socket, "no command for the status", output)
            status = subprocess.run(
                [os.path.join(programs, "fleet-locationctl"), "status", "--socket", socket[1]], capture_output=True,
                text=True)
            check(status.returncode == 0 and "town.gpx" in status.stdout, f"the status: {status}", output)
            off = re.search(r"pause --socket (\S+);", output)
            check(off and off[1] == socket[1] and "/taxi-17/" in off[1], "no command for the end of a duty", output)
            pressed = time.monotonic()
            os.write(terminal, b"\x03")
    check(pressed, "no update", output)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    took = time.monotonic() - pressed
    check(code == 0 and took < 10, f"after Ctrl-C: exit status {code} in {took:.1f} s", output)
    check(re.search(r"accepted \d+ updates, refused 0", output), "the last line is missing", output)


def mistakes(directory):
    for variable, value in (
        ("ROUTE", "nowhere.gpx"), ("ROUTE", "/"), ("VEHICLES", "0"), ("VEHICLES", "2;3"), ("VEHICLES", "101"),
        ("SPEEDUP", "x"), ("SPEEDUP", "0"), ("SPEEDUP", "1e1"), ("SPEEDUP", "02"), ("SECONDS", "-1"), ("SECONDS", "1.5"),
        ("SERVICE", "rides"),
        ("SOURCE", "serial"),
    ):
        done = subprocess.run(
            [DEMO, "--check"], env=environment(directory, **{variable: value}), capture_output=True, text=True)
        reported = done.stderr.startswith(f"demo: {variable}={value}: ") and done.stderr.count("\n") == 1
        check(done.returncode == 2 and reported, f"{variable}={value}: {done}")
    done = subprocess.run([DEMO, "--check"], env=environment(directory), capture_output=True, text=True)
    check(done.returncode == 0, f"without any variable: {done}")


def not_a_route(programs, directory):
    path = os.path.join(directory, "empty.gpx")
    with open(path, "w", encoding="ascii") as file:
        file.write("<gpx></gpx>\n")
    done = subprocess.run(
        [DEMO, programs], env=environment(directory, ROUTE=path), capture_output=True, text=True, timeout=20)
    check(done.returncode != 0 and path in done.stderr and "listening" not in done.stdout, f"an empty route: {done}")


def main():
    programs = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="demo-test-") as directory:
        mistakes(directory)
        not_a_route(programs, directory)
        several(programs, directory)
        without_http2(programs, directory)
        for kind in ("tcp", "udp", "modem"):
            from_receiver(programs, directory, kind)
        until_interrupted(programs, directory)
        left = glob.glob(os.path.join(directory, "fleet-demo.*"))
        check(not left, f"left behind: {left}")
    left = subprocess.run(["pgrep", "-f", directory], capture_output=True, text=True).stdout
    check(not left, f"still running: {left}")
    print("demo: all passed")


main()
