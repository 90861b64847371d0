#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the daemon's control socket with Varlink's own Python library and raw clients: varlink_clients.py BINDIR

A real daemon with a vehicle of on-demand trips drives against the emulator. The library reads the interface that the daemon
serves, calls every method, and gets every error that a running daemon can return. With systemd's varlinkctl, which
Debian 12 does not have, this is repeated. Then the example driver apps of the package are run against it.
"""
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

import varlink

from trial import Failure, Record, fault, free_port, print_tail, until, work_directory

BIN = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
CONTROL = "io.fleet-locationd.Control"
POSITIONS = "io.fleet-locationd.Positions"


def check(what, condition, detail=""):
    if not condition:
        raise Failure(f"{what}: {detail}")


class Daemon:
    """The daemon and its emulator."""

    def __init__(self, work, source=f'type = "simulated"\nroute = "{ROOT}/config/examples/demo.gpx"'):
        self.work, self.socket = work, f"{work}/control.sock"
        # As in the package's unit.
        self.directory = f"{work}/positions"
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o2750)
        self.positions = f"{self.directory}/{os.path.basename(work)}.sock"
        self.processes = []
        port = self.port = free_port()
        self.start([f"{BIN}/fleet-engine-emulator", "--port", str(port), "--ready-file", f"{work}/ready", "--quiet"])
        until(20, "the emulator", lambda: os.path.exists(f"{work}/ready"))
        self.settings = f"{work}/fleet-locationd.toml"
        with open(self.settings, "w") as file:
            file.write(f"""
[vehicle]
provider_id = "p"
vehicle_id = "taxi-1"
service = "trips"
[source]
{source}
[token]
url = "http://127.0.0.1:{port}/token/driver/{{vehicle_id}}"
response = "rides-stub"
[fleet_engine]
endpoint = "http://127.0.0.1:{port}"
""")
        os.mkdir(f"{work}/state")
        self.run()

    def run(self):
        self.daemon = self.start(
            [f"{BIN}/fleet-locationd", "--config", self.settings],
            env={**os.environ, "RUNTIME_DIRECTORY": self.work, "STATE_DIRECTORY": f"{self.work}/state",
                 "FLEET_POSITIONS": self.directory})
        until(20, "the socket", lambda: os.path.exists(self.socket))

    def restart(self):
        self.daemon.terminate()
        self.daemon.wait(20)
        with open(self.settings) as file:
            text = file.read().replace("colour = 1\n", "")
        with open(self.settings, "w") as file:
            file.write(text)
        self.run()

    def start(self, arguments, **options):
        with open(f"{self.work}/log", "a") as log:
            process = subprocess.Popen(arguments, stdout=log, stderr=log, **options)
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)

    def clear_faults(self):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/debug/faults", method="DELETE")
        urllib.request.urlopen(request, timeout=5).read()

    def connect(self, path=None):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(path or self.socket)
        return client

    def raw(self, message, count=1, path=None):
        """The replies to the data, and whether the daemon has closed the connection afterwards."""
        with self.connect(path) as client:
            client.sendall(message)
            replies, rest = [], b""
            while len(replies) < count:
                data = client.recv(65536)
                if not data:
                    return replies, True
                *complete, rest = (rest + data).split(b"\0")
                replies += [json.loads(reply) for reply in complete]
            return replies, False


class Judge:
    """Calls methods, and checks each reply against the interface that the daemon serves."""

    def __init__(self, path, name=CONTROL):
        self.client = varlink.Client(address=f"unix:{path}")
        check("the interfaces", set(self.client.get_interfaces()) == {"org.varlink.service", name})
        self.interface = self.client.get_interface(name)
        self.called, self.failed = set(), set()

    def typed(self, what, value, kind):
        """Whether the value has the type; `kind` is the library's."""
        if isinstance(kind, varlink.scanner._Maybe):
            return value is None or self.typed(what, value, kind.element_type)
        if isinstance(kind, varlink.scanner._Array):
            return all(self.typed(what, element, kind.element_type) for element in value)
        if isinstance(kind, varlink.scanner._Struct):
            for name, element in kind.fields.items():
                check(f"{what}.{name}", self.typed(f"{what}.{name}", value.get(name), element), value)
            check(what, set(value) <= set(kind.fields), f"undeclared fields: {value}")
            return True
        if isinstance(kind, varlink.scanner._CustomType):
            return self.typed(what, value, self.interface.members[kind.name].type)
        if isinstance(kind, varlink.scanner._Object):
            return isinstance(value, dict)
        # The library represents a simple type by a value of that type.
        return type(value) is type(kind)

    def call(self, method, **parameters):
        with self.client.open(CONTROL) as service:
            reply = getattr(service, method)(**parameters)
        self.called.add(method)
        values = {name: value for name, value in dict(reply).items() if value is not None}
        self.typed(method, values, self.interface.members[method].out_type)
        return values

    def error(self, method, **parameters):
        """The error's name without the interface, and its fields."""
        try:
            reply = self.call(method, **parameters)
        except varlink.VarlinkError as error:
            name, fields = error.as_dict()["error"], error.as_dict().get("parameters", {})
            if name.startswith(CONTROL):
                name = name[len(CONTROL) + 1:]
                self.failed.add(name)
                self.typed(name, dict(fields), self.interface.members[name].type)
            return name, fields
        raise Failure(f"{method} succeeded: {reply}")


