#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the daemon over a simulated bad mobile link, and checks the updates that the emulator accepts.

  badlink.py BINDIR [--short] [--json FILE] [--keep] [SCENARIO...]

The daemon is in its own network namespace; between it and Fleet Engine (the emulator behind TLS and HTTP/2) is link.py.
It removes everything that it creates. It needs root. Each scenario has a limit for the time from the network's return to the
first accepted update, and none may leave a gap in the track.
"""
import argparse
import ctypes
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from trial import Failure, Record, epoch_seconds, positions, print_tail, status, work_directory

HERE = os.path.dirname(os.path.abspath(__file__))
INTERVAL = 5
# Seconds to deliver queued positions after the last scenario.
DRAIN = 60
HOST = "fleetengine.test"
PORT = 8443


class NameServer(threading.Thread):
    """Answers every query for HOST with one address, or no query while it is dead."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address, self.dead = address, False
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 53))

    def run(self):
        while True:
            question, asker = self.socket.recvfrom(1500)
            if self.dead or len(question) < 17:
                continue
            end = question.index(0, 12) + 5
            kind = struct.unpack("!H", question[end - 4 : end - 2])[0]
            count = 1 if kind == 1 else 0
            answer = question[:2] + struct.pack("!HHHHH", 0x8180, 1, count, 0, 0) + question[12:end]
            if count:
                answer += struct.pack("!HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(self.address)
            self.socket.sendto(answer, asker)


class Bench:
    def __init__(self, binaries, work, interval=INTERVAL):
        self.binaries, self.work, self.interval = binaries, work, interval
        number = os.getpid() % 200 + 20
        self.subnet = f"10.98.{number}"
        self.car, self.net = f"flbl-car-{os.getpid()}", f"flbl-net-{os.getpid()}"
        self.children = []
        self.updates = []
        self.address = 2

    # -- Parts

    def start(self, *words, space=None, **options):
        child = subprocess.Popen((["ip", "netns", "exec", space] if space else []) + list(words), **options)
        self.children.append(child)
        return child

    def up(self):
        for space in (self.car, self.net):
            subprocess.run(["ip", "netns", "add", space], check=True)
            subprocess.run(["ip", "-n", space, "link", "set", "lo", "up"], check=True)
        os.makedirs(f"/etc/netns/{self.car}")
        with open(f"/etc/netns/{self.car}/resolv.conf", "w") as file:
            file.write(f"nameserver {self.subnet}.1\noptions timeout:1 attempts:2\n")
        self.link = self.start(
            sys.executable, f"{HERE}/link.py", self.car, self.net, self.subnet, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        if self.link.stdout.readline() != "ready\n":
            raise Failure("the link does not come up")
        ready, self.record = f"{self.work}/url", Record(f"{self.work}/record.jsonl")
        self.start(
            f"{self.binaries}/fleet-engine-emulator", "--port", "18080", "--ready-file", ready, "--record",
            self.record.path, "--quiet", space=self.net)
        self.await_(lambda: os.path.exists(ready), "the emulator")
        front = f"{HERE}/../tls-front.sh"
        subprocess.run([front, "certificates", f"{self.work}/tls"], check=True)
        self.start(
            front, "serve", f"{self.work}/tls", "good", "18443", "18080", space=self.net,
            env={**os.environ, "NGHTTPX_OPTIONS": f"--frontend={self.subnet}.1,{PORT}"},
            stderr=open(f"{self.work}/front.log", "w"))
        # The server needs its namespace from the start; the thread that creates it is moved there and back.
        here = os.open("/proc/self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.net}", os.O_RDONLY)
        setns(there)
        self.names = NameServer(f"{self.subnet}.1")
        setns(here)
        os.close(here), os.close(there)
        self.names.start()
        self.drive()

    def drive(self):
        # Straight ahead at 50 km/h, long enough for any scenario.
        with open(f"{self.work}/route.gpx", "w") as file:
            points = "".join(f'<trkpt lat="{48 + step * 0.01:.4f}" lon="11.5"/>' for step in range(60))
            file.write(
                '<?xml version="1.0"?><gpx version="1.1" creator="badlink" xmlns="http://www.topografix.com/GPX/1/1">'
                f"<trk><trkseg>{points}</trkseg></trk></gpx>\n")
        with open(f"{self.work}/daemon.toml", "w") as file:
            file.write(f"""
[vehicle]
provider_id = "badlink"
vehicle_id = "truck-17"
[source]
type = "simulated"
route = "{self.work}/route.gpx"
speed = "50 km/h"
[token]
url = "https://{HOST}:{PORT}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
ca_file = "{self.work}/tls/ca.crt"
[fleet_engine]
endpoint = "https://{HOST}:{PORT}"
ca_file = "{self.work}/tls/ca.crt"
[reporting]
interval = "{self.interval}s"
""")
        self.log = f"{self.work}/daemon.log"
        self.daemon = self.start(
            f"{self.binaries}/fleet-locationd", "--config", f"{self.work}/daemon.toml", space=self.car,
            stderr=open(self.log, "w"), env={**os.environ, "RUNTIME_DIRECTORY": self.work})
        self.await_(lambda: self.accepted(), "the first update", 30)

    def down(self):
        """Ends all programs, and returns the daemon's exit status, which is 0 if it was never started."""
        code = 0
        # The daemon is stopped first, because it sends due positions before it exits.
        if hasattr(self, "daemon"):
            self.daemon.terminate()
            try:
                code = self.daemon.wait(10)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                code = self.daemon.wait()
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
        for space in (self.car, self.net):
            subprocess.run(["ip", "netns", "del", space], capture_output=True)
        shutil.rmtree(f"/etc/netns/{self.car}", ignore_errors=True)
        return code

    # -- Observations

    def accepted(self):
        """The accepted updates: for each, the times of its positions in seconds since 1970."""
        for entry in self.record.entries():
            if entry["accepted"]:
                self.updates.append([epoch_seconds(position["supplementalLocationTime"]) for position in positions(entry)])
        return self.updates

    def await_(self, condition, what, limit=20):
        end = time.monotonic() + limit
        while not condition():
            if hasattr(self, "daemon") and self.daemon.poll() is not None:
                raise Failure("the daemon has ended")
            # Once more after the end, because this program, too, may have had to wait.
            if time.monotonic() > end and not condition():
                raise Failure(f"{what}: not within {limit} s")
            time.sleep(0.01)

    def order(self, text):
        self.link.stdin.write(text + "\n")
        self.link.stdin.flush()
        if self.link.stdout.readline() != "done\n":
            raise Failure(f"the link did not obey: {text}")

    def change_address(self):
        self.address += 1
        self.order(f"address {self.address}")

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.accepted()
            if self.daemon.poll() is not None:
                raise Failure("the daemon has ended")
            time.sleep(0.02)

    def next_accepted(self, limit):
        """Seconds until the next accepted update."""
        count, start = len(self.accepted()), time.monotonic()
        self.await_(lambda: len(self.accepted()) > count, "an update after the network's return", limit)
        return time.monotonic() - start

    def longest_gap(self):
        times = sorted(each for times in self.accepted() for each in times)
        return max(b - a for a, b in zip(times, times[1:]))


def setns(descriptor):
    # os.setns is newer than Debian 12's Python.
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "setns")


# Each scenario: the fault, its duration, the limit for the first update after it, in seconds, and the maximum number of
# attempts. One within the limit is enough, because a busy machine delays five processes, while a daemon that does not
# notice the fault or its end is late each time.
def bad(order, seconds, least):
    """`least`: the number of updates that must be accepted during the fault, half of what was measured."""
    def scenario(bench):
        bench.order(order)
        before = len(bench.accepted())
        bench.run(seconds)
        count = len(bench.accepted()) - before
        if count < least:
            raise Failure(f"{count} updates were accepted in {seconds} s of {order!r}, not {least}")
        bench.order("set delay=60 jitter=15 loss=0 rate=0")
        return bench.next_accepted(40)

    return scenario


def silence(seconds):
    def scenario(bench):
        bench.order("silent on")
        bench.run(seconds)
        bench.order("silent off")
        return bench.next_accepted(40)

    return scenario


def carrier(seconds):
    def scenario(bench):
        bench.order("carrier off")
        bench.run(seconds)
        bench.order("carrier on")
        return bench.next_accepted(40)

    return scenario


def address(bench):
    bench.next_accepted(20)
    bench.run(1)
    bench.change_address()
    return bench.next_accepted(40)


def address_amid(bench):
    """The vehicle's address changes during a request that is never answered."""
    bench.order("silent on")
    bench.run(INTERVAL + 2)
    bench.change_address()
    bench.order("silent off")
    return bench.next_accepted(40)


def forget(bench):
    bench.next_accepted(20)
    bench.order("forget")
    return bench.next_accepted(40)


def names(seconds):
    def scenario(bench):
        bench.names.dead = True
        # An open connection needs no name resolution, but a new connection does.
        bench.order("forget")
        bench.run(seconds)
        bench.names.dead = False
        return bench.next_accepted(40)

    return scenario


LONG = [
    ("LTE: 60 ms, 1 % lost, 1 Mbit/s", bad("set delay=60 jitter=15 loss=1 rate=1000", 60, 6), 10, 1),
    ("edge of a cell: 20 % lost", bad("set delay=120 jitter=60 loss=20", 120, 10), 26, 1),
    ("2G: 300 ms, 20 kbit/s", bad("set delay=300 jitter=100 rate=20", 90, 7), 26, 1),
    ("tunnel of 30 s: packets vanish", silence(30), 26, 1),
    ("tunnel of 3 min", silence(180), 26, 1),
    ("no carrier for 60 s: the link goes down", carrier(60), 4, 3),
    ("another address", address, 10, 1),
    ("another address amid a lost request", address_amid, 4, 3),
    ("the carrier's NAT forgets the connection", forget, 18, 3),
    ("name servers dead for 60 s", names(60), 18, 1),
    ("packets vanish for 10 min", silence(600), 26, 1),
]
SHORT = [
    ("no carrier for 6 s: the link goes down", carrier(6), 4, 3),
    ("another address amid a lost request", address_amid, 4, 3),
    ("the carrier's NAT forgets the connection", forget, 18, 3),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--short", action="store_true", help="a minute's worth")
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--keep", action="store_true", help="keep logs and records")
    parser.add_argument("only", nargs="*", metavar="SCENARIO", help="part of a scenario's name")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("badlink.py: network namespaces need root")
    scenarios = [row for row in (SHORT if arguments.short else LONG)
                 if not arguments.only or any(part in row[0] for part in arguments.only)]
    if not scenarios:
        sys.exit("badlink.py: there is no such scenario")
    results, failures = [], 0
    with work_directory("badlink", arguments.keep) as work:
        bench, control = Bench(os.path.abspath(arguments.binaries), work), f"{work}/control.sock"
        try:
            bench.up()
            for name, scenario, limit, attempts in scenarios:
                for _ in range(attempts):
                    bench.run(1 if arguments.short else INTERVAL + 1)
                    took = scenario(bench)
                    is_good = took <= limit
                    if is_good:
                        break
                failures += not is_good
                results.append({"scenario": name, "seconds": round(took, 1), "limit": limit})
                print(f"{'ok ' if is_good else 'BAD'} {took:5.1f} s (limit {limit}): {name}", flush=True)
            # After lost requests, queued positions are sent eight at a time at first.
            end = time.monotonic() + DRAIN
            while status(bench.binaries, control)["backlog"]["count"] > 1 and time.monotonic() < end:
                bench.run(1)
            bench.run(INTERVAL + 1)
            count = sum(len(times) for times in bench.accepted())
            gap = bench.longest_gap()
            # A position is due every 5 s; the last one before an outage and the first one after it may be further apart.
            is_whole = gap <= 2 * INTERVAL + 1
            failures += not is_whole
            print(f"{'ok ' if is_whole else 'BAD'} {count} positions arrived, the longest gap in the track is {gap:.0f} s")
            transport = status(bench.binaries, control).get("transport")
            failures += transport != "HTTP/2"
            print(f"{'ok ' if transport == 'HTTP/2' else 'BAD'} over {transport}")
            if arguments.json:
                with open(arguments.json, "w") as file:
                    json.dump({"scenarios": results, "positions": count, "longestGap": gap}, file, indent=2)
        except Failure as failure:
            print(f"badlink: {failure}", file=sys.stderr)
            failures += 1
        finally:
            if code := bench.down():
                print(f"badlink: the daemon ended with {code}", file=sys.stderr)
                failures += 1
            if failures:
                print_tail(f"{work}/daemon.log", 60)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
