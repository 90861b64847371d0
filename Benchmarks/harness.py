# SPDX-License-Identifier: Apache-2.0
"""What the measurements need around the measured process: a server, TLS in front of it, and a relay that counts bytes."""
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
INTEROP = os.path.join(HERE, "..", "Tests", "Interop")
sys.path.insert(0, INTEROP)
from trial import free_port  # noqa: E402

TLS_FRONT = os.path.join(INTEROP, "tls-front.sh")
# Maximum size of a TLS record with only a frame that is not part of a request or a response, such as the server's WINDOW_UPDATE (35 bytes).
CONTROL_FRAME = 42
# IPv4, TCP, and the timestamps that Linux sends with every segment.
SEGMENT_HEADER = 20 + 20 + 12


class Server:
    """The emulator, with nghttpx (TLS, HTTP/2) in front of it. Its lines report what it accepted, and when.

    `directory` holds the certificates that tls-front.sh made.
    """

    def __init__(self, programs, directory):
        self.ca_file = os.path.join(directory, "ca.crt")
        back = self.back_port = free_port()
        self.front_port = free_port()
        self.emulator = subprocess.Popen(
            [os.path.join(programs, "fleet-engine-emulator"), "--port", str(back)], stdout=subprocess.PIPE)
        self.lines = self.emulator.stdout.fileno()
        os.set_blocking(self.lines, False)
        self.front = subprocess.Popen(
            [TLS_FRONT, "serve", directory, "good", str(self.front_port), str(back)], stderr=subprocess.DEVNULL)
        self._await_port(back)
        self._await_port(self.front_port)
        self.read()

    @staticmethod
    def _await_port(port):
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit(f"nothing listens on port {port}")

    def read(self, patience=0.0):
        """The number of updates accepted since the last call; waits at most `patience` seconds for one."""
        select.select([self.lines], [], [], patience)
        try:
            lines = os.read(self.lines, 1 << 20)
            # The vehicle `parked` runs in addition to the measured one, and is not counted.
            return lines.count(b" m/s ") - lines.count(b" parked  ")
        except BlockingIOError:
            return 0

    def accepted(self, vehicle):
        """The number of updates of a vehicle that were accepted."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.back_port}/debug/stats") as answer:
            return json.load(answer)["vehicles"].get(vehicle, {}).get("accepted", 0)

    def close(self):
        for process in (self.front, self.emulator):
            process.terminate()
            process.wait()


class Relay:
    """Carries TCP connections to a port. The kernel's own counters (TCP_INFO) count what the measured side has carried."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.connections = []
        self.finished = []
        self.control = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            near, _ = self.listener.accept()
            far = socket.create_connection(("127.0.0.1", self.target))
            for one in (near, far):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(near)
            threading.Thread(target=self._carry, args=(near, far), daemon=True).start()

    def _carry(self, near, far):
        other = {near: far, far: near}
        while True:
            for one in select.select([near, far], [], [])[0]:
                try:
                    data = one.recv(1 << 16)
                    if data:
                        if len(data) <= CONTROL_FRAME:
                            self.control += 1
                        other[one].sendall(data)
                        continue
                except OSError:
                    pass
                self.connections.remove(near)
                self.finished.append(self._counters(near))
                near.close()
                far.close()
                return

    @staticmethod
    def _counters(near):
        information = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        acknowledged, received = struct.unpack_from("=QQ", information, 120)
        segments_out, segments_in = struct.unpack_from("=II", information, 136)
        data_in, data_out = struct.unpack_from("=II", information, 152)
        return {
            "sent": received, "received": acknowledged,
            "sent_ip": received + segments_in * SEGMENT_HEADER,
            "received_ip": acknowledged + segments_out * SEGMENT_HEADER,
            "packets": data_in + data_out,
        }

    def counters(self):
        """Bytes so far, as the client sees them: TCP payload, and the same with the headers of IP and TCP; and the number of
        packets with payload, and how many of these carried only a control frame."""
        total = {"sent": 0, "received": 0, "sent_ip": 0, "received_ip": 0, "packets": 0, "control": self.control}
        for counters in self.finished + [self._counters(near) for near in self.connections]:
            for key, value in counters.items():
                total[key] += value
        return total


def status(process_id):
    """Memory in kB, threads and context switches of a process, from /proc; empty when it is gone."""
    wanted = ("VmHWM", "VmRSS", "RssAnon", "Threads", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    try:
        with open(f"/proc/{process_id}/status", encoding="ascii") as lines:
            pairs = (line.split(":", 1) for line in lines)
            return {name: int(value.split()[0]) for name, value in pairs if name in wanted}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def spawn(arguments, log, environment=os.environ):
    with open(log, "ab") as output:
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        return os.posix_spawn(arguments[0], arguments, environment, file_actions=actions)


def run(server, arguments, log, sample_at=None):
    """Runs a program to its end.

    Processor time is that of wait4: the whole process from exec to exit. Memory, threads and context switches are those after
    `sample_at` updates; `sampled_updates` is their number then. Time to the first update: from just before exec to the emulator's
    line that says that it was accepted.
    """
    server.read()
    start = time.monotonic()
    process = spawn(arguments, log)
    updates, first, sample = 0, None, {}
    while True:
        updates += server.read(0.002)
        if updates and first is None:
            first = time.monotonic() - start
        if sample_at and not sample and updates >= sample_at:
            sample = status(process) | {"sampled_updates": updates}
        ended, code, usage = os.wait4(process, os.WNOHANG)
        if ended:
            break
    updates += server.read(0.05)
    if code != 0 or updates == 0:
        raise SystemExit(f"{arguments[0]} ended with status {code} after {updates} updates; see {log}")
    return {
        "updates": updates, "first_update": first, "user": usage.ru_utime, "system": usage.ru_stime,
        "cpu": usage.ru_utime + usage.ru_stime, "wall": time.monotonic() - start, **sample,
    }