def library(daemon):
    judge = Judge(daemon.socket)
    status = lambda: judge.call("GetStatus")["status"]
    until(20, "it is online", lambda: status()["isOnline"])
    # It has a track once the vehicle has moved.
    until(20, "it has a track", lambda: "track" in status())
    tool = subprocess.run(
        [f"{BIN}/fleet-locationctl", "status", "--json", "--socket", daemon.socket], capture_output=True, text=True)
    check("the same keys as status --json", set(json.loads(tool.stdout)) == set(status()), tool.stdout)
    metrics = judge.call("GetMetrics")["metrics"]
    check("the metrics", "fleet_locationd_online{" in metrics, metrics)

    def accepted():
        return status()["counters"]["accepted"]

    # Faster than the interval of 10 s, but not faster than the 5 s that Fleet Engine requires. One of three attempts is
    # enough, because a busy machine delays responses.
    for _ in range(3):
        began, before = time.monotonic(), accepted()
        for _ in range(3):
            judge.call("SendNow")
            until(30, "an update", lambda: accepted() > before)
            before = accepted()
        took = time.monotonic() - began
        if is_on_request := 9 < took < 18:
            break
    check("three updates on request", is_on_request, f"{took:.1f} s")

    check("no remark", judge.call("SetOnline", online=False) == {})
    until(20, "OFFLINE", lambda: status().get("vehicleState") == "OFFLINE" and not status()["isOfflinePending"])
    check("the duty", status()["duty"] == "OFFLINE")
    judge.call("SetOnline", online=True)
    until(30, "ONLINE", lambda: status().get("vehicleState") == "ONLINE")
    judge.call("Pause")
    check("the pause", status()["isPaused"])
    check("nothing is sent", judge.error("SendNow")[1].get("reason") == "paused")
    judge.call("Resume")
    check("no pause", not status()["isPaused"])
    judge.call("Reload")
    check("unchanged settings need no confirmation", judge.call("ReloadAndConfirm", seconds=60).get("remark"))
    with open(daemon.settings, "a") as file:
        file.write("colour = 1\n")
    name, fields = judge.error("Reload")
    check("a mistake", name == "SettingsRefused" and "colour" in fields["message"], fields)
    judge.called.add("Monitor")
    methods = {name for name, member in judge.interface.members.items() if isinstance(member, varlink.scanner._Method)}
    check("every method was called", methods == judge.called, methods ^ judge.called)
    print(f"the library called {len(judge.called)} methods, and got {sorted(judge.failed)}")


