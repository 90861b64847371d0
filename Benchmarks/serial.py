#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reading a receiver costs, and what a daemon at rest costs: serial.py BINDIR [SECONDS]

A UART passes on 16 bytes at a time. Receivers on pseudo-terminals do the same at the rate of their line, 115,200 and 9,600 baud, once
and ten times a second, each with as many sentences as fill four fifths of the time, 15 at most; an update is sent every 10 s. In addition,
at 115,200 baud: a parked vehicle, a paused daemon, a receiver without a fix, and a Fleet Engine that cannot be reached; then the same
receiver over TCP, by datagrams, through gpsd and in a modem (a fake ModemManager), driving and paused. All of them run as on a box, with a
state directory on a disk, a runtime directory in memory and systemd's watchdog of a minute.

For each daemon it counts the voluntary context switches (/proc/PID/status), the time on the processor (/proc/PID/schedstat), the bytes
written to the disk (/proc/PID/io), and, where there is strace, the system calls and, of these, fdatasync, in a second time span of the
same length. The first time span begins after 150 s: from then on an outage counts as long.
"""
import contextlib
import math
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tty

from harness import free_port, spawn, status
from recording import sentence

PIECE = 16
LINES = ((115_200, 1), (115_200, 10), (9600, 1), (9600, 10))
MEDIA = ("TCP", "UDP", "gpsd", "modem")
# The daemons: the baud rate and update rate of their line, and the special case.
CASES = {f"UART, {baud:,} baud, {rate} Hz": (baud, rate, "") for baud, rate in LINES} | {
    f"UART, 115,200 baud, 1 Hz, {case}": (115_200, 1, case) for case in ("parked", "paused", "no fix", "offline")} | {
    f"{medium}, 1 Hz{case and ', '}{case}": (115_200, 1, medium + case) for case in ("", "paused") for medium in MEDIA}
# Wake-ups a second.
AIMS = {"UART, 115,200 baud, 1 Hz": 1.5, "gpsd, 1 Hz": 1.5} | {
    f"{medium}, 1 Hz, paused": 0.15 for medium in ("UART, 115,200 baud", *MEDIA)}
# Time for the first fix, the token and the connection, and until an outage counts as long.
SETTLING = 150
MODEM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Tests/Interop/modem/with_bus.sh")
BODIES = ["GNRMC,{time},A,4807.{place:04},N,01131.0000,E,30.0,0.0,{date},,,A",
          "GNGGA,{time},4807.{place:04},N,01131.0000,E,1,11,0.9,545.4,M,46.9,M,,",
          "GNGSA,A,3,08,10,23,27,32,24,28,21,02,15,,,1.35,0.79,1.09"]
BODIES += [f"GPGSV,12,{number},48,05,40,083,46,02,17,308,41,12,07,344,39,14,22,228,45" for number in range(1, 13)]

SETTINGS = """
[vehicle]
provider_id = "bench"
vehicle_id = "{name}"
[source]
{source}
[token]
url = "http://127.0.0.1:{port}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "http://127.0.0.1:{fleet_engine}"
[log]
level = "notice"
"""


def transmit(write, baud, rate, case):
    """Writes sentences until it is killed."""
    first = time.time() + 1
    for number in range(1 << 30):
        start = first + number / rate
        fields = {"time": time.strftime("%H%M%S", time.gmtime(start)) + f".{int(start * 100) % 100:02}",
                  "date": time.strftime("%d%m%y", time.gmtime(start)),
                  "place": 0 if case == "parked" else number * 83 // (10 * rate) % 10_000}
        epoch = b""
        for body in BODIES:
            body = body.format(**fields)
            if case == "parked":
                body = body.replace(",30.0,0.0,", ",0.0,0.0,")
            if case == "no fix":
                body = body.replace(",A,4807", ",V,4807").replace(",E,1,11", ",E,0,11").replace("GSA,A,3", "GSA,A,1")
            next_sentence = sentence(body).encode()
            if epoch and (len(epoch) + len(next_sentence)) * 10 / baud > 0.8 / rate:
                break
            epoch += next_sentence
        piece = len(epoch) if case.startswith(("TCP", "UDP", "modem")) else PIECE
        for end in range(piece, len(epoch) + piece, piece):
            time.sleep(max(start + min(end, len(epoch)) * 10 / baud - time.time(), 0))
            write(epoch[end - piece:end])


class Receiver:
    """A receiver, its connection to the daemon, and the settings of that source."""

    def __init__(self, directory, baud, rate, case):
        self.helper = None
        self.environment = {}
        if case.startswith("TCP"):
            listener = socket.create_server(("127.0.0.1", 0))
            self.source = f'type = "nmea-tcp"\naddress = "127.0.0.1:{listener.getsockname()[1]}"'
            start = lambda: listener.accept()[0].sendall
        elif case.startswith("UDP"):
            address = ("127.0.0.1", free_port())
            self.source = f'type = "nmea-udp"\nlisten = "{address[0]}:{address[1]}"'
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            start = lambda: lambda data: sender.sendto(data, address)
        elif case.startswith("modem"):
            self.source = 'type = "modemmanager"'
            place = os.path.join(directory, case)
            self.environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={place}.bus"
            self.helper = subprocess.Popen(
                [MODEM, f"{place}.events"], env=os.environ | self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            start = lambda: lambda data: os.write(self.helper.stdin.fileno(), data)
        else:
            line, device = pty.openpty()
            tty.setraw(device)
            start = lambda: lambda data: os.write(line, data)
            self.source = f'type = "serial"\ndevice = "{os.ttyname(device)}"\nbaud = {baud}'
            if case.startswith("gpsd"):
                port = free_port()
                # gpsd drops root privileges before it opens the device.
                os.chmod(os.ttyname(device), 0o666)
                self.helper = subprocess.Popen(
                    [shutil.which("gpsd") or "/usr/sbin/gpsd", "-N", "-n", "-S", str(port), os.ttyname(device)], stderr=subprocess.DEVNULL)
                self.source = f'type = "gpsd"\naddress = "127.0.0.1:{port}"'
        self.process = os.fork()
        if self.process == 0:
            transmit(start(), baud, rate, case)

    def stop(self):
        os.kill(self.process, signal.SIGKILL)
        os.wait4(self.process, 0)
        if self.helper:
            self.helper.terminate()
            self.helper.wait()


def processor(process):
    """Processor time of a process, in seconds."""
    with open(f"/proc/{process}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def written(process):
    """Bytes that a process has caused the disk to write."""
    with open(f"/proc/{process}/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("write_bytes"))


def calls(daemons, seconds, wait):
    """Waits for that time, and returns the system calls of each daemon in it, counted by strace; empty without strace."""
    if not shutil.which("strace"):
        return {}
    tracers = {name: subprocess.Popen(["strace", "-c", "-f", "-p", str(process)], stderr=subprocess.PIPE, text=True)
               for name, process in daemons.items()}
    wait(seconds)
    found = {}
    for name, tracer in tracers.items():
        tracer.send_signal(signal.SIGINT)
        # "% time, seconds, usecs/call, calls, errors, syscall"; the errors may be blank.
        rows = [row.split() for row in tracer.communicate()[1].splitlines()]
        count = {row[-1]: int(row[3]) for row in rows if len(row) in (5, 6) and row[3].isdigit()}
        found[name] = {"calls": count.pop("total", 0) / seconds, "fdatasync": count.get("fdatasync", 0) / seconds * 3600, "each": count}
    return found


def figures(programs, seconds=30):
    """By case: wake-ups per second, processor seconds per day, bytes to the disk and fdatasync per hour, and the other counts per
    second."""
    # On a disk: the default directory for temporary files may be in memory.
    with (tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DISK", "/var/tmp")) as directory,
          tempfile.TemporaryDirectory(dir="/dev/shm") as memory, contextlib.ExitStack() as ending):
        port = free_port()
        emulator = subprocess.Popen(
            [os.path.join(programs, "fleet-engine-emulator"), "--port", str(port)], stdout=subprocess.DEVNULL)
        # In the reverse order.
        ending.callback(emulator.wait)
        ending.callback(emulator.terminate)
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(os.path.join(directory, "notify"))
        manager.setblocking(False)
        time.sleep(0.5)
        daemons, receivers, paused = {}, [], []
        for number, (name, (baud, rate, case)) in enumerate(CASES.items()):
            needed = {"gpsd": shutil.which("gpsd") or "/usr/sbin/gpsd", "modem": shutil.which("dbus-daemon") or ""}
            if not all(os.path.exists(program) for medium, program in needed.items() if case.startswith(medium)):
                continue
            receivers.append(Receiver(directory, baud, rate, case))
            ending.callback(receivers[-1].stop)
            path = os.path.join(directory, f"{number}")
            with open(path + ".toml", "w", encoding="ascii") as settings:
                settings.write(SETTINGS.format(
                    name=f"v{number}", source=receivers[-1].source, port=port, fleet_engine=free_port() if case == "offline" else port))
            state, runtime = f"{path}-state", os.path.join(memory, f"{number}")
            os.mkdir(state)
            os.mkdir(runtime)
            environment = os.environ | receivers[-1].environment | {
                "STATE_DIRECTORY": state, "RUNTIME_DIRECTORY": runtime, "WATCHDOG_USEC": "60000000",
                "NOTIFY_SOCKET": os.path.join(directory, "notify")}
            daemons[name] = spawn(
                [os.path.join(programs, "fleet-locationd"), "--config", path + ".toml"], os.path.join(directory, "log"), environment)
            ending.callback(os.wait4, daemons[name], 0)
            ending.callback(os.kill, daemons[name], signal.SIGTERM)
            if case.endswith("paused"):
                paused.append(f"{runtime}/control.sock")
        # Nothing reads what the daemons report at their end.
        ending.callback(manager.close)

        def settle(time_span):
            """Waits, and reads what is sent to systemd's socket, which would fill up otherwise."""
            end = time.monotonic() + time_span
            while time.monotonic() < end:
                time.sleep(min(1, max(end - time.monotonic(), 0)))
                while True:
                    try:
                        manager.recv(4096)
                    except BlockingIOError:
                        break

        # Until the time is known: for it the receiver would be read even during a pause.
        settle(SETTLING / 2)
        for control in paused:
            subprocess.run([os.path.join(programs, "fleet-locationctl"), "pause", "--socket", control], check=True, stdout=subprocess.DEVNULL)
        settle(SETTLING / 2)
        before = {name: (status(process), processor(process), written(process), time.monotonic()) for name, process in daemons.items()}
        settle(seconds)
        result = {}
        for name, process in daemons.items():
            after, used, bytes_written, now = status(process), processor(process), written(process), time.monotonic()
            # A daemon that has ended stays in /proc until it is waited for.
            if not after or os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                with open(os.path.join(directory, "log"), encoding="utf-8") as log:
                    raise SystemExit(f"{name} has ended: {log.read()}")
            switches = after["voluntary_ctxt_switches"] - before[name][0]["voluntary_ctxt_switches"]
            elapsed = now - before[name][3]
            result[name] = {"wakeups": switches / elapsed, "day": (used - before[name][1]) / elapsed * 86_400,
                            "written": (bytes_written - before[name][2]) / elapsed * 3600}
        for name, row in calls(daemons, seconds, settle).items():
            result[name] |= row
        return result


def main():
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    print(f"{'':36} {'wake-ups/s':>10} {'CPU, s/day':>10} {'calls/s':>8} {'kB/h':>6} {'fdatasync/h':>11}")
    for name, row in figures(sys.argv[1], seconds).items():
        # Without strace, these two are not measured.
        calls, syncs = row.get("calls", math.nan), row.get("fdatasync", math.nan)
        print(f"{name:36} {row['wakeups']:10.2f} {row['day']:10.0f} {calls:8.1f} {row['written'] / 1000:6.0f} {syncs:11.0f}")
        if "-v" in sys.argv:
            print("   ", ", ".join(f"{call} {count}" for call, count in row.get("each", {}).items()))


if __name__ == "__main__":
    main()
