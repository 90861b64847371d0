#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `make demo` as on a terminal: demo.py BINDIR

Three vehicles of both services at five times the speed, one of on-demand trips, and one for each simulated receiver
until Ctrl-C on a terminal; one until its time is up; and invalid arguments.
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


def interrupt(programs, variables, is_enough):
    """Runs the demo on a terminal, where Ctrl-C is pressed when its output is enough, or after a minute.

    Returns its output, its exit status, and the seconds from Ctrl-C to its end.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(DEMO, [DEMO, programs], variables)
    output, pressed, end = "", None, time.monotonic() + 60
    while True:
        is_late = time.monotonic() > end
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                output += os.read(terminal, 65536).decode()
            except OSError:
                break
        if pressed is None and (is_enough(output.replace("\r\n", "\n")) or is_late):
            pressed = time.monotonic()
            os.write(terminal, b"\x03")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    check(pressed, f"it ends by itself: exit status {status}", output)
    return output.replace("\r\n", "\n"), status, time.monotonic() - pressed


def is_driving(found):
    """Whether three vehicles have sent some updates each, and two of them drive five times as fast as in a town."""
    # The speed in a town is 14 m/s at most, and much lower at corners and stops.
    quick = [
        track for track in found.values()
        if sum(metres(*step) for step in zip(track, track[1:])) > 25 * (track[-1][0] - track[0][0])
        and max(update[3] for update in track) > 50]
    return len(found) == 3 and all(len(track) >= 5 for track in found.values()) and len(quick) >= 2


def goes_on(output):
    """Whether the daemon of the only vehicle has sent another update, and so knows that the first one was accepted."""
    return any(len(track) > 1 for track in updates(output).values())


def several(programs, directory):
    output, status, _ = interrupt(
        programs, environment(directory, VEHICLES="3", SPEEDUP="5"), lambda output: is_driving(updates(output)))
    check(status == 0, f"exit status {status}", output)
    check(re.search(r"Live map +http://127\.0\.0\.1:\d+/\n", output), "no address of a map", output)
    check("Transport     HTTP/2 over TLS, through nghttpx\n" in output, "it does not show HTTP/2", output)
    check("3 daemons in " in output and " of CPU and " in output, "CPU and memory are not shown", output)
    found = updates(output)
    check(sorted(found) == ["taxi-2", "truck-1", "truck-3"], f"updates of {sorted(found)}", output)
    check(is_driving(found), "within a minute they do not get on five times as fast", output)
    check(re.search(r"taxi-2 .* ONLINE\n", output) and not re.search(r"truck-\d .* ONLINE\n", output), "states", output)
    starts = [track[0] for track in found.values()]
    apart = min(metres(starts[a], starts[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    check(apart > 100, f"two of them start {apart:.0f} m apart", output)


def for_some_seconds(programs, directory):
    done = subprocess.run(
        [DEMO, programs], env=environment(directory, SECONDS="12"), capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, f"twelve seconds: exit status {done.returncode}", done.stdout + done.stderr)


def without_http2(programs, directory):
    variables = environment(directory, SPEEDUP="5") | {"NGHTTPX_OPTIONS": "--npn-list=http/1.1"}
    output, status, _ = interrupt(programs, variables, goes_on)
    check(status == 1 and "demo: updates of truck-17 used HTTP/1.1, not HTTP/2\n" in output,
          f"a server without HTTP/2: exit status {status}", output)


def from_receiver(programs, directory, kind):
    output, status, _ = interrupt(programs, environment(directory, SOURCE=kind), goes_on)
    check(status == 0, f"SOURCE={kind}: exit status {status}", output)
    check(len(updates(output).get("truck-17", [])) > 1, f"SOURCE={kind}: too few updates", output)


def until_interrupted(programs, directory):
    def is_enough(output):
        if not goes_on(output):
            return False
        socket = re.search(r"status --watch --socket (\S+)", output)
        check(socket, "no command for the status", output)
        status = subprocess.run(
            [os.path.join(programs, "fleet-locationctl"), "status", "--socket", socket[1]], capture_output=True,
            text=True)
        check(status.returncode == 0 and "town.gpx" in status.stdout, f"the status: {status}", output)
        off = re.search(r"pause --socket (\S+);", output)
        check(off and off[1] == socket[1] and "/taxi-17/" in off[1], "no command for the end of a duty", output)
        return True

    output, status, took = interrupt(programs, environment(directory, SERVICE="trips"), is_enough)
    check(goes_on(output), "no updates", output)
    check(status == 0 and took < 10, f"after Ctrl-C: exit status {status} in {took:.1f} s", output)
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
        for_some_seconds(programs, directory)
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