def call(method, interface=CONTROL, **members):
    return json.dumps({"method": f"{interface}.{method}", **members}).encode() + b"\0"


def raw(daemon):
    get = call("GetMetrics")
    replies, _ = daemon.raw(get * 20, 20)
    check("twenty calls in one write", len(replies) == 20 and all("metrics" in r["parameters"] for r in replies))
    with daemon.connect() as client:
        for byte in get:
            client.send(bytes([byte]))
        check("a call byte by byte", client.recv(65536).startswith(b'{"parameters":{"metrics"'))
    replies, _ = daemon.raw(call("GetStatus", oneway=True) + call("Nothing", oneway=True) + get)
    check("a call without a reply", "metrics" in replies[0]["parameters"], replies)
    replies, _ = daemon.raw(call("Nothing"))
    check("no such method", replies[0]["error"] == "org.varlink.service.MethodNotFound", replies)
    replies, _ = daemon.raw(call("SetOnline", parameters={"online": "yes"}))
    check("a wrong parameter", replies[0]["parameters"] == {"parameter": "online"}, replies)
    for nonsense in [b"\0", b"x\0", b"[]\0", b'{"method":1}\0', get[:-1] + b"x" * 5000, b"x" * 5000, b"\xff\0"]:
        replies, isClosed = daemon.raw(nonsense)
        check(f"{nonsense[:20]} closes the connection", isClosed and not replies, replies)
    with daemon.connect() as client:
        client.sendall(b'{"command":"metrics"}\n' + get)
        data = b""
        while chunk := client.recv(65536):
            data += chunk
        check("a line has one response", json.loads(data)["metrics"] and data.endswith(b"\n") and data.count(b"\n") == 1)
    with daemon.connect() as client:
        began = time.monotonic()
        client.sendall(get)
        while client.recv(65536):
            pass
        # At the latest within the timeout of the socket.
        check("an idle connection ends, but not at once", time.monotonic() - began > 1.5)
    # A client that never reads is disconnected, and does not delay other clients.
    with daemon.connect() as client:
        client.settimeout(0.1)
        began = time.monotonic()
        try:
            while True:
                check("a client that does not read is closed", time.monotonic() - began < 60)
                try:
                    client.send(get * 100)
                except TimeoutError:
                    check("the others are served", daemon.raw(get)[0][0]["parameters"]["metrics"])
        except ConnectionError:
            pass
    print("raw clients: calls in turn, in pieces, without replies; nonsense; one that does not read")


