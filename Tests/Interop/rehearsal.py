#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fleet of real daemons on this machine with one emulator, which is killed halfway and restarted.

  rehearsal.py BINDIR [--vehicles N] [--seconds N] [--json FILE] [--keep]

Each vehicle is a separate fleet-locationd, with its own settings, state directory and UDP port, and a receiver that reports a
fix every PERIOD seconds along its own drive. Fleet Engine is fleet-engine-emulator behind nghttpx (TLS and HTTP/2), and the emulator
is also the token provider. Halfway both are killed with SIGKILL, and restarted after the outage.

With `interval = "0s"` every fix is due, so the check is exact, and does not use the daemons' counters: from the first accepted
position of a vehicle on (at most FIRST_FIX seconds after the daemon's start), every fix that this program sent to
that vehicle must be in an accepted request of the emulator's record, with the same time and position, and nothing else may be.
"""
import argparse
import bisect
import collections
import datetime
import heapq
import json
import math
import os
import random
import resource
import socket
import subprocess
import sys
import threading
import time

from trial import Failure, Record, epoch_seconds, free_port, positions, print_tail, processor, sentence, until, work_directory

HERE = os.path.dirname(os.path.abspath(__file__))
# Seconds between the fixes of a receiver.
PERIOD = 5
# Limits, each several times the measured value: docs/rehearsal.md has the figures.
PSS = 10.0  # MB of a daemon, mean
RSS = 40.0  # MB of a daemon, largest
CPU = 0.5  # seconds of a daemon in a minute, mean, outage included
EMULATOR_RSS = 400.0  # MB
FIRST_UPDATE = 60.0  # seconds, the slowest vehicle
FIRST_FIX = 20  # seconds from a daemon's start, after which every fix is due
BACKLOG = 60.0  # seconds after the return, the slowest vehicle
PAGE = 150_000  # bytes in any second to a page of the live map, after its first event
# The time in seconds for the last fix to arrive.
GRACE = 60


def quantile(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def three(values):
    return f"{quantile(values, 0.5):.1f} s (half), {quantile(values, 0.99):.1f} s (99 %), {max(values):.1f} s (all)"


class Drive:
    """A vehicle's own circle, a few kilometres from the others; the course and speed of each fix match the next fix."""

    def __init__(self, number):
        chance = random.Random(number)
        self.centre = (48.0 + chance.gauss(0, 0.05), 11.5 + chance.gauss(0, 0.08))
        self.radius = chance.uniform(300, 1500)
        self.speed = chance.uniform(7, 17)
        self.start = chance.uniform(0, 2 * math.pi)

    def place(self, second):
        """Degrees of latitude and longitude, and the course."""
        angle = self.start + self.speed / self.radius * (second % 86_400)
        latitude = self.centre[0] + self.radius * math.sin(angle) / 111_200
        longitude = self.centre[1] + self.radius * math.cos(angle) / (111_200 * math.cos(math.radians(self.centre[0])))
        return latitude, longitude, -math.degrees(angle) % 360


def minutes_of(degrees, width, letters):
    """In the format 4807.123456,N."""
    whole = int(abs(degrees))
    return f"{whole:0{width}d}{(abs(degrees) - whole) * 60:09.6f},{letters[degrees < 0]}"


def epoch(stamp, place, speed):
    """RMC and GGA of one fix."""
    latitude, longitude, course = place
    clock = datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc)
    hours = clock.strftime("%H%M%S.00")
    where = f"{minutes_of(latitude, 2, 'NS')},{minutes_of(longitude, 3, 'EW')}"
    return (sentence(f"GPRMC,{hours},A,{where},{speed * 1.943844:.1f},{course:.1f},{clock.strftime('%d%m%y')},,,A")
            + sentence(f"GPGGA,{hours},{where},1,09,0.9,519.0,M,46.0,M,,")).encode()


