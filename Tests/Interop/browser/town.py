# SPDX-License-Identifier: Apache-2.0
"""The emulator and some daemons that drive through a small town, all on this machine."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

SETTINGS = """
[vehicle]
provider_id = "live-map"
vehicle_id = "{vehicle}"
service = "{service}"

[source]
type = "simulated"
route = "{route}"
speed = "{speed} km/h"
seed = {seed}

[token]
url = "{url}/token/{path}/{{vehicle_id}}"
response = "{form}"

[fleet_engine]
endpoint = "{url}"

[reporting]
interval = "{interval}"
"""


class Town:
    def __init__(self, binaries, speeds, page=None, interval="1s", route="demo.gpx", taxis=0):
        """The last vehicles are taxis, for on-demand trips."""
        self._bin = pathlib.Path(binaries).resolve()
        self._top = pathlib.Path(__file__).resolve().parents[3]
        self._work = pathlib.Path(tempfile.mkdtemp(prefix="live-map-"))
        self._interval = interval
        self._route = self._driven = self._top / "config/examples" / route
        if route == "demo.gpx":
            # Without stops and the tunnel: on a slow machine, a vehicle would stand when it is expected to drive.
            self._driven = self._work / route
            self._driven.write_text(re.sub(r"<wpt.*?</wpt>|<type>tunnel</type>", "", self._route.read_text(), flags=re.DOTALL))
        self._page = ["--map-files", page] if page else []
        self._processes = {}
        self.url = self._emulate(0)
        for number, speed in enumerate(speeds, 1):
            self._drive(number, speed, number > len(speeds) - taxis)

    def close(self):
        for process in reversed(list(self._processes.values())):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self._work, ignore_errors=True)

    def stop_emulator(self):
        process = self._processes.pop("emulator")
        process.terminate()
        process.wait(10)

    def start_emulator(self):
        """Restarts it at the same address."""
        self._emulate(int(self.url.rsplit(":", 1)[1]))

    def stats(self):
        with urllib.request.urlopen(f"{self.url}/debug/stats", timeout=5) as answer:
            return json.load(answer)

    def story(self):
        """The emulator's list of what has happened, as a new page gets it."""
        with urllib.request.urlopen(f"{self.url}/map/events", timeout=5) as events:
            state = next(line for line in events if line.startswith(b"data: "))
        return json.loads(state.removeprefix(b"data: "))["story"]

    def steer(self, vehicle, command):
        """Sends `pause` or `resume` to a daemon."""
        subprocess.run([self._bin / "fleet-locationctl", command, "--socket", self._work / vehicle / "control.sock"],
                       check=True, stdout=subprocess.DEVNULL, timeout=10)

    def _start(self, name, *arguments, **environment):
        # Each vehicle logs to its own file, to diagnose failures.
        with open(self._work / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen(
                arguments, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                env={**os.environ, "SWIFT_BACKTRACE": "enable=no", **environment})

    def log(self, name):
        return (self._work / f"{name}.log").read_text(errors="replace")

    def _emulate(self, port):
        ready = self._work / "url"
        ready.unlink(missing_ok=True)
        self._start("emulator", self._bin / "fleet-engine-emulator", "--port", str(port), "--ready-file", ready,
                    "--route", self._route, *self._page)
        for _ in range(200):
            if ready.exists() and (url := ready.read_text().strip()):
                return url
            if self._processes["emulator"].poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"the emulator does not start: {self.log('emulator')}")

    def _drive(self, number, speed, is_taxi):
        vehicle = f"taxi-{number}" if is_taxi else f"truck-{number}"
        directory = self._work / vehicle
        directory.mkdir()
        settings = directory / "settings.toml"
        settings.write_text(SETTINGS.format(
            vehicle=vehicle, service="trips" if is_taxi else "deliveries", path="driver" if is_taxi else "delivery_driver",
            form="rides-stub" if is_taxi else "lmfs", route=self._driven, speed=speed, seed=number, url=self.url,
            interval=self._interval))
        self._start(vehicle, self._bin / "fleet-locationd", "--config", settings, RUNTIME_DIRECTORY=str(directory))
