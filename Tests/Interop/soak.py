#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Drives the daemon at a position a second while everything around it fails in turn, and checks for lost data and leaks.

  soak.py BINDIR [--minutes N | --short] [--seed N] [--json FILE] [--keep]

The receiver is a pseudo-terminal, Fleet Engine (behind nghttpx: TLS and HTTP/2) and the token provider are the emulator, all on
this machine. Every position
that the receiver sends is due (interval = "0s"), so the check is exact: each must have been delivered at the end, except those
that were sent while the daemon could not read them. Memory and descriptors must be the same at the end as at the start.
"""
import argparse
import collections
import datetime
import json
import os
import pty
import random
import signal
import socket
import subprocess
import sys
import time
import tty

from trial import (
    Failure, Record, epoch_seconds, fault, free_port, positions, print_tail, processor, sentence, status, until, work_directory)

# The time after the receiver's return until it is opened, and until the filter accepts its fixes again.
REGAIN = 6
# A fix that is sent this late ends a silence after which the daemon may have closed the receiver (`silence_timeout`).
LATE = 3
# The allowed growth of memory in kB from minute 2 on: the allocator does not return the memory of an outage's backlog.
GROWTH = 1024


class Receiver:
    """Sends RMC and GGA each second, driving north at 50 km/h; plugged in as `device`."""

    def __init__(self, device):
        self.device = device
        self.master = None
        self.sent, self.unheard = [], set()
        self.count, self.origin = 0, time.time()
        self.begin = time.monotonic()
        self.is_silent = False
        self.quiet_until = 0.0
        self.plug()

    def plug(self):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        os.set_blocking(self.master, False)
        if os.path.lexists(self.device):
            os.unlink(self.device)
        os.symlink(os.ttyname(slave), self.device)
        # This descriptor keeps the line open until the daemon's own descriptor does.
        self.slave = slave
        self.regain()

    def unplug(self):
        os.unlink(self.device)
        os.close(self.slave)
        os.close(self.master)
        self.master = None

    def regain(self):
        self.quiet_until = time.monotonic() + REGAIN

    def noise(self):
        if self.master is not None:
            self.write(random.randbytes(200) + b"\n")

    def write(self, data):
        try:
            os.write(self.master, data)
        except BlockingIOError:
            # Like a real receiver, it does not wait for a reader.
            self.regain()

    def pump(self):
        """Sends the fixes that are due."""
        while time.monotonic() >= self.begin + self.count:
            due = self.begin + self.count
            stamp = int(self.origin) + self.count
            self.count += 1
            if self.master is None or self.is_silent:
                self.regain()
                continue
            latitude = 48 + (self.count * 13.9) / 111_200
            clock = datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc)
            hours, day = clock.strftime("%H%M%S.00"), clock.strftime("%d%m%y")
            north = f"{int(latitude):02d}{(latitude % 1) * 60:07.4f},N,01130.0000,E"
            self.write(
                (sentence(f"GPRMC,{hours},A,{north},27.0,0.0,{day},,,A")
                 + sentence(f"GPGGA,{hours},{north},1,09,0.9,519.0,M,46.0,M,,")).encode())
            self.sent.append(stamp)
            if time.monotonic() > due + LATE:
                self.regain()
            if time.monotonic() < self.quiet_until:
                self.unheard.add(stamp)


class Soak:
    def __init__(self, binaries, work, seed, is_short):
        self.binaries, self.work, self.is_short = binaries, work, is_short
        self.random = random.Random(seed)
        self.done = collections.Counter()
        self.arrived = collections.Counter()
        self.requests = 0
        self.samples = []
        self.daemon = self.emulator = None
        self.front = None
        self.port, self.front_port = free_port(), free_port()
        self.record, self.control = Record(f"{work}/record.jsonl"), f"{work}/control.sock"

    # -- Parts

    def start_front(self):
        front = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tls-front.sh")
        subprocess.run([front, "certificates", f"{self.work}/tls"], check=True)
        # With this option, nghttpx retries the emulator soon after an outage.
        self.front = subprocess.Popen(
            [front, "serve", f"{self.work}/tls", "good", str(self.front_port), str(self.port)], stderr=subprocess.DEVNULL,
            env={**os.environ, "NGHTTPX_OPTIONS": "--backend-max-backoff=1"})
        with socket.socket() as probe:
            until(20, "the TLS front starts", lambda: probe.connect_ex(("127.0.0.1", self.front_port)) == 0, 0.01)

    def start_emulator(self):
        ready = f"{self.work}/ready"
        if os.path.exists(ready):
            os.unlink(ready)
        self.emulator = subprocess.Popen(
            [f"{self.binaries}/fleet-engine-emulator", "--port", str(self.port), "--ready-file", ready, "--record",
             self.record.path, "--quiet", "--token-lifetime", "40"],
            stdout=subprocess.DEVNULL)
        until(20, "the emulator starts", lambda: os.path.exists(ready), 0.01)

    def settings(self, level="info", extra=""):
        with open(f"{self.work}/daemon.toml", "w") as file:
            file.write(f"""