class Vehicle:
    def __init__(self, number, width):
        self.number = number
        self.is_taxi = number % 2 == 0
        self.name = f"{'taxi' if self.is_taxi else 'truck'}-{number:0{width}d}"
        self.drive = Drive(number)
        self.process = self.began = None
        # The key is the second since 1970; the value is the position, and when it was sent.
        self.sent = {}
        # The key is the second since 1970; the value is the position, and when it was first accepted.
        self.arrived = {}
        self.again = 0

    @property
    def due(self):
        """The fixes since the first that arrived: a daemon reads none before it listens. After a while, all fixes."""
        begin = min([self.began + FIRST_FIX, *self.arrived])
        return {stamp for stamp in self.sent if stamp >= begin}


class Receivers(threading.Thread):
    """All receivers in one thread: each fix at a whole second, sent up to 0.8 s after it, as different receivers do."""

    def __init__(self, vehicles, base):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.base, self.over = base, threading.Event()
        first = math.ceil(time.time())
        self.queue = [(first + each.number % PERIOD + each.number % 97 / 120, each.number, each) for each in vehicles]
        heapq.heapify(self.queue)
        self.latest = 0.0

    def run(self):
        while True:
            at, number, vehicle = self.queue[0]
            now = time.time()
            if self.over.wait(max(0, at - now)):
                return
            self.latest = max(self.latest, now - at)
            stamp = int(at)
            place = vehicle.drive.place(stamp)
            vehicle.sent[stamp] = (place[0], place[1], time.time())
            try:
                self.socket.sendto(epoch(stamp, place, vehicle.drive.speed), ("127.0.0.1", self.base + number))
            except ConnectionRefusedError:
                # No daemon listens on the port yet.
                pass
            heapq.heapreplace(self.queue, (at + PERIOD, number, vehicle))

    def end(self):
        self.over.set()
        self.join()


class Page(threading.Thread):
    """A client of the live map: reads the events, counts bytes per second, and reconnects."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.over = port, threading.Event()
        self.opening, self.by_second = 0, collections.Counter()
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 2) as connection:
                    connection.sendall(f"GET /map/events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
                    connection.settimeout(1)
                    self.read(connection)
            except OSError:
                pass
            self.over.wait(0.5)

    def read(self, connection):
        begun, is_open = b"", False
        while not self.over.is_set():
            try:
                data = connection.recv(1 << 20)
            except TimeoutError:
                continue
            if not data:
                return
            if is_open:
                self.by_second[int(time.monotonic())] += len(data)
                continue
            # The initial state ends with the first event.
            begun += data
            is_open = b"\n\n" in begun[begun.find(b"event: state"):] and b"event: state" in begun
            if is_open:
                self.opening = max(self.opening, len(begun))

    def end(self):
        self.over.set()
        self.join()


def memory(pid):
    """PSS and RSS in MB."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        fields = {line.split(":")[0]: line.split()[1] for line in file if line.startswith(("Pss:", "Rss:"))}
    return int(fields["Pss"]) * 1.024 / 1000, int(fields["Rss"]) * 1.024 / 1000


