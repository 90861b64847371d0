#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two releases with one backlog file: positions that one has stored are sent by the other.

  downgrade.py OLD NEW

OLD and NEW are directories with the programs, or Debian packages of fleet-locationd. The emulator is NEW's, or the one built here
if NEW is a package; EMULATOR names another. One release stores positions while Fleet Engine fails, and the other one sends
them; then they swap roles with the same file. This is done twice, beginning with either. Every position in the file must
be delivered, and the file must not be set aside.
"""
import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from trial import Failure, Record, epoch_seconds, positions

# The seconds for which a release drives without Fleet Engine, with a position a second.
DRIVE = 8


def programs(source, work, name):
    """The directory of a release's programs."""
    if os.path.isdir(source):
        return os.path.abspath(source)
    root = f"{work}/{name}"
    subprocess.run(["dpkg-deb", "-x", source, root], check=True)
    return next(
        folder for folder, _, files in os.walk(root) if "fleet-locationd" in files and os.access(f"{folder}/fleet-locationd", os.X_OK))


def rows(state):
    """The times of the positions in the file, in milliseconds, after the daemon has exited."""
    with contextlib.closing(sqlite3.connect(f"file:{state}/backlog.sqlite?mode=ro", uri=True)) as database:
        return {time for (time,) in database.execute("SELECT time FROM positions")}


class Trial:
    def __init__(self, work, emulator, route):
        self.work, self.route = work, route
        self.state = f"{work}/state"
        os.mkdir(self.state, 0o700)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.record = f"{work}/record.jsonl"
        self.emulator = subprocess.Popen(
            [emulator, "--port", str(self.port), "--ready-file", f"{work}/ready", "--record", self.record, "--quiet"],
            stdout=subprocess.DEVNULL)
        self.until(lambda: os.path.exists(f"{work}/ready"), "the emulator does not start")
        with open(f"{work}/daemon.toml", "w") as file:
            file.write(f"""
[vehicle]
provider_id = "test-project"
vehicle_id = "truck-17"
[source]
type = "simulated"
route = "{route}"
[token]
url = "http://127.0.0.1:{self.port}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "http://127.0.0.1:{self.port}"
[reporting]
interval = "1s"
[backlog]
directory = "{self.state}"
commit_interval = "200ms"
batch = 3
""")

    @staticmethod
    def until(condition, why, limit=40):
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end:
                raise Failure(why)
            time.sleep(0.1)

    def ask(self, path, method="GET", body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=body, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def arrived(self):
        """The times of all positions that Fleet Engine has accepted, in milliseconds."""
        accepted = (entry for entry in Record(self.record).entries() if entry["accepted"])
        return {round(epoch_seconds(position["supplementalLocationTime"]) * 1000) for entry in accepted for position in positions(entry)}

    def run(self, folder, log):
        return subprocess.Popen(
            [f"{folder}/fleet-locationd", "--config", f"{self.work}/daemon.toml"], stderr=open(log, "w"),
            env={**os.environ, "RUNTIME_DIRECTORY": self.work, "STATE_DIRECTORY": self.state})

    @staticmethod
    def end(daemon, log):
        daemon.send_signal(signal.SIGTERM)
        if daemon.wait(30) != 0:
            raise Failure(f"it ended with {daemon.returncode}: {open(log).read()}")

    def store(self, folder, log):
        """Runs a release while Fleet Engine fails."""
        self.ask("/debug/faults", "POST", b'{"target": "update", "reset": true, "for_ms": 3600000}')
        daemon = self.run(folder, log)
        time.sleep(DRIVE)
        self.end(daemon, log)
        self.ask("/debug/faults", "DELETE")
        stored = rows(self.state)
        if len(stored) < DRIVE / 2:
            raise Failure(f"only {len(stored)} positions were stored: {open(log).read()}")
        return stored

    def send(self, folder, log, stored):
        """Runs a release that must send the positions in the file."""
        daemon = self.run(folder, log)
        self.until(
            lambda: stored <= self.arrived() or daemon.poll() is not None,
            f"{len(stored - self.arrived())} of {len(stored)} positions have not arrived")
        self.end(daemon, log)
        if missing := stored - self.arrived():
            raise Failure(f"{len(missing)} of {len(stored)} positions have not arrived: {open(log).read()}")
        if left := stored & rows(self.state):
            raise Failure(f"{len(left)} positions that have arrived are still in the file")
        if aside := [name for name in os.listdir(self.state) if "corrupt" in name]:
            raise Failure(f"the file was set aside: {aside}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    top = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
    with tempfile.TemporaryDirectory() as work:
        old, new = (programs(source, work, name) for source, name in zip(sys.argv[1:], ("old", "new")))
        choices = [os.environ.get("EMULATOR", ""), f"{new}/fleet-engine-emulator", f"{top}/.build/release/fleet-engine-emulator"]
        emulator = next((path for path in choices if os.path.exists(path)), None)
        if emulator is None:
            sys.exit("downgrade.py: there is no emulator: build it, or name one in EMULATOR")
        for name, first, second in (("upgrade", old, new), ("downgrade", new, old)):
            os.mkdir(f"{work}/{name}")
            trial = Trial(f"{work}/{name}", emulator, f"{top}/config/examples/town.gpx")
            try:
                stored = trial.store(first, f"{work}/{name}/first.log")
                trial.send(second, f"{work}/{name}/second.log", stored)
                # Both have written the file now, and the first release gets it again.
                again = trial.store(second, f"{work}/{name}/third.log")
                trial.send(first, f"{work}/{name}/fourth.log", again)
            finally:
                trial.emulator.kill()
                trial.emulator.wait()
            print(f"{name}: {len(stored)} positions stored by one release and sent by the other, {len(again)} the other way")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"failed: {failure}")
