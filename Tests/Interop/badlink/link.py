#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A configurable mobile link between two network namespaces: two TUN devices and a relay that delays and drops packets and
can lose its NAT state. It needs root, but no qdisc, which a kernel may lack.

    link.py CAR NET SUBNET      existing namespaces; SUBNET such as 10.98.7

CAR gets wwan0 with SUBNET.2/24 and a default route, NET gets core0 with SUBNET.1/24. It prints `ready`, and then reads commands,
one per line, from its standard input:

  set delay=60 jitter=15 loss=1 rate=1000 queue=64000   milliseconds each way, percent, kbit/s (0: no limit), bytes
    silent on|off      packets are dropped, as in a tunnel
    carrier off|on     the modem loses the network: the link goes down, with its address and route; or it comes back
    address N          the carrier assigns SUBNET.N instead
    forget             the carrier's NAT forgets every connection: packets of existing ones are dropped from now on
"""
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x1, 0x1000


def ip(space, *words):
    subprocess.run(["ip", "-n", space, *words], check=True, capture_output=True)


def tun(space, name):
    """Creates a device here, under a name unique to this process, and moves it into the namespace."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    temporary = f"fl{os.getpid() % 100000}{name[:2]}"
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", temporary.encode(), IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "link", "set", temporary, "netns", space], check=True)
    ip(space, "link", "set", temporary, "name", name)
    return device


class Direction:
    """Packets from one end to the other, in order."""

    def __init__(self, out):
        self.out, self.queued, self.free, self.last = out, 0, 0.0, 0.0


class Link:
    def __init__(self, car, net, subnet):
        self.car, self.net, self.subnet = car, net, subnet
        self.way = {"delay": 60.0, "jitter": 15.0, "loss": 0.0, "rate": 0.0, "queue": 64000.0}
        self.silent = False
        self.last = "2"
        self.flows, self.forgetful = set(), False
        self.random = random.Random(1)
        self.heap, self.count = [], 0
        car_end, net_end = tun(car, "wwan0"), tun(net, "core0")
        self.up, self.down = Direction(net_end), Direction(car_end)
        self.ends = {car_end: self.up, net_end: self.down}
        ip(net, "addr", "add", f"{subnet}.1/24", "dev", "core0")
        ip(net, "link", "set", "core0", "mtu", "1430", "up")
        self.carrier(True)

    def carrier(self, on):
        if not on:
            # Like a modem's connection manager.
            ip(self.car, "addr", "flush", "dev", "wwan0")
            ip(self.car, "link", "set", "wwan0", "down")
            return
        ip(self.car, "link", "set", "wwan0", "mtu", "1430", "up")
        ip(self.car, "addr", "replace", f"{self.subnet}.{self.last}/24", "dev", "wwan0")
        ip(self.car, "route", "replace", "default", "via", f"{self.subnet}.1")

    def obey(self, line):
        words = line.split()
        if words[0] == "set":
            for word in words[1:]:
                key, value = word.split("=")
                self.way[key] = float(value)
        elif words[0] == "silent":
            self.silent = words[1] == "on"
        elif words[0] == "carrier":
            self.carrier(words[1] == "on")
        elif words[0] == "address":
            self.last = words[1]
            ip(self.car, "addr", "flush", "dev", "wwan0")
            self.carrier(True)
        elif words[0] == "forget":
            self.flows, self.forgetful = set(), True
        else:
            raise ValueError(line)

    def is_forgotten(self, packet, direction):
        """Whether a TCP packet belongs to a connection that is older than the NAT's reset."""
        if packet[0] >> 4 != 4 or packet[9] != 6:
            return False
        start = (packet[0] & 15) * 4
        source, target = packet[12:16] + packet[start : start + 2], packet[16:20] + packet[start + 2 : start + 4]
        flow = (source, target) if direction is self.up else (target, source)
        if packet[start + 13] & 2:
            self.flows.add(flow)
        return self.forgetful and flow not in self.flows

    def push(self, packet, direction, now):
        if self.is_forgotten(packet, direction) or self.silent or self.random.random() * 100 < self.way["loss"]:
            return
        leaves = now
        if self.way["rate"]:
            if direction.queued + len(packet) > self.way["queue"]:
                return
            direction.free = leaves = max(now, direction.free) + len(packet) * 8 / (self.way["rate"] * 1000)
        jitter = self.random.uniform(-1, 1) * self.way["jitter"]
        at = max(leaves + max(self.way["delay"] + jitter, 0) / 1000, direction.last + 1e-6)
        direction.last, self.count = at, self.count + 1
        direction.queued += len(packet)
        heapq.heappush(self.heap, (at, self.count, direction, packet))

    def deliver(self):
        while self.heap and self.heap[0][0] <= time.monotonic():
            _, _, direction, packet = heapq.heappop(self.heap)
            direction.queued -= len(packet)
            try:
                os.write(direction.out, packet)
            except OSError:
                pass  # The link is down; packets in transit are lost.

    def run(self):
        poll = select.poll()
        for end in self.ends:
            poll.register(end, select.POLLIN)
        poll.register(0, select.POLLIN | select.POLLHUP)
        print("ready", flush=True)
        orders = b""
        while True:
            self.deliver()
            timeout = max(0.0, (self.heap[0][0] - time.monotonic()) * 1000) if self.heap else None
            for descriptor, _ in poll.poll(timeout):
                if descriptor == 0:
                    piece = os.read(0, 4096)
                    if not piece:
                        return
                    *lines, orders = (orders + piece).split(b"\n")
                    for line in lines:
                        self.obey(line.decode())
                        print("done", flush=True)
                    continue
                for _ in range(64):
                    try:
                        packet = os.read(descriptor, 65536)
                    except BlockingIOError:
                        break
                    except OSError:
                        time.sleep(0.01)  # The device is down.
                        break
                    self.push(packet, self.ends[descriptor], time.monotonic())


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    Link(*sys.argv[1:]).run()
