#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A simulated u-blox receiver behind LINK (a pseudo-terminal): ublox_receiver.py LINK STATE [--binary].

It acknowledges UBX commands and applies those that change its messages (CFG-MSG, CFG-PRT, CFG-VALSET), its rate or its
dynamic model, and those that save them (CFG-CFG). Each second it sends the enabled messages: NAV-PVT, or GGA and RMC. STATE is
a file with its configuration, one `name value` per line, `saved` with a copy of it."""
import datetime
import os
import select
import struct
import sys
import time
import tty

from trial import sentence

link, state_file = sys.argv[1:3]
state = {"nmea": "--binary" not in sys.argv, "ubx": True, "rate": 1000, "model": 0}
saved = {}
# Keys of the configuration interface (protocol 27 and later), and their effects.
KEYS = {0x30210001: "rate", 0x20110021: "model", 0x10740002: "nmea", 0x10780002: "nmea", 0x209100BB: "nmea"}
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8}


def message(cls, kind, payload=b""):
    body = struct.pack("<BBH", cls, kind, len(payload)) + payload
    a = b = 0
    for byte in body:
        a = (a + byte) & 255
        b = (b + a) & 255
    return b"\xb5\x62" + body + bytes((a, b))


def write_state():
    with open(state_file + ".new", "w", encoding="utf-8") as file:
        for name, value in state.items():
            file.write(f"{name} {value:d}\n")
        for name, value in saved.items():
            file.write(f"saved-{name} {value:d}\n")
    os.rename(state_file + ".new", state_file)


def handle(cls, kind, payload):
    """The response to a command; configuration is acknowledged."""
    if (cls, kind) == (0x0A, 0x04):
        version = b"EXT CORE 3.01 (107888)".ljust(30, b"\0") + b"00080000".ljust(10, b"\0")
        return message(cls, kind, version + b"PROTVER=18.00".ljust(30, b"\0"))
    if cls != 0x06:
        return b""
    if kind == 0x01 and len(payload) in (3, 8):
        # The rate of one message, on this port or on all ports.
        if payload[0] == 0xF0 and payload[1] in (0x00, 0x04):
            state["nmea"] = payload[2] > 0 or any(payload[3:])
    elif kind == 0x08 and len(payload) == 6:
        state["rate"] = struct.unpack_from("<H", payload)[0]
    elif kind == 0x24 and len(payload) == 36:
        if struct.unpack_from("<H", payload)[0] & 1:
            state["model"] = payload[2]
    elif kind == 0x09:
        saved.update(state)
    elif kind == 0x8A:
        position = 4
        while position + 4 < len(payload):
            key = struct.unpack_from("<I", payload, position)[0]
            size = SIZES[key >> 28 & 7]
            value = int.from_bytes(payload[position + 4:position + 4 + size], "little")
            if key in KEYS:
                state[KEYS[key]] = value
                # Bits of the layers: RAM, battery-backed RAM, flash.
                if payload[1] & 6:
                    saved[KEYS[key]] = value
            position += 4 + size
    write_state()
    return message(0x05, 0x01, bytes((cls, kind)))


def epoch():
    now = datetime.datetime.now(datetime.timezone.utc)
    clock, date = f"{now:%H%M%S}.00", f"{now:%d%m%y}"
    out = b""
    if state["ubx"]:
        out += message(0x01, 0x07, bytes(92))
    if state["nmea"]:
        out += sentence(f"GNGGA,{clock},4807.03800,N,01131.00000,E,1,10,0.9,545.4,M,46.9,M,,").encode()
        out += sentence(f"GNRMC,{clock},A,4807.03800,N,01131.00000,E,10.0,84.4,{date},,,A").encode()
    return out


master, slave = os.openpty()
tty.setraw(slave)
os.chmod(os.ttyname(slave), 0o666)
os.symlink(os.ttyname(slave), link)
write_state()
received = b""
due = time.monotonic()
while True:
    ready, _, _ = select.select([master], [], [], max(0, due - time.monotonic()))
    if ready:
        received += os.read(master, 4096)
        while (start := received.find(b"\xb5\x62")) >= 0 and len(received) >= start + 8:
            length = struct.unpack_from("<H", received, start + 4)[0]
            if len(received) < start + 8 + length:
                break
            answer = handle(received[start + 2], received[start + 3], received[start + 6:start + 6 + length])
            received = received[start + 8 + length:]
            if answer:
                os.write(master, answer)
    if time.monotonic() >= due:
        due += 1
        os.write(master, epoch())
