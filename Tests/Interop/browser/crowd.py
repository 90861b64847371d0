# SPDX-License-Identifier: Apache-2.0
"""The emulator and many vehicles without daemons: one thread sends their updates."""

import datetime
import http.client
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from rehearsal import PERIOD, Drive  # noqa: E402
from trial import processor, until  # noqa: E402


class Crowd(threading.Thread):
    """Each vehicle drives in a circle of its own, and is reported every PERIOD seconds."""

    def __init__(self, binaries, count, page=None):
        super().__init__(daemon=True)
        self._work = tempfile.TemporaryDirectory(prefix="crowd-")
        ready = pathlib.Path(self._work.name) / "url"
        arguments = [pathlib.Path(binaries).resolve() / "fleet-engine-emulator", "--quiet", "--ready-file", ready]
        self._emulator = subprocess.Popen(arguments + (["--map-files", page] if page else []), stdout=subprocess.DEVNULL)
        self.url = until(10, "the emulator starts", lambda: ready.exists() and ready.read_text().strip())
        self._over = threading.Event()
        self._vehicles = [(f"truck-{number:04d}", Drive(number)) for number in range(1, count + 1)]
        self.failure = None
        self.latest = 0.0

    def run(self):
        try:
            self._drive()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.failure = error

    def _drive(self):
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=10)
        tokens = {}
        begun = time.monotonic()
        turn = 0
        while not self._over.is_set():
            name, drive = self._vehicles[turn % len(self._vehicles)]
            at = begun + turn * PERIOD / len(self._vehicles)
            if self._over.wait(max(0, at - time.monotonic())):
                break
            self.latest = max(self.latest, time.monotonic() - at) if turn > len(self._vehicles) else 0
            turn += 1
            if name not in tokens:
                connection.request("GET", f"/token/delivery_driver/{name}")
                tokens[name] = json.load(connection.getresponse())["token"]
            stamp = time.time()
            latitude, longitude, course = drive.place(stamp)
            connection.request(
                "PATCH", f"/v1/providers/crowd/deliveryVehicles/{name}?updateMask=lastLocation",
                json.dumps({"lastLocation": {
                    "supplementalLocation": {"latitude": latitude, "longitude": longitude},
                    "supplementalLocationTime": datetime.datetime.fromtimestamp(stamp, datetime.timezone.utc).isoformat().replace("+00:00", "Z"),
                    "supplementalLocationAccuracy": 4, "speed": drive.speed, "heading": round(course) % 360}}),
                {"Authorization": f"Bearer {tokens[name]}", "Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise ValueError(f"the emulator answered {answer.status} to an update of {name}")

    def name(self, number):
        return self._vehicles[number - 1][0]

    def processor(self):
        """Processor time of the emulator in seconds."""
        return processor(self._emulator.pid)

    def close(self):
        self._over.set()
        self.join()
        self._emulator.kill()
        self._emulator.wait()
        self._work.cleanup()
