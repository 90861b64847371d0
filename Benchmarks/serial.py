#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading a receiver on a UART costs: serial.py BINDIR [SECONDS]

A UART hands over 16 bytes at a time. Four receivers on pseudo-terminals do the same at the pace of their line, 115,200 and 9,600
baud, once and ten times a second, each with as many sentences as take four fifths of the time, 15 at most; an update goes each
10 s. Counted are how often each daemon gives the processor back of its own accord (/proc/PID/status), its time on the processor
(/proc/PID/schedstat), and with `perf`, as root and where the machine lets them be counted, its system calls and its instructions.
"""
import os
import pty
import subprocess
import sys
import tempfile
import time
import tty

from harness import free_port, spawn, status
from recording import sentence

PIECE = 16
LINES = ((115_200, 1), (115_200, 10), (9600, 1), (9600, 10))
# What `perf` calls them, and what they are.
EVENTS = {"raw_syscalls:sys_enter": "system calls", "instructions:u": "instructions", "instructions:k": "instructions in the kernel"}
BODIES = ["GNRMC,{time},A,4807.{place:04},N,01131.0000,E,30.0,0.0,{date},,,A",
          "GNGGA,{time},4807.{place:04},N,01131.0000,E,1,11,0.9,545.4,M,46.9,M,,",
          "GNGSA,A,3,08,10,23,27,32,24,28,21,02,15,,,1.35,0.79,1.09"]
BODIES += [f"GPGSV,12,{number},48,05,40,083,46,02,17,308,41,12,07,344,39,14,22,228,45" for number in range(1, 13)]

SETTINGS = """
[vehicle]
provider_id = "bench"
vehicle_id = "{name}"
[source]
type = "serial"
device = "{device}"
baud = {baud}
[token]
url = "http://127.0.0.1:{port}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "http://127.0.0.1:{port}"
[log]
level = "notice"
"""


def transmit(line, baud, rate):
    """Writes until it is killed."""
    first = time.time() + 1
    for number in range(1 << 30):
        start = first + number / rate
        fields = {"time": time.strftime("%H%M%S", time.gmtime(start)) + f".{int(start * 100) % 100:02}",
                  "date": time.strftime("%d%m%y", time.gmtime(start)), "place": number * 83 // (10 * rate) % 10_000}
        epoch = b""
        for body in BODIES:
            next_sentence = sentence(body.format(**fields)).encode()
            if epoch and (len(epoch) + len(next_sentence)) * 10 / baud > 0.8 / rate:
                break
            epoch += next_sentence
        for end in range(PIECE, len(epoch) + PIECE, PIECE):
            time.sleep(max(start + min(end, len(epoch)) * 10 / baud - time.time(), 0))
            os.write(line, epoch[end - PIECE:end])


def processor(process):
    """Seconds that a process has been on the processor."""
    with open(f"/proc/{process}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def counts(daemons, seconds):
    """What `perf` counts of each daemon in that time, in which it sleeps; empty where there is no `perf`."""
    watchers = {}
    for name, process in daemons.items():
        try:
            watchers[name] = subprocess.Popen(
                ["perf", "stat", "-x", ",", "-e", ",".join(EVENTS), "-p", str(process), "sleep", str(seconds)],
                stderr=subprocess.PIPE, text=True)
        except FileNotFoundError:
            break
    time.sleep(seconds)
    found = {}
    for name, watcher in watchers.items():
        rows = (row.split(",") for row in watcher.communicate()[1].splitlines() if "," in row)
        found[name] = {row[2]: float(row[0]) / seconds for row in rows if row[0].replace(".", "").isdigit()}
    return found


def figures(programs, seconds=30):
    """By line: wake-ups a second, the processor time of a day in seconds, and what `perf` says for each second."""
    with tempfile.TemporaryDirectory() as directory:
        port = free_port()
        emulator = subprocess.Popen(
            [os.path.join(programs, "fleet-engine-emulator"), "--port", str(port)], stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        daemons, writers = {}, []
        for baud, rate in LINES:
            name = f"{baud}-{rate}"
            line, device = pty.openpty()
            tty.setraw(device)
            path = os.path.join(directory, name + ".toml")
            with open(path, "w", encoding="ascii") as settings:
                settings.write(SETTINGS.format(name=name, device=os.ttyname(device), baud=baud, port=port))
            daemons[name] = spawn(
                [os.path.join(programs, "fleet-locationd"), "--config", path], os.path.join(directory, "log"))
            writer = os.fork()
            if writer == 0:
                transmit(line, baud, rate)
            writers.append(writer)
        # The first fix, the token and the connection are over.
        time.sleep(10)
        before = {name: (status(process), processor(process), time.monotonic()) for name, process in daemons.items()}
        counted = counts(daemons, seconds)
        result = {}
        for name, process in daemons.items():
            after, used, now = status(process), processor(process), time.monotonic()
            if not after:
                with open(os.path.join(directory, "log"), encoding="utf-8") as log:
                    raise SystemExit(f"{name} has ended: {log.read()}")
            switches = after["voluntary_ctxt_switches"] - before[name][0]["voluntary_ctxt_switches"]
            elapsed = now - before[name][2]
            result[name] = {
                "wakeups": switches / elapsed, "day": (used - before[name][1]) / elapsed * 86_400} | counted.get(name, {})
        for process in writers:
            os.kill(process, 9)
        for process in daemons.values():
            os.kill(process, 15)
        for process in [*writers, *daemons.values()]:
            os.wait4(process, 0)
        emulator.terminate()
        emulator.wait()
        return result


def main():
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    for name, row in figures(sys.argv[1], seconds).items():
        baud, rate = name.split("-")
        others = ", ".join(f"{row[event]:,.1f} {unit}" for event, unit in EVENTS.items() if event in row)
        print(f"{baud:>7} baud, {rate:>2} Hz: {row['wakeups']:6.1f} wake-ups a second, {row['day']:5.0f} s of CPU a day{', ' + others if others else ''}")


if __name__ == "__main__":
    main()