def monitor(daemon):
    judge = Judge(daemon.socket)
    before = judge.call("GetStatus")["status"]["monitors"]
    kinds = {}
    with judge.client.open(CONTROL) as service:
        items = service.Monitor(_more=True)

        def follow(what, condition):
            end = time.monotonic() + 60
            while time.monotonic() < end:
                item = {name: value for name, value in dict(next(items)).items() if value is not None}
                judge.typed("Monitor", item, judge.interface.members["Monitor"].out_type)
                check("one of the three", len(item) == 1, item)
                (kind, value), = item.items()
                kinds.setdefault(kind, []).append(value)
                if condition(kind, value):
                    return value
            raise Failure(f"not monitored: {what}: {kinds}")

        check("the state first", "isOnline" in follow("the state", lambda *_: True))
        judge.call("Pause")
        follow("the event", lambda kind, value: kind == "event" and value["name"] == "paused")
        follow("the pause", lambda kind, value: kind == "state" and value["isPaused"])
        judge.call("Resume")
        follow("its end", lambda kind, value: kind == "state" and not value["isPaused"])
        follow("an update", lambda kind, value: kind == "update" and value["result"] == "accepted")
        follow("that it is online", lambda kind, value: kind == "state" and value["isOnline"])
        fault(daemon.port, target="update", times=1, status=503)
        judge.call("SendNow")
        failed = follow("a failure", lambda kind, value: kind == "update" and value["result"] == "unavailable")
        check("why and when", failed["message"] and failed["retryIn"] > 0 and failed["driverCode"] == "SERVICE_ERROR", failed)
        follow("the recovery", lambda kind, value: kind == "state" and value["isOnline"])
    text = json.dumps(kinds)
    # The latitude of the route is 54.78 degrees.
    check("no coordinates", not re.search(r"latitude|\b54\.[78]", text), text)

    # As many clients as are allowed, then one more, and other requests meanwhile.
    clients = []
    for _ in range(16):
        client = daemon.connect()
        clients.append(client)
        client.sendall(call("Monitor", more=True))
        check("it is monitored", b'"state"' in client.recv(65536))
    replies, _ = daemon.raw(call("Monitor", more=True))
    check("one more", replies[0]["error"].endswith("TooManyMonitors") and replies[0]["parameters"]["maximum"] == 16, replies)
    check("requests beside them", judge.call("GetStatus")["status"]["monitors"]["connected"] == 16)
    for client in clients:
        client.close()
    until(20, "they are gone", lambda: judge.call("GetStatus")["status"]["monitors"]["connected"] == 0)

    # A client that does not read: the kernel buffers some 200 kB for it, the daemon 64.
    with daemon.connect() as lazy, daemon.connect() as diligent:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for client in (lazy, diligent):
            client.sendall(call("Monitor", more=True))
        dropped = lambda: judge.call("GetStatus")["status"]["monitors"]["dropped"] - before["dropped"]
        end = time.monotonic() + 120
        while not dropped():
            check("the one that does not read is dropped", time.monotonic() < end)
            for _ in range(50):
                judge.call("Pause")
                judge.call("Resume")
            diligent.recv(1 << 20)
        check("and the other is not", judge.call("GetStatus")["status"]["monitors"]["connected"] == 1)
    print(f"a monitor got {sum(map(len, kinds.values()))} replies; 16 of them; one that does not read")


class Receiver(threading.Thread):
    """A source with as many positions a second as the daemon reads; `feed` gives it a few at a time instead."""

    def __init__(self, work):
        super().__init__(daemon=True)
        os.mkfifo(f"{work}/line")
        self.line = os.open(f"{work}/line", os.O_RDWR)
        self.source = f'type = "replay"\nfile = "{work}/line"\npace = 0'
        self.is_unlimited = threading.Event()
        self.is_unlimited.set()
        self.simulator = subprocess.Popen(
            [f"{BIN}/fleet-locationctl", "simulate", f"{ROOT}/config/examples/demo.gpx", "--format", "nmea", "--loop",
             "--pace", "0"], stdout=subprocess.PIPE)
        self.start()

    def run(self):
        while self.feed():
            self.is_unlimited.wait()

    def feed(self):
        """Some ten positions; waits until the pipe to the daemon has space for them."""
        sentences = os.read(self.simulator.stdout.fileno(), 4096)
        return os.write(self.line, sentences) if sentences else 0

    def stop(self):
        self.simulator.kill()
        self.simulator.wait()


