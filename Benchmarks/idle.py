#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often an idle daemon runs, without and with its metrics file: idle.py BINDIR [SECONDS]

Four daemons side by side, under the unit's watchdog of 60 s: two with a receiver that is silent, two with one that reports each
second that the vehicle is parked. It counts the voluntary context switches of each daemon (/proc/PID/status), over two minutes from the
second minute on.
"""
import os
import socket
import subprocess
import sys
import tempfile
import time

from harness import free_port, spawn, status
from recording import sentence

SENTENCES = ("GNRMC,{time},A,4807.0380,N,01131.0000,E,0.0,0.0,{date},,,A,V",
             "GNGGA,{time},4807.0380,N,01131.0000,E,1,11,0.9,545.4,M,46.9,M,,")

SETTINGS = """
[vehicle]
provider_id = "bench"
vehicle_id = "{name}"
[source]
type = "replay"
file = "{fifo}"
pace = 1
silence_timeout = "10min"
[token]
url = "http://127.0.0.1:{port}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "http://127.0.0.1:{port}"
{metrics}
"""


def epoch(now):
    moment = time.gmtime(now)
    fields = {"time": time.strftime("%H%M%S.00", moment), "date": time.strftime("%d%m%y", moment)}
    return "".join(sentence(body.format(**fields)) for body in SENTENCES).encode()


def main():
    programs, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 120
    # In memory, like the runtime directory of the service: a daemon would wait for a disk.
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        path = lambda *names: os.path.join(directory, *names)
        port = free_port()
        emulator = subprocess.Popen(
            [os.path.join(programs, "fleet-engine-emulator"), "--port", str(port)], stdout=subprocess.DEVNULL)
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(path("notify"))
        os.environ |= {"NOTIFY_SOCKET": path("notify"), "WATCHDOG_USEC": "60000000"}
        time.sleep(0.5)
        daemons, receivers = {}, {}
        for receiver in ("silent", "parked"):
            for metrics in ("off", "on"):
                name = f"{receiver}-{metrics}"
                os.mkfifo(path(name))
                receivers[name] = os.open(path(name), os.O_RDWR)
                textfile = f'[metrics]\ntextfile = "{path(name + ".prom")}"' if metrics == "on" else ""
                with open(path(name + ".toml"), "w", encoding="utf-8") as settings:
                    settings.write(SETTINGS.format(name=name, fifo=path(name), port=port, metrics=textfile))
                daemons[name] = spawn(
                    [os.path.join(programs, "fleet-locationd"), "--config", path(name + ".toml")], path("log"))
        marks = {}
        start = time.time()
        manager.setblocking(False)
        for second in range(60 + seconds + 1):
            if second in (60, 60 + seconds):
                marks[second] = {name: status(process) for name, process in daemons.items()}
            for name, descriptor in receivers.items():
                if name.startswith("parked") or second < 20:
                    os.write(descriptor, epoch(start + second))
            time.sleep(max(start + second + 1 - time.time(), 0))
            while True:
                try:
                    manager.recv(4096)
                except BlockingIOError:
                    break
        for name, process in daemons.items():
            if "voluntary_ctxt_switches" not in marks[60 + seconds][name]:
                with open(path("log"), encoding="utf-8") as log:
                    raise SystemExit(f"{name} has ended: {log.read()}")
            begin, end = (marks[second][name]["voluntary_ctxt_switches"] for second in sorted(marks))
            written = os.path.exists(path(name + ".prom"))
            print(f"{name:12} {end - begin:5} in {seconds} s{'  and a file of metrics' if written else ''}")
            os.kill(process, 15)
            os.wait4(process, 0)
        emulator.terminate()
        emulator.wait()
        if "-v" in sys.argv:
            with open(path("log"), encoding="utf-8") as log:
                print(log.read())


main()