class Rehearsal:
    def __init__(self, binaries, work, vehicles, seconds):
        self.binaries, self.work, self.seconds = binaries, work, seconds
        self.vehicles = [Vehicle(number, len(str(vehicles))) for number in range(1, vehicles + 1)]
        self.outage = max(3, min(20, seconds // 6))
        self.base = self.free_range(vehicles)
        self.port, self.front_port = free_port(), free_port()
        self.record = Record(f"{work}/record.jsonl")
        self.emulator = self.front = self.page = self.receivers = None
        self.figures = {}
        self.accepted, self.refused, self.transports = [], collections.Counter(), collections.Counter()
        self.complaints = []
        # Totals of both runs of the servers.
        self.costs = collections.Counter()
        self.largest = 0.0

    # -- Parts

    @staticmethod
    def free_range(count):
        """The port before this many consecutive free UDP ports."""
        base = random.randrange(10_000, 30_000 - count)
        for _ in range(100):
            for port in range(base + 1, base + count + 1):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    try:
                        probe.bind(("127.0.0.1", port))
                    except OSError:
                        break
            else:
                return base
            base = random.randrange(10_000, 30_000 - count)
        raise Failure(f"there are no {count} free UDP ports in a row")

    def start_server(self):
        ready = f"{self.work}/ready"
        if os.path.exists(ready):
            os.unlink(ready)
        self.emulator = subprocess.Popen(
            [f"{self.binaries}/fleet-engine-emulator", "--port", str(self.port), "--ready-file", ready, "--record",
             self.record.path, "--quiet"], stdout=subprocess.DEVNULL)
        until(20, "the emulator starts", lambda: os.path.exists(ready), 0.01)
        front = os.path.join(HERE, "tls-front.sh")
        subprocess.run([front, "certificates", f"{self.work}/tls"], check=True)
        self.front = subprocess.Popen(
            [front, "serve", f"{self.work}/tls", "good", str(self.front_port), str(self.port)],
            stderr=subprocess.DEVNULL)
        with socket.socket() as probe:
            until(20, "the TLS front starts", lambda: probe.connect_ex(("127.0.0.1", self.front_port)) == 0, 0.01)

    def kill_server(self):
        """Stops the emulator and nghttpx, halfway and at the end, after reading their resource usage."""
        for name, process in (("emulator", self.emulator), ("front", self.front)):
            if process is None or process.poll() is not None:
                continue
            self.costs[name] += processor(process.pid)
            if name == "emulator":
                self.largest = max(self.largest, memory(process.pid)[1])
            process.kill()
            process.wait(10)

    def settings(self, vehicle):
        directory = f"{self.work}/{vehicle.name}"
        os.makedirs(f"{directory}/state")
        path, form = ("driver", "rides-stub") if vehicle.is_taxi else ("delivery_driver", "lmfs")
        with open(f"{directory}/settings.toml", "w") as file:
            file.write(f"""[vehicle]
provider_id = "rehearsal"
vehicle_id = "{vehicle.name}"
service = "{'trips' if vehicle.is_taxi else 'deliveries'}"
[source]
type = "nmea-udp"
listen = "127.0.0.1:{self.base + vehicle.number}"
[token]
url = "http://127.0.0.1:{self.port}/token/{path}/{{vehicle_id}}"
response = "{form}"
[fleet_engine]
endpoint = "https://localhost:{self.front_port}"
ca_file = "{self.work}/tls/ca.crt"
[reporting]
interval = "0s"
""")

    def start_daemon(self, vehicle):
        directory = f"{self.work}/{vehicle.name}"
        vehicle.began = time.time()
        with open(f"{directory}/log", "wb") as log:
            vehicle.process = subprocess.Popen(
                [f"{self.binaries}/fleet-locationd", "--config", f"{directory}/settings.toml"], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log,
                env={**os.environ, "RUNTIME_DIRECTORY": directory, "STATE_DIRECTORY": f"{directory}/state"})

    # -- Time

    def wait(self, end):
        """Waits until the monotonic time, while all daemons run."""
        while True:
            for vehicle in self.vehicles:
                if vehicle.process.poll() is not None:
                    raise Failure(f"the daemon of {vehicle.name} has ended, with {vehicle.process.returncode}")
            if self.emulator.poll() is not None or self.front.poll() is not None:
                raise Failure("the emulator or nghttpx has ended")
            left = end - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(1, left))

    # -- The run

    def run(self):
        for vehicle in self.vehicles:
            self.settings(vehicle)
        self.start_server()
        print(f"Live map  http://127.0.0.1:{self.port}/", flush=True)
        self.page = Page(self.port)
        self.receivers = Receivers(self.vehicles, self.base)
        self.receivers.start()
        first = time.monotonic()
        for vehicle in self.vehicles:
            self.start_daemon(vehicle)
        begin = time.monotonic()
        self.figures["started_in_s"] = begin - first
        # The steady state: from a quarter of the time on, until the server is killed.
        self.wait(begin + self.seconds / 4)
        self.steady = time.time()
        steady = time.monotonic(), self.processors()
        self.wait(begin + self.seconds / 2)
        self.measure(*steady)
        self.killed = time.time()
        self.kill_server()
        time.sleep(self.outage)
        self.start_server()
        self.returned = time.time()
        self.wait(begin + self.seconds)
        self.receivers.end()
        end = time.monotonic() + GRACE
        self.collect()
        while self.missing() and time.monotonic() < end:
            self.wait(time.monotonic() + 0.5)
            self.collect()
        self.figures["daemon_cpu_s_in_a_minute"] = (
            sum(processor(each.process.pid) for each in self.vehicles) / len(self.vehicles)
            / (time.monotonic() - first) * 60)
        self.figures["daemon_rss_after_mb"] = max(memory(each.process.pid)[1] for each in self.vehicles)
        self.page.end()
        self.stop_daemons()
        self.kill_server()
        self.figures["emulator_cpu_s"] = self.costs["emulator"]
        self.figures["emulator_rss_mb"] = self.largest
        self.figures["front_cpu_s"] = self.costs["front"]
        own = resource.getrusage(resource.RUSAGE_SELF)
        self.figures["judge_cpu_s"] = own.ru_utime + own.ru_stime

    def processors(self):
        return {
            "daemons": sum(processor(each.process.pid) for each in self.vehicles),
            "emulator": processor(self.emulator.pid), "front": processor(self.front.pid),
        }

    def measure(self, at, before):
        """Measures resource usage without faults."""
        seconds, now = time.monotonic() - at, self.processors()
        count = len(self.vehicles)
        share = [memory(each.process.pid) for each in self.vehicles]
        self.figures["daemon_steady_cpu_s_in_a_minute"] = (now["daemons"] - before["daemons"]) / count / seconds * 60
        self.figures["emulator_steady_cpu_percent"] = (now["emulator"] - before["emulator"]) / seconds * 100
        self.figures["front_steady_cpu_percent"] = (now["front"] - before["front"]) / seconds * 100
        self.figures["daemon_pss_mb"] = sum(pss for pss, _ in share) / count
        self.figures["daemon_rss_mb"] = sum(rss for _, rss in share) / count
        self.figures["daemon_rss_most_mb"] = max(rss for _, rss in share)
        pss, rss = memory(self.emulator.pid)
        self.figures["emulator_steady_pss_mb"], self.figures["emulator_steady_rss_mb"] = pss, rss
        self.figures["front_rss_mb"] = memory(self.front.pid)[1]

    def stop_daemons(self):
        for vehicle in self.vehicles:
            vehicle.process.terminate()
        for vehicle in self.vehicles:
            code = vehicle.process.wait(30)
            if code != 0:
                self.complaints.append(f"the daemon of {vehicle.name} ended with {code}")

    def down(self):
        """Kills the remaining processes in any case."""
        for process in [each.process for each in self.vehicles] + [self.emulator, self.front]:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait(10)

    # -- The check

    def collect(self):
        """The emulator's new records."""
        names = {each.name: each for each in self.vehicles}
        for entry in self.record.entries():
            at = epoch_seconds(entry["time"])
            if not entry["accepted"]:
                self.refused[entry["status"]] += 1
                continue
            self.accepted.append(at)
            # nghttpx adds the protocol of the request: `2 nghttpx`, or `1.1 nghttpx`.
            via = {name.lower(): value for name, value in entry["headers"].items()}.get("via", "nothing")
            self.transports[via] += 1
            vehicle = names[entry["path"].rsplit("/", 1)[1]]
            for position in positions(entry):
                where = next(position[key] for key in ("supplementalLocation", "location", "rawLocation") if key in position)
                stamp = next(position[key] for key in ("supplementalLocationTime", "updateTime", "rawLocationTime") if key in position)
                second = epoch_seconds(stamp)
                vehicle.again += second in vehicle.arrived
                vehicle.arrived.setdefault(second, (where.get("latitude", 0), where.get("longitude", 0), at))

    def missing(self):
        return sum(len(each.due - each.arrived.keys()) for each in self.vehicles)

    def account(self):
        """The errors in the accepted requests."""
        complaints = []
        say = complaints.append
        silent = [each.name for each in self.vehicles if not each.arrived]
        lost = {each.name: sorted(each.due - each.arrived.keys()) for each in self.vehicles if each.due - each.arrived.keys()}
        invented = {each.name: sorted(each.arrived.keys() - each.sent.keys()) for each in self.vehicles
                    if each.arrived.keys() - each.sent.keys()}
        # Fleet Engine gets degrees with six decimals.
        moved = [each.name for each in self.vehicles for stamp, (latitude, longitude, _) in each.arrived.items()
                 if stamp in each.sent and (abs(latitude - each.sent[stamp][0]) > 6e-7 or abs(longitude - each.sent[stamp][1]) > 6e-7)]
        if silent:
            say(f"no position of {len(silent)} vehicles arrived, such as {silent[0]}")
        if lost:
            name, stamps = next(iter(lost.items()))
            say(f"{self.missing()} positions of {len(lost)} vehicles are missing, such as {stamps[0]} of {name}")
        if invented:
            say(f"positions arrived that no receiver reported, of {len(invented)} vehicles such as {next(iter(invented))}")
        if moved:
            say(f"{len(moved)} positions arrived elsewhere than reported, such as of {moved[0]}")
        if set(self.transports) != {"2 nghttpx"}:
            say(f"accepted requests came over {dict(self.transports)}; only HTTP/2 through nghttpx is right")
        return complaints

    def self_test(self):
        """The check must fail if a position of a good run is removed, moved or added, or if the protocol is another."""
        vehicle = self.vehicles[-1]
        stamp = max(vehicle.arrived.keys() & vehicle.sent.keys())
        latitude, longitude, at = good = vehicle.arrived[stamp]
        for what, change in (
            ("are missing", lambda: vehicle.arrived.pop(stamp)),
            ("elsewhere", lambda: vehicle.arrived.update({stamp: (latitude + 1e-5, longitude, at)})),
            ("no receiver reported", lambda: vehicle.arrived.update({stamp + 0.5: good})),
            ("HTTP/2", lambda: self.transports.update({"1.1 nghttpx": 1})),
        ):
            change()
            found = self.account()
            if len(found) != 1 or what not in found[0]:
                self.complaints.append(f"the account does not see that something is wrong ({what}): {found}")
            vehicle.arrived.pop(stamp + 0.5, None)
            vehicle.arrived[stamp] = good
            del self.transports["1.1 nghttpx"]

    def judge(self):
        figures, say = self.figures, self.complaints.append
        figures["positions_due"] = sum(len(each.due) for each in self.vehicles)
        figures["positions_missing"] = self.missing()
        figures["positions_again"] = sum(each.again for each in self.vehicles)
        figures["requests_accepted"], figures["requests_refused"] = len(self.accepted), dict(self.refused)
        figures["transports"] = dict(self.transports)
        complaints = self.account()
        self.complaints += complaints
        if not all(each.arrived for each in self.vehicles):
            return
        if not complaints:
            self.self_test()
        figures["first_update_s"] = [min(at for _, _, at in each.arrived.values()) - each.began for each in self.vehicles]
        # The fixes that were sent before the server was restarted.
        waiting = [[at - self.returned for stamp, (_, _, at) in each.arrived.items()
                    if self.killed - PERIOD < each.sent.get(stamp, (0, 0, 0))[2] < self.returned and at > self.returned]
                   for each in self.vehicles]
        figures["backlog_s"] = [max(times) for times in waiting if times]
        figures["positions_of_the_outage"] = sum(map(len, waiting))
        at = sorted(self.accepted)
        steady = [each for each in at if self.steady <= each < self.killed]
        figures["updates_in_a_second"] = len(steady) / (self.killed - self.steady)
        figures["updates_busiest_second"] = max(bisect.bisect_left(at, each + 1) - index for index, each in enumerate(at))
        figures["page_opening_bytes"] = self.page.opening
        figures["page_busiest_second_bytes"] = max(self.page.by_second.values(), default=0)
        figures["page_bytes_in_a_second"] = sum(self.page.by_second.values()) / max(1, len(self.page.by_second))
        figures["receivers_late_s"] = self.receivers.latest
        if not figures["backlog_s"]:
            say("no position had to wait for the server's return: the outage tested nothing")
        for key, limit, what in (
            ("daemon_pss_mb", PSS, "MB of a daemon's own and of its share (PSS)"),
            ("daemon_rss_most_mb", RSS, "MB of the largest daemon (RSS)"), ("daemon_rss_after_mb", RSS, "MB of the largest daemon at the end (RSS)"),
            ("daemon_cpu_s_in_a_minute", CPU, "s of CPU of a daemon in a minute"), ("emulator_rss_mb", EMULATOR_RSS, "MB of the emulator"),
            ("first_update_s", FIRST_UPDATE, "s until the last vehicle's first update"),
            ("backlog_s", BACKLOG, "s until the last backlog is in"),
            ("page_busiest_second_bytes", PAGE, "bytes in a second to a page"),
        ):
            value = max(figures[key], default=0) if isinstance(figures[key], list) else figures[key]
            if value > limit:
                say(f"{value:.1f} {what}; the limit is {limit:.0f}")
        if figures["page_opening_bytes"] == 0:
            say("the live map's page received nothing")

    def report(self):
        f = self.figures
        print(f"""
{len(self.vehicles)} daemons, {self.seconds} s, no server for {self.returned - self.killed:.1f} s in the middle
  Positions          {f['positions_due']} due, {f['positions_missing']} missing; {f['positions_of_the_outage']} of them waited for the server; {f['positions_again']} times one arrived again
  Updates            {f['requests_accepted']} accepted over {', '.join(f'{each} ({n})' for each, n in f['transports'].items())}; refused by status: {f['requests_refused'] or 'none'}
                     {f['updates_in_a_second']:.0f} a second, {f['updates_busiest_second']} in the busiest
  Start              all started within {f['started_in_s']:.1f} s; to the first update {three(f['first_update_s'])}
  Server's return    backlog in after {three(f['backlog_s'] or [0])}
  A daemon           {f['daemon_pss_mb']:.1f} MB PSS, {f['daemon_rss_mb']:.1f} MB RSS (at most {f['daemon_rss_most_mb']:.1f}); {f['daemon_steady_cpu_s_in_a_minute']:.3f} s of CPU a minute, {f['daemon_cpu_s_in_a_minute']:.3f} s with start and outage
  The emulator       {f['emulator_steady_cpu_percent']:.0f} % of a core, {f['emulator_steady_pss_mb']:.0f} MB PSS, {f['emulator_steady_rss_mb']:.0f} MB RSS (at most {f['emulator_rss_mb']:.0f}); {f['emulator_cpu_s']:.1f} s of CPU in all
  nghttpx            {f['front_steady_cpu_percent']:.0f} % of a core, {f['front_rss_mb']:.0f} MB RSS; {f['front_cpu_s']:.1f} s of CPU in all
  A page             {f['page_bytes_in_a_second'] / 1000:.0f} kB a second, {f['page_busiest_second_bytes'] / 1000:.0f} kB in the busiest, {f['page_opening_bytes'] / 1000:.0f} kB to begin with
  This program       {f['judge_cpu_s']:.1f} s of CPU; a fix was sent up to {f['receivers_late_s']:.2f} s late""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", metavar="BINDIR")
    parser.add_argument("--vehicles", type=int, default=1000, help="1 to 5000")
    parser.add_argument("--seconds", type=int, default=120, help="20 to 3600, half of it with the first server")
    parser.add_argument("--json", metavar="FILE", help="write the figures here")
    parser.add_argument("--keep", action="store_true", help="keep settings, logs and the record")
    options = parser.parse_args()
    if not (1 <= options.vehicles <= 5000 and 20 <= options.seconds <= 3600):
        parser.error("VEHICLES: a whole number from 1 to 5000 is expected, and SECONDS: 20 to 3600")
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    # nghttpx and the emulator have one or two connections for each vehicle.
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    complaints = ["it did not come to an end"]
    with work_directory("rehearsal", options.keep) as work:
        rehearsal = Rehearsal(os.path.abspath(options.binaries), work, options.vehicles, options.seconds)
        try:
            rehearsal.run()
            rehearsal.judge()
            complaints = rehearsal.complaints
            if "page_bytes_in_a_second" in rehearsal.figures:
                rehearsal.report()
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(rehearsal.figures, file, indent=2)
        except Failure as failure:
            complaints = [str(failure), *rehearsal.complaints]
        finally:
            rehearsal.down()
            for complaint in complaints:
                print(f"rehearsal: {complaint}", file=sys.stderr)
            for vehicle in rehearsal.vehicles if complaints else []:
                if vehicle.name in complaints[0]:
                    print_tail(f"{work}/{vehicle.name}/log", 20)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