def positions(daemon, receiver):
    judge = Judge(daemon.socket)
    monitors = lambda: judge.call("GetStatus")["status"].get("positionMonitors")
    check("no socket without the setting", not os.listdir(daemon.directory) and monitors() is None)

    def switch(isOn):
        with open(daemon.settings) as file:
            text = file.read().split("[positions]")[0]
        with open(daemon.settings, "w") as file:
            file.write(text + f"[positions]\nsocket = {str(isOn).lower()}\n")
        judge.call("Reload")

    os.chmod(daemon.directory, 0o2755)
    switch(True)
    check("no socket where others have access", not os.listdir(daemon.directory) and monitors() is None)
    os.chmod(daemon.directory, 0o2750)
    judge.call("Reload")
    check("the socket", os.stat(daemon.positions).st_mode & 0o7777 == 0o660, oct(os.stat(daemon.positions).st_mode))
    monitor = call("MonitorPositions", POSITIONS, more=True)

    other = Judge(daemon.positions, POSITIONS)
    with other.client.open(POSITIONS) as service:
        items = service.MonitorPositions(_more=True)
        check("no position at first", dict(next(items)).get("position") is None)
        found = []
        for _ in range(20):
            item = {name: value for name, value in dict(next(items)).items() if value is not None}
            value = {name: value for name, value in item["position"].items() if value is not None}
            other.typed("position", value, other.interface.members["Position"].type)
            found.append(value)
    check("complete", all(set(value) == {"latitude", "longitude", "time", "accuracy", "speed", "course"} for value in found), found)
    times = [value["time"] for value in found]
    check("in order", times == sorted(set(times)), times)

    def arrives(client, seconds):
        client.settimeout(seconds)
        try:
            return len(client.recv(1 << 20))
        except TimeoutError:
            return 0

    def drain(client):
        while arrives(client, 1):
            pass

    # From here on, a client that reads late does not get more than the daemon buffers for it.
    receiver.is_unlimited.clear()
    with daemon.connect(daemon.positions) as client:
        client.sendall(monitor)
        check("it is answered", client.recv(65536).startswith(b'{"continues":true,"parameters":{}}\0'))
        receiver.feed()
        check("positions", arrives(client, 20))
        judge.call("Pause")
        drain(client)
        # A recording is not read in a pause: this may end only after it.
        feeding = threading.Thread(target=receiver.feed, daemon=True)
        feeding.start()
        check("none in a pause", not arrives(client, 2))
        judge.call("Resume")
        check("and after it", arrives(client, 20))
        feeding.join()

    # Methods of the other socket, and invalid calls.
    for method in ["GetStatus", "GetMetrics", "Pause", "Resume", "SetOnline", "SendNow", "Reload", "ReloadAndConfirm", "Monitor"]:
        replies, _ = daemon.raw(call(method, more=True), path=daemon.positions)
        check(method, replies[0]["error"] == "org.varlink.service.InterfaceNotFound", replies)
    replies, _ = daemon.raw(monitor)
    check("positions at the other socket", replies[0]["error"] == "org.varlink.service.InterfaceNotFound", replies)
    replies, _ = daemon.raw(call("MonitorPositions", POSITIONS), path=daemon.positions)
    check("without more", replies[0]["error"] == "org.varlink.service.ExpectedMore", replies)
    for nonsense in [b"\0", b"x\0", b'{"method":1}\0', b'{"command":"status"}\n', monitor[:-1] + b"x" * 5000, b"\xff\0"]:
        replies, isClosed = daemon.raw(nonsense, path=daemon.positions)
        check(f"{nonsense[:20]} closes the connection", isClosed and not replies, replies)
    with daemon.connect(daemon.positions) as client:
        client.sendall(monitor)
        client.recv(65536)
        client.sendall(monitor)
        until(20, "one more call closes the connection", lambda: monitors()["connected"] == 0)

    # As many clients as are allowed, then one more, and other requests meanwhile.
    clients = [daemon.connect(daemon.positions) for _ in range(3)]
    for client in clients:
        client.sendall(monitor)
        client.recv(65536)
    while len(clients) < 16:
        clients.append(daemon.connect(daemon.positions))
        clients[-1].sendall(monitor)
        clients[-1].recv(65536)
    replies, _ = daemon.raw(monitor, path=daemon.positions)
    check("one more", replies[0]["error"] == f"{POSITIONS}.TooManyMonitors" and replies[0]["parameters"]["maximum"] == 16, replies)
    check("requests beside them", monitors()["connected"] == 16)
    for client in clients:
        client.close()
    until(20, "they are gone", lambda: monitors()["connected"] == 0)

    # A client that does not read, and one that does: between two reads it gets no more than the pipe to the daemon
    # contains, which is less than what the daemon and the kernel buffer for it.
    before = monitors()["dropped"]
    with daemon.connect(daemon.positions) as lazy, daemon.connect(daemon.positions) as diligent:
        for client in (lazy, diligent):
            client.sendall(monitor)
        end, durations = time.monotonic() + 120, []
        while monitors()["dropped"] == before:
            check("the one that does not read is dropped", time.monotonic() < end, monitors())
            receiver.feed()
            check("the other gets positions", arrives(diligent, 10))
            began = time.monotonic()
            judge.call("GetMetrics")
            durations.append(time.monotonic() - began)
        check("and the other is not", monitors()["connected"] == 1)
        # The data in the kernel's buffer.
        data = b""
        while chunk := lazy.recv(1 << 20):
            data += chunk
        # Not the longest, because that may be due to a busy machine.
        check("the others are served", statistics.median(durations) < 2, f"{statistics.median(durations):.2f} s")
    print(f"positions: {len(found)} of them, 16 monitors; one that did not read was dropped after {len(data)} bytes")

    path = f"{daemon.work}/monitored"
    with open(path, "w") as file:
        process = subprocess.Popen(
            [f"{BIN}/fleet-locationctl", "monitor", "--positions", "--json", "--socket", daemon.positions], stdout=file)
        daemon.processes.append(process)
    lines = lambda: list(Record(path).entries())
    until(20, "the tool", lambda: receiver.feed() and len(lines()) > 3)
    check("its positions", all("latitude" in line["position"] for line in lines()), lines())
    with daemon.connect(daemon.positions) as client:
        client.sendall(monitor)
        # A connection that is closed before the daemon has read the call is reset.
        until(20, "the daemon has read the call", lambda: monitors()["connected"] == 2)
        switch(False)
        while client.recv(65536):
            pass
    check("the socket is gone", not os.listdir(daemon.directory) and monitors() is None)
    until(20, "the tool says so", lambda: any("error" in line for line in lines()))
    with open(f"{daemon.work}/log") as file:
        log = file.read()
    check("no coordinates in the log", not re.search(r"\b54\.\d{3}", log))
    check("why there was no socket", "positions.socket: " in log, log)


