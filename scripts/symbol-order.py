#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records which functions of the daemon a run executes, for the linker: symbol-order.py PROGRAMS OUTPUT

The run is an ordinary one, under valgrind's callgrind: two connections, a token, some updates, a backlog on disk, metrics,
and systemd's socket. The functions of each update come first, then those of the start and the end. A name that another build
does not have does no harm.
"""
import collections
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TOP, "Benchmarks"))
from harness import HERE, Server  # noqa: E402


def executed(program, server, updates):
    """Names of the functions that a run with this number of updates executes, with the number of calls."""
    with tempfile.TemporaryDirectory() as directory:
        profile = profiled(program, server, directory, updates)
        calls, names, callee = {}, {}, None
        with open(profile, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                # fn=(7) name, later fn=(7); a name that ends in '2 is recursive.
                if match := re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line):
                    if match[3]:
                        names[match[2]] = re.sub(r"'\d+$", "", match[3])
                    callee = names[match[2]]
                    calls.setdefault(callee, 0)
                elif match := re.match(r"calls=(\d+)", line):
                    calls[callee] += int(match[1])
    return calls


def profiled(program, server, directory, updates):
    """Makes a run, and returns the path of callgrind's output."""
    recording, settings, profile = (os.path.join(directory, name) for name in ("route.nmea", "settings.toml", "profile"))
    with open(recording, "wb") as output:
        subprocess.run([os.path.join(HERE, "recording.py"), str(updates)], stdout=output, check=True)
    with open(settings, "w", encoding="ascii") as output:
        output.write(f"""
vehicle = {{ provider_id = "bench", vehicle_id = "truck-17" }}
source = {{ type = "replay", file = "{recording}", pace = 0, time = "keep" }}
reporting.interval = "0s"
backlog.directory = "{directory}"
metrics.textfile = "{directory}/metrics.prom"
log.level = "debug"
[token]
url = "https://localhost:{server.front_port}/token/delivery_driver/{{vehicle_id}}"
ca_file = "{server.ca_file}"
[fleet_engine]
endpoint = "https://127.0.0.1:{server.front_port}"
ca_file = "{server.ca_file}"
""")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd, open(os.path.join(directory, "log"), "wb+") as log:
        systemd.bind(os.path.join(directory, "notify"))
        systemd.setblocking(False)
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}", program, "--config", settings],
            env=os.environ | {"NOTIFY_SOCKET": systemd.getsockname(), "STATE_DIRECTORY": directory}, stdout=log, stderr=log)
        accepted = 0
        while process.poll() is None:
            # Output of the emulator and messages to systemd must be read, otherwise both programs would block.
            accepted += server.read(0.05)
            with contextlib.suppress(BlockingIOError):
                while systemd.recv(4096):
                    pass
        accepted += server.read(0.2)
        if process.returncode != 0 or accepted < updates // 2:
            log.seek(0)
            sys.exit(f"symbol-order: {accepted} updates and status {process.returncode}:\n{log.read().decode()[-2000:]}")
    return profile


def main():
    programs, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        # Valgrind does not understand Swift's debugging information.
        program = os.path.join(directory, "fleet-locationd")
        subprocess.run(["strip", "--strip-debug", "-o", program, os.path.join(programs, "fleet-locationd")], check=True)
        symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True, check=True).stdout
        # By address: functions with identical machine code are merged, and have several names.
        aliases = collections.defaultdict(list)
        for address, kind, name in (line.split(None, 2) for line in symbols.splitlines()):
            if kind in "tTwW":
                aliases[address].append(name)
        certificates = os.path.join(TOP, "build", "bench-tls")
        subprocess.run([os.path.join(TOP, "Tests", "Interop", "tls-front.sh"), "certificates", certificates], check=True)
        server = Server(programs, certificates)
        try:
            short, long = (executed(program, server, updates) for updates in (20, 120))
        finally:
            server.close()
    # With a hundred more updates: functions with at least fifty more calls belong to an update.
    often, seldom = set(), set()
    for names in aliases.values():
        if used := [name for name in names if name in long]:
            is_often = any(long[name] >= short.get(name, 0) + 50 for name in used)
            (often if is_often else seldom).update(names)
    with open(output, "w", encoding="utf-8") as file:
        file.write("".join(f"{name}\n" for name in sorted(often) + sorted(seldom)))
    print(f"{len(often)} functions of each update, {len(seldom)} others: {output}")


main()