[vehicle]
provider_id = "soak"
vehicle_id = "truck-17"
[source]
type = "serial"
device = "{self.work}/gps0"
silence_timeout = "5s"
[token]
url = "http://127.0.0.1:{self.port}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "https://localhost:{self.front_port}"
ca_file = "{self.work}/tls/ca.crt"
deadline = "5s"
[reporting]
interval = "0s"
[backlog]
directory = "{self.work}/state"
[log]
level = "{level}"
{extra}
""")

    def start(self):
        os.mkdir(f"{self.work}/state", 0o700)
        self.start_emulator()
        self.start_front()
        self.receiver = Receiver(f"{self.work}/gps0")
        self.settings()
        self.log = open(f"{self.work}/daemon.log", "w")
        self.daemon = subprocess.Popen(
            [f"{self.binaries}/fleet-locationd", "--config", f"{self.work}/daemon.toml"], stderr=self.log,
            env={**os.environ, "RUNTIME_DIRECTORY": self.work})
        self.run_until(lambda: self.requests > 2, 30, "the first updates")

    def down(self):
        for child in (self.daemon, self.emulator, self.front):
            if child is not None and child.poll() is None:
                child.send_signal(signal.SIGCONT)
                child.kill()
                child.wait(10)

    # -- Time

    def turn(self):
        self.receiver.pump()
        if self.daemon.poll() is not None:
            raise Failure(f"the daemon has ended, with {self.daemon.returncode}")
        time.sleep(0.02)

    def run(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()

    def run_until(self, condition, limit, what):
        end = time.monotonic() + limit
        while not condition():
            # Once more after the end, because this program, too, may have had to wait.
            is_late = time.monotonic() > end
            self.turn()
            self.collect()
            if is_late and not condition():
                raise Failure(f"{what}: not within {limit} s")

    # -- Faults

    def time_of(self, name):
        if self.is_short:
            return 1.5
        return {"outage": 90, "stopped": 12, "silent": 9}.get(name, self.random.choice([3, 6, 12, 20]))

    def trouble(self, name):
        seconds = self.time_of(name)
        milliseconds = int(seconds * 1000)
        update = dict(target="update", for_ms=milliseconds)
        token = dict(target="token", for_ms=milliseconds)
        match name:
            case "503":
                fault(self.port, **update, status=503)
            case "500 and late":
                fault(self.port, target="update", times=2, status=500, delay_ms=700)
            case "429":
                fault(self.port, target="update", times=2, status=429, retry_after="2")
            case "reset" | "outage":
                fault(self.port, **update, reset=True)
            case "no response":
                fault(self.port, target="update", times=1, drop=True)
            case "response lost":
                fault(self.port, target="update", times=2, reset=True, apply=True)
            case "portal":
                fault(self.port, **update, body="html")
            case "cut off":
                fault(self.port, target="update", times=2, body="truncated")
            case "slow":
                fault(self.port, target="update", times=3, delay_ms=1500)
            case "no token":
                fault(self.port, **token, status=503)
                fault(self.port, target="update", times=1, status=401)
            case "token portal":
                fault(self.port, **token, body="html")
            case "stopped":
                self.emulator.send_signal(signal.SIGSTOP)
                self.run(seconds)
                self.emulator.send_signal(signal.SIGCONT)
                return
            case "restarted":
                self.emulator.kill()
                self.emulator.wait(10)
                self.run(seconds)
                # The emulator's key has changed, so the token is invalid.
                self.start_emulator()
                return
            case "goaway":
                # nghttpx sends GOAWAY, and exits once its connections are closed.
                self.front.send_signal(signal.SIGQUIT)
                self.run(0.5)
                self.front.kill()
                self.front.wait(10)
                self.start_front()
                self.run(seconds)
                return
            case "unplugged":
                self.receiver.unplug()
                self.run(seconds)
                self.receiver.plug()
                return
            case "silent":
                self.receiver.is_silent = True
                self.run(seconds)
                self.receiver.is_silent = False
                return
            case "noise":
                for _ in range(5):
                    self.receiver.noise()
                    self.run(seconds / 5)
                    # A sentence that begins within noise is lost.
                    self.receiver.regain()
                return
            case "reload":
                self.settings("debug")
                self.daemon.send_signal(signal.SIGHUP)
                self.run(1)
                self.settings()
                self.daemon.send_signal(signal.SIGHUP)
                return
            case "bad reload":
                self.settings(extra='interval = "never"')
                self.daemon.send_signal(signal.SIGHUP)
                self.run(1)
                self.settings()
                return
        self.run(seconds)

    TROUBLES = [
        "503", "500 and late", "429", "reset", "no response", "response lost", "portal", "cut off", "slow", "no token",
        "token portal", "stopped", "restarted", "goaway", "unplugged", "noise", "reload", "bad reload",
    ]

    # -- Observations

    def collect(self):
        for entry in self.record.entries():
            if not entry["accepted"]:
                continue
            self.requests += 1
            for position in positions(entry):
                self.arrived[int(epoch_seconds(position["supplementalLocationTime"]))] += 1

    def measure(self):
        pid = self.daemon.pid
        with open(f"/proc/{pid}/status") as file:
            memory = {line.split(":")[0]: line.split()[1] for line in file if line.startswith(("VmRSS", "RssAnon", "Threads"))}
        return {
            "second": round(time.monotonic() - self.begin), "rss": int(memory["VmRSS"]), "anonymous": int(memory["RssAnon"]),
            "threads": int(memory["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "cpu": processor(pid), "updates": self.requests, "troubles": sum(self.done.values()),
        }

    def calm(self):
        """All faults have ended, and nothing is pending."""
        self.run_until(lambda: status(self.binaries, self.control)["backlog"]["count"] <= 1, 120, "the backlog is worked off")
        self.run(0.5 if self.is_short else 3)
        sample = self.measure()
        self.samples.append(sample)
        if self.is_short:
            return
        if len(self.samples) < 2 or sample["second"] // 60 > self.samples[-2]["second"] // 60:
            self.say(sample)

    def say(self, sample):
        print(
            f"{sample['second'] / 60:5.1f} min: RSS {sample['rss']} kB, anonymous {sample['anonymous']} kB, "
            f"{sample['descriptors']} descriptors, {sample['threads']} threads, {sample['cpu']:.1f} s of CPU, "
            f"{sample['updates']} updates, {sample['troubles']} troubles", flush=True)

    def soak(self, minutes):
        self.begin = time.monotonic()
        end = self.begin + minutes * 60
        queue = []
        self.calm()
        while time.monotonic() < end or self.is_short and len(self.done) < len(self.TROUBLES):
            if not queue:
                queue = self.random.sample(self.TROUBLES, len(self.TROUBLES))
                if not self.is_short:
                    queue += ["outage", "silent"]
            name = queue.pop()
            self.trouble(name)
            self.done[name] += 1
            self.calm()

    def judge(self):
        complaints = []
        self.run(REGAIN + 1)
        self.calm()
        report = status(self.binaries, self.control)
        # That was measured half a second after the last request: now the daemon may not have closed its connection yet.
        last = self.samples[-1]
        self.daemon.terminate()
        code = self.daemon.wait(15)
        self.collect()
        if code != 0:
            complaints.append(f"the daemon ended with {code}")
        missing = [stamp for stamp in self.receiver.sent if stamp not in self.arrived and stamp not in self.receiver.unheard]
        # The last fix may not have been read.
        missing = [stamp for stamp in missing if stamp < self.receiver.sent[-1]]
        if missing:
            complaints.append(f"{len(missing)} positions are missing, the first of {missing[0]}")
        unknown = set(self.arrived) - set(self.receiver.sent)
        if unknown:
            complaints.append(f"{len(unknown)} positions arrived that the receiver never sent")
        if report.get("transport") != "HTTP/2":
            complaints.append(f"the transport is {report.get('transport')}, not HTTP/2")
        if report["backlog"]["removed"]:
            complaints.append(f"positions were given up: {report['backlog']['removed']}")
        first = next((s for s in self.samples if s["second"] >= 120), self.samples[0])
        for key in ("rss", "anonymous"):
            limit = GROWTH if first["second"] >= 120 else 3 * GROWTH
            if last[key] - first[key] > limit:
                complaints.append(f"{key} grew from {first[key]} kB at {first['second']} s to {last[key]} kB")
        # A connection may be open or closed.
        if last["descriptors"] > self.samples[0]["descriptors"] + 1:
            complaints.append(f"{self.samples[0]['descriptors']} descriptors at first, {last['descriptors']} at the end")
        if last["threads"] != 1:
            complaints.append(f"{last['threads']} threads")
        middle = min(self.samples, key=lambda s: abs(s["second"] - last["second"] / 2))
        for sample in (first, middle, last):
            self.say(sample)
        heard = len(self.receiver.sent) - len(self.receiver.unheard)
        repeated = sum(count - 1 for count in self.arrived.values())
        print(
            f"{len(self.receiver.sent)} positions sent, {heard} of them while it could read; {len(self.arrived)} arrived, "
            f"{len(missing)} missing, {repeated} times one arrived again; "
            f"{sum(self.done.values())} troubles of {len(self.done)} kinds")
        figures = {
            "first": first, "middle": middle, "last": last, "sent": len(self.receiver.sent), "heard": heard,
            "arrived": len(self.arrived), "missing": len(missing), "repeated": repeated, "troubles": dict(self.done),
            "counters": report["counters"],
        }
        return complaints, figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--short", action="store_true", help="each trouble once, in a minute or so")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--keep", action="store_true", help="keep log and record")
    arguments = parser.parse_args()
    complaints = ["it did not come to an end"]
    with work_directory("soak", arguments.keep) as work:
        soak = Soak(os.path.abspath(arguments.binaries), work, arguments.seed, arguments.short)
        try:
            soak.start()
            soak.soak(arguments.minutes if not arguments.short else 0)
            complaints, figures = soak.judge()
            if arguments.json:
                with open(arguments.json, "w") as file:
                    json.dump(figures, file, indent=2)
        except Failure as failure:
            complaints = [str(failure)]
        finally:
            soak.down()
            for complaint in complaints:
                print(f"soak: {complaint}", file=sys.stderr)
            if complaints:
                print_tail(f"{work}/daemon.log", 40)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