def tool(daemon):
    path = f"{daemon.work}/monitor"
    with open(path, "w") as file:
        process = subprocess.Popen([f"{BIN}/fleet-locationctl", "monitor", "--json", "--socket", daemon.socket], stdout=file)
        daemon.processes.append(process)
    lines = lambda: list(Record(path).entries())
    until(20, "the first line", lambda: lines() and "state" in lines()[0])
    daemon.restart()
    until(20, "it is lost", lambda: any("error" in line for line in lines()))
    until(20, "it is back", lambda: any("event" in line and line["event"]["name"] == "online" for line in lines()[1:]))
    check("one line for the loss", sum("error" in line for line in lines()) == 1, lines())
    print(f"fleet-locationctl monitor survived a restart: {len(lines())} lines")


def drivers_apps(daemon):
    examples = f"{ROOT}/packaging/driver-app"
    program, shown = f"{daemon.work}/driver", f"{daemon.work}/shown"
    subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-o", program, f"{examples}/driver.c"], check=True)
    judge = Judge(daemon.socket)
    status = lambda: judge.call("GetStatus")["status"]
    state = lambda: (status()["duty"], status().get("vehicleState"), status()["isOfflinePending"])

    def run(word, path=daemon.socket):
        result = subprocess.run([program, word, path], capture_output=True, text=True, timeout=20)
        return result.returncode, result.stdout, result.stderr

    def shows(text, count=1):
        until(60, f"the app shows {text}", lambda: open(shown).read().count(text) >= count)

    with open(shown, "w") as file:
        app = subprocess.Popen([f"{examples}/driver.py", daemon.socket], stdin=subprocess.PIPE, stdout=file, stderr=file, text=True)
    daemon.processes.append(app)

    def drives(word):
        app.stdin.write(f"{word}\n")
        app.stdin.flush()
        shows(f"{word}: stored")

    shows("duty ONLINE, at Fleet Engine ONLINE. Online; ")
    check("offline in C", run("offline") == (0, "", ""))
    until(20, "OFFLINE", lambda: state() == ("OFFLINE", "OFFLINE", False))
    shows("duty OFFLINE, at Fleet Engine OFFLINE. Online; ")
    drives("online")
    until(30, "ONLINE", lambda: state() == ("ONLINE", "ONLINE", False))
    drives("offline")
    until(30, "OFFLINE once more", lambda: state() == ("OFFLINE", "OFFLINE", False))
    check("online in C", run("online") == (0, "", ""))
    until(30, "ONLINE once more", lambda: state() == ("ONLINE", "ONLINE", False))

    before = status()["counters"]["accepted"]
    check("a position at once", run("send")[0] == 0)
    until(20, "its update", lambda: status()["counters"]["accepted"] > before)
    judge.call("Pause")
    code, said, _ = run("send")
    check("no position in a pause, and why", code == 1 and "pause" in said, (code, said))
    judge.call("Resume")
    code, _, said = run("send", f"{daemon.work}/none")
    check("no daemon", code == 69 and "No such file" in said, (code, said))
    check("a wrong word", run("sent")[0] == 64)

    fault(daemon.port, target="token", times=1000, status=401)
    fault(daemon.port, target="update", times=1, status=401)
    shows("TOKEN LOST: ")
    shows("[bad, noToken]")
    daemon.clear_faults()
    shows("TOKEN BACK: ")
    shows("duty ONLINE, at Fleet Engine ONLINE. Online; ", count=2)
    online = open(shown).read().count("Online; ")
    daemon.restart()
    shows("no daemon: ")
    shows("Online; ", count=online + 1)

    # It also notices that the token has come back while it was not connected.
    fault(daemon.port, target="token", times=1000, status=401)
    fault(daemon.port, target="update", times=1, status=401)
    shows("TOKEN LOST: ", count=2)
    app.send_signal(signal.SIGSTOP)
    daemon.restart()
    daemon.clear_faults()
    judge = Judge(daemon.socket)
    until(60, "an update of the new daemon", lambda: status()["counters"]["accepted"] > 0)
    app.send_signal(signal.SIGCONT)
    shows("TOKEN BACK: the daemon reports no trouble")
    app.stdin.close()
    check("the app ends with its input", app.wait(20) == 0)
    print("the driver's apps of the examples: duty, a position at once, a lost token, a restart of the daemon")


