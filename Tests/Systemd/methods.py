#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the access to each method under the packaged unit: methods.py ROOT

ROOT is the root directory of the machine with the service, whose socket for positions is enabled. Each method of each socket is called
as each user in the table of docs/threat-model.md, which must have the same result, and must contain all methods.
"""
import json
import os
import re
import socket
import sys

ROOT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
SOCKETS = {
    "control": ("/run/fleet-locationd/control.sock", "io.fleet-locationd.Control"),
    "positions": ("/run/fleet-locationd.positions/fleet-locationd.sock", "io.fleet-locationd.Positions"),
}
NOBODY = 65534


def table():
    """The rows: socket, method, and whether root, the two groups and others may call it."""
    with open(f"{HERE}/../../docs/threat-model.md") as file:
        text = file.read()
    section = text.split("### Who may call what\n")[1].split("\n## ")[0]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    assert [re.sub("member of `?", "", cell) for cell in rows[0][2:]] == [
        "root", "fleet-locationd", "fleet-locationd-positions", "others"], rows[0]
    return rows[2:]


def group(name):
    with open(f"{ROOT}/etc/group") as file:
        return next(int(line.split(":")[2]) for line in file if line.startswith(f"{name}:"))


def methods(interface):
    with open(f"{ROOT}/usr/share/fleet-locationd/{interface}.varlink") as file:
        return re.findall(r"^method (\w+)", file.read(), re.M)


def call(path, method):
    """The reply; None if the user cannot connect."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        try:
            client.connect(path)
        except PermissionError:
            return None
        message = {"method": method, "more": "Monitor" in method}
        if method.endswith("SetOnline"):
            message["parameters"] = {"online": True}
        if method.endswith("ReloadAndConfirm"):
            message["parameters"] = {"seconds": 60}
        client.sendall(json.dumps(message).encode() + b"\0")
        data = b""
        while b"\0" not in data:
            more = client.recv(65536)
            if not more:
                return None
            data += more
        return json.loads(data.split(b"\0")[0])


def as_user(groups, work):
    """The result of `work`, run in ROOT by root (None) or by the user `nobody` with these groups."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.chroot(ROOT)
        os.chdir("/")
        if groups is not None:
            os.setgroups(groups)
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
        os.write(writer, json.dumps(work()).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    return json.loads(text)


rows = table()
users = [None, [group("fleet-locationd")], [group("fleet-locationd-positions")], []]
for name, (path, interface) in SOCKETS.items():
    listed = [row[1] for row in rows if row[0] == name]
    assert listed == methods(interface), f"{name}: the table has {listed}, the interface {methods(interface)}"
for name, method, *expected in rows:
    path, interface = SOCKETS[name]
    found = []
    for groups in users:
        reply = as_user(groups, lambda: call(path, f"{interface}.{method}"))
        # An error of the method is a reply too: a vehicle of deliveries has no duty.
        error = (reply or {}).get("error", interface)
        assert error.startswith(interface), f"{method}: {reply}"
        found.append("no" if reply is None else "yes")
    assert found == expected, f"{name}, {method}: the table says {expected}, and it is {found}"
    # None of these methods is available at the other socket.
    for other, (path, _) in SOCKETS.items():
        if other != name:
            reply = as_user(None, lambda: call(path, f"{interface}.{method}"))
            assert reply["error"] == "org.varlink.service.InterfaceNotFound", f"{method} at {other}: {reply}"
print(f"   {len(rows)} methods as {len(users)} users")
