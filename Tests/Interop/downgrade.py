#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two releases with one backlog file: positions that one has stored are sent by the other.

  downgrade.py OLD NEW

OLD and NEW are directories with the programs, or Debian packages of fleet-locationd. The emulator is NEW's, or the one built here
if NEW is a package; EMULATOR names another. One release stores positions while Fleet Engine fails, and the other one sends
them; then they swap roles with the same file. This is done twice, beginning with either. Every position in the file must
be delivered, and the file must not be set aside. A pause, the token and the month's data volume must be those of the other
release.

Then OLD, NEW, OLD and NEW again use one state directory in turn, with every setting and every file that is new in NEW. OLD
refuses each of these settings, so it must use those that NEW has kept. 0.2.0 does not do that for a section that it does not
know: such a section is removed before the downgrade. NEW must find the duty and the confirmation as it has left them.
"""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request

from trial import Failure, Record, epoch_seconds, fault, free_port, positions, until

# The seconds for which a release drives without Fleet Engine, with a position a second.
DRIVE = 8
# The seconds within which what is expected must happen.
WAIT = 40

# What NEW has and OLD lacks: keys of sections that OLD knows, and of other sections; files in the state directory, and
# the file beside the settings.
KEYS = {"reporting.deviation": '"5m"', "reporting.compact_updates": '"auto"'}
SECTIONS = {"positions.socket": "true"}
SETTINGS = {**KEYS, **SECTIONS}
FILES = ["offline", "settings-confirmation", "update-form"]
MARKER = "daemon.toml.confirm"


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
        self.port = free_port()
        self.record = f"{work}/record.jsonl"
        self.emulator = subprocess.Popen(
            [emulator, "--port", str(self.port), "--ready-file", f"{work}/ready", "--record", self.record, "--quiet"],
            stdout=subprocess.DEVNULL)
        self.children = [self.emulator]
        until(WAIT, "the emulator starts", lambda: os.path.exists(f"{work}/ready"))
        self.positions = f"{work}/positions"
        os.mkdir(self.positions, 0o700)
        self.write()

    def write(self, service="deliveries", more={}):
        """The settings; `more` are others, by `section.key`."""
        path = {"deliveries": "delivery_driver", "trips": "driver"}[service]
        sections = {
            "vehicle": {"provider_id": '"test-project"', "vehicle_id": '"truck-17"', "service": f'"{service}"'},
            "source": {"type": '"simulated"', "route": f'"{self.route}"'},
            "token": {
                "url": f'"http://127.0.0.1:{self.port}/token/{path}/{{vehicle_id}}"',
                "response": {"deliveries": '"lmfs"', "trips": '"rides-stub"'}[service]},
            "fleet_engine": {"endpoint": f'"http://127.0.0.1:{self.port}"'},
            "reporting": {"interval": '"1s"'},
            "backlog": {"directory": f'"{self.state}"', "commit_interval": '"200ms"', "batch": "3"},
        }
        for name, value in more.items():
            section, key = name.split(".")
            sections.setdefault(section, {})[key] = value
        with open(f"{self.work}/daemon.toml", "w") as file:
            for section, keys in sections.items():
                print(f"[{section}]", *(f"{key} = {value}" for key, value in keys.items()), sep="\n", file=file)

    def ask(self, path, method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()

    def arrived(self):
        """The times of all positions that Fleet Engine has accepted, in milliseconds."""
        accepted = (entry for entry in Record(self.record).entries() if entry["accepted"])
        return {round(epoch_seconds(position["supplementalLocationTime"]) * 1000) for entry in accepted for position in positions(entry)}

    def run(self, folder, log):
        daemon = subprocess.Popen(
            [f"{folder}/fleet-locationd", "--config", f"{self.work}/daemon.toml"], stderr=open(log, "w"),
            env={
                **os.environ, "RUNTIME_DIRECTORY": self.work, "STATE_DIRECTORY": self.state, "FLEET_POSITIONS": self.positions})
        self.children.append(daemon)
        return daemon

    def kill(self):
        """Ends what a failure has left."""
        for child in self.children:
            child.kill()
            child.wait()

    def command(self, folder, name):
        """A command of fleet-locationctl, such as `offline`, whose effect must be stored when it ends."""
        answer = subprocess.run(
            ["fleet-locationctl", name], executable=f"{folder}/fleet-locationd", capture_output=True, text=True, check=False,
            env={**os.environ, "RUNTIME_DIRECTORY": self.work})
        if answer.returncode != 0:
            raise Failure(f"{name}: {answer.returncode} {answer.stdout}{answer.stderr}")

    def tokens(self):
        """How many tokens the emulator has issued."""
        return json.loads(self.ask("/debug/stats"))["tokens"]

    def volume(self):
        """The bytes that were sent in this month, according to the file in the state directory."""
        with open(f"{self.state}/traffic") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("month "))

    @staticmethod
    def end(daemon, log):
        daemon.send_signal(signal.SIGTERM)
        if daemon.wait(30) != 0:
            raise Failure(f"it ended with {daemon.returncode}: {open(log).read()}")

    def store(self, folder, log):
        """Runs a release while Fleet Engine fails."""
        fault(self.port, target="update", reset=True, for_ms=3600000)
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
        until(WAIT, f"all {len(stored)} positions arrive", lambda: stored <= self.arrived() or daemon.poll() is not None)
        self.end(daemon, log)
        if missing := stored - self.arrived():
            raise Failure(f"{len(missing)} of {len(stored)} positions have not arrived: {open(log).read()}")
        if left := stored & rows(self.state):
            raise Failure(f"{len(left)} positions that have arrived are still in the file")
        if aside := [name for name in os.listdir(self.state) if "corrupt" in name]:
            raise Failure(f"the file was set aside: {aside}")


def remembered(trial, first, second):
    """A pause, the token and the data volume of one release are those of the other."""
    log = f"{trial.work}/fifth.log"
    daemon = trial.run(first, log)
    before = trial.arrived()
    until(WAIT, "an update is accepted", lambda: trial.arrived() > before)
    trial.command(first, "pause")
    trial.end(daemon, log)
    sent, issued, volume = trial.arrived(), trial.tokens(), trial.volume()
    log = f"{trial.work}/sixth.log"
    daemon = trial.run(second, log)
    # A position is due each second.
    time.sleep(4)
    if trial.arrived() != sent:
        raise Failure(f"the other release has sent positions during a pause: {open(log).read()}")
    trial.command(second, "resume")
    until(WAIT, "an update is accepted after the pause", lambda: trial.arrived() > sent)
    trial.end(daemon, log)
    if trial.tokens() != issued:
        raise Failure(f"the other release has requested a token although there was one: {open(log).read()}")
    if trial.volume() <= volume:
        raise Failure(f"the month's bytes were {volume}, and are {trial.volume()}")


def everything(trial, old, new):
    """Both releases in turn with all that is new; returns how many positions each release left to the next."""
    work, state = trial.work, trial.state
    exists = os.path.exists

    def present(*names):
        if missing := [name for name in names if not exists(f"{state}/{name}")]:
            raise Failure(f"not in the state directory: {missing}, but {os.listdir(state)}")

    for name, value in SETTINGS.items():
        trial.write("trips", {name: value})
        judged = subprocess.run(
            [f"{old}/fleet-locationd", "--config", f"{work}/daemon.toml", "--check"], capture_output=True, text=True, check=False)
        if judged.returncode != 78 or name.split(".")[0] not in judged.stderr:
            raise Failure(f"{name} is not new: {judged.returncode} {judged.stderr}")

    # The settings that the older release has stored.
    trial.write("trips")
    daemon = trial.run(old, f"{work}/old.log")
    until(WAIT, "the older release keeps its settings", lambda: exists(f"{state}/kept-settings.toml"))
    trial.end(daemon, f"{work}/old.log")
    first = trial.store(old, f"{work}/old.log")

    # The newer release confirms all its settings, has compact updates refused, and goes off duty; then changed settings
    # wait for a confirmation.
    open(f"{work}/{MARKER}", "w").close()
    trial.write("trips", SETTINGS)
    log = f"{work}/new.log"
    fault(trial.port, target="update", **{"for": "compressed", "status": 415, "times": 1000})
    daemon = trial.run(new, log)
    until(WAIT, "there is a socket with positions", lambda: os.listdir(trial.positions))
    until(WAIT, "all positions of the older release arrive", lambda: first <= trial.arrived())
    until(WAIT, "the new settings are confirmed", lambda: not exists(f"{state}/settings-confirmation"))
    trial.command(new, "offline")
    trial.end(daemon, log)
    trial.ask("/debug/faults", "DELETE")
    present("update-form", "offline")
    with open(f"{state}/kept-settings.toml") as file:
        kept = file.read()
    if missing := [name for name in SETTINGS if f'"{name.split(".")[1]}"' not in kept]:
        raise Failure(f"not kept: {missing} in {kept}")
    trial.write("trips", {**KEYS, "reporting.heading": "20"})
    second = trial.store(new, log)
    present(*FILES)

    # The older release rejects these settings, uses those that the newer one has stored, and ignores the other files.
    log = f"{work}/old.log"
    trial.send(old, log, second)
    with open(log) as file:
        if "is not a setting" not in file.read():
            raise Failure(f"the older release has found no mistake in the settings: {log}")
    third = trial.store(old, log)
    present(*FILES)

    # The newer release is off duty as before, and an update confirms its settings.
    log = f"{work}/new.log"
    trial.send(new, log, third)
    until(1, "the settings are confirmed after the downgrade", lambda: not exists(f"{state}/settings-confirmation"))
    present("offline", "update-form")
    return [len(first), len(second), len(third)]


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
                # Both releases have written the file now, and the first one gets it again.
                again = trial.store(second, f"{work}/{name}/third.log")
                trial.send(first, f"{work}/{name}/fourth.log", again)
                remembered(trial, first, second)
            finally:
                trial.kill()
            print(f"{name}: {len(stored)} positions stored by one release and sent by the other, {len(again)} the other way;"
                  " its pause, token and data volume")
        os.mkdir(f"{work}/new-settings")
        trial = Trial(f"{work}/new-settings", emulator, f"{top}/config/examples/town.gpx")
        try:
            counts = everything(trial, old, new)
        finally:
            trial.kill()
        print(f"{len(SETTINGS)} settings and {len(FILES) + 1} files that the older release does not know: upgrade, downgrade and"
              f" upgrade with {', '.join(map(str, counts))} positions")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"failed: {failure}")