def varlinkctl(daemon):
    if not shutil.which("varlinkctl"):
        print("NOT RUN: systemd's varlinkctl, which Debian 12 does not have")
        return

    def run(*arguments):
        result = subprocess.run(["varlinkctl", *arguments], capture_output=True, text=True)
        check(" ".join(arguments), result.returncode == 0, result.stderr)
        return result.stdout

    run("introspect", daemon.socket, CONTROL)
    check("varlinkctl", json.loads(run("call", daemon.socket, f"{CONTROL}.GetStatus", "{}"))["status"]["vehicle"] == "taxi-1")


def drive(daemon, *parts):
    try:
        for part in parts:
            part(daemon)
        check("the daemon lives", daemon.daemon.poll() is None)
    except (Failure, OSError, varlink.VarlinkError):
        print_tail(f"{daemon.work}/log", 40)
        raise
    finally:
        daemon.stop()
    check("its end", daemon.daemon.returncode == 0, daemon.daemon.returncode)


def main():
    with work_directory("varlink", keep="--keep" in sys.argv) as work:
        drive(Daemon(work), library, raw, monitor, tool, drivers_apps, varlinkctl)
    with work_directory("positions", keep="--keep" in sys.argv) as work:
        receiver = Receiver(work)
        try:
            drive(Daemon(work, receiver.source), lambda daemon: positions(daemon, receiver))
        finally:
            receiver.stop()


try:
    main()
except Failure as failure:
    sys.exit(f"FAILED: {failure}")
