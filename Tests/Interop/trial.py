# SPDX-License-Identifier: Apache-2.0
"""For programs that run the daemon with an emulator: a temporary directory, the emulator's record, and failures."""
import contextlib
import datetime
import http.server
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request


given_ports = set()


class Failure(Exception):
    """The reason why a trial failed."""


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """The base of HTTP servers that log no requests."""

    def log_message(self, *arguments):
        pass


def check(is_so, what):
    if not is_so:
        raise Failure(what)


def epoch_seconds(text):
    """An RFC 3339 time as seconds since 1970."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def until(seconds, what, condition, pause=0.05):
    """Waits until the condition is met, and returns its value. Raises `Failure` after this time."""
    end = time.monotonic() + seconds
    while True:
        # The last try is after the end, because this program, too, may have had to wait.
        is_late = time.monotonic() > end
        if value := condition():
            return value
        if is_late:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)


def free_port(kind=socket.SOCK_STREAM):
    """A port of the loopback on which nothing listens, below those that the kernel gives to connections; each only once."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, kind) as probe:
            probe.bind(("127.0.0.1", port))
            if (kind, port) not in given_ports:
                given_ports.add((kind, port))
                return port


def sentence(body):
    """A sentence of NMEA 0183: the body with its checksum and line end."""
    checksum = 0
    for byte in body.encode():
        checksum ^= byte
    return f"${body}*{checksum:02X}\r\n"


class Record:
    """The lines of JSON that a program is writing, such as the requests that an emulator records (--record)."""

    def __init__(self, path):
        self.path, self.offset = path, 0

    def entries(self):
        """The complete lines that have been added since the previous call."""
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as file:
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self.offset += len(line)
                yield json.loads(line)


def status(binaries, control):
    """What the daemon with this control socket reports: `fleet-locationctl status --json`."""
    answer = subprocess.run(
        [f"{binaries}/fleet-locationctl", "status", "--json", "--socket", control], capture_output=True, timeout=10)
    return json.loads(answer.stdout)


def fault(port, **fields):
    """Adds a fault to the emulator at this port; Sources/FleetEngineEmulator/Fault.swift has the fields."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/debug/faults", json.dumps(fields).encode(), method="POST")
    urllib.request.urlopen(request, timeout=5).read()


def processor(pid):
    """The processor time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as file:
        return sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def positions(entry):
    """The positions of a recorded update: the live one, if any, then the past ones."""
    body = json.loads(entry["body"])
    return ([body["lastLocation"]] if "lastLocation" in body else []) + body.get("pastLocations", [])


@contextlib.contextmanager
def work_directory(name, keep):
    """A temporary directory, which is removed at the end, even after SIGTERM, unless `keep` is true."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    path = tempfile.mkdtemp(prefix=f"{name}-")
    try:
        yield path
    finally:
        if keep:
            print(f"kept in {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)


def print_tail(path, count):
    """Prints the last lines of a log to standard error, if it exists."""
    with contextlib.suppress(FileNotFoundError), open(path, errors="replace") as file:
        sys.stderr.write("".join(file.readlines()[-count:]))
