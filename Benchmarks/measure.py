#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the daemon and the yardstick: measure.py PROGRAMS YARDSTICK BENCHMARKS CERTIFICATES RESULT.json

Everything that could differ from one moment to the next is measured in pairs, one program right after the other, in turn;
what is reported is the median, and the median of the ratios of the pairs. No figure makes this program fail.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import backlogs
import decoders
import serial
from recording import sentence
from harness import HERE, Relay, Server, run, spawn, status

UPDATES = int(os.environ.get("BENCH_UPDATES", "2000"))
PAIRS = int(os.environ.get("BENCH_PAIRS", "7"))
STARTS = int(os.environ.get("BENCH_STARTS", "15"))
DRIVE = float(os.environ.get("BENCH_DRIVE_SECONDS", "62"))
SCRIPTED_SERVER = os.path.join(HERE, "..", "Tests", "Interop", "http2", "scripted_server.py")
# A vehicle's month: an update every 10 s on 22 days of 10 hours, two connections to Fleet Engine an hour and a token for each hour. The
# certificates of a public issuer, which are sent in a handshake without resumption, are larger than those of this benchmark by this
# number of bytes.
MONTH = {"updates": 79_200, "reconnects": 440, "tokens": 220}
PUBLIC_CHAIN = 3000
# Set where the issuers of the system include that of the server's certificate.
SYSTEM_TRUST = os.environ.get("BENCH_SYSTEM_TRUST") == "1"


class Bench:
    def __init__(self, programs, yardstick, certificates, directory):
        self.directory = directory
        self.daemon_program = os.path.abspath(os.path.join(programs, "fleet-locationd"))
        self.yardstick_program = os.path.abspath(yardstick)
        self.server = Server(os.path.abspath(programs), os.path.abspath(certificates))
        self.log = os.path.join(directory, "log")

    def path(self, name):
        return os.path.join(self.directory, name)

    def recording(self, epochs):
        path = self.path(f"{epochs}.nmea")
        if not os.path.exists(path):
            with open(path, "wb") as output:
                subprocess.run([os.path.join(HERE, "recording.py"), str(epochs)], stdout=output, check=True)
        return path

    # The token comes from a different host than Fleet Engine, as in production: two connections, for both programs.

    def daemon(self, file, pace=0, interval="0s", port=None, token_port=None, system_trust=False, name="bench",
               vehicle="truck-17"):
        path = self.path(f"{name}.toml")
        front, trust = self.server.front_port, "" if system_trust else f'ca_file = "{self.server.ca_file}"'
        with open(path, "w", encoding="ascii") as settings:
            settings.write(f"""
[vehicle]
provider_id = "bench"
vehicle_id = "{vehicle}"
[source]
type = "replay"
file = "{file}"
pace = {pace}
time = "{"keep" if pace == 0 else "shift"}"
[token]
url = "https://localhost:{token_port or front}/token/delivery_driver/{{vehicle_id}}"
{trust}
[fleet_engine]
endpoint = "https://127.0.0.1:{port or front}"
{trust}
[reporting]
interval = "{interval}"
[log]
level = "notice"
""")
        return [self.daemon_program, "--config", path]

    def yardstick(self, count, port=None, system_trust=False):
        front = self.server.front_port
        return [
            self.yardstick_program, f"https://localhost:{front}/token/delivery_driver/truck-17",
            f"https://127.0.0.1:{port or front}/v1/providers/bench/deliveryVehicles/truck-17?updateMask=lastLocation",
            "-" if system_trust else self.server.ca_file, str(count)]

    def pairs(self, count, updates, system_trust=False):
        """Runs of both, in turn: the yardstick sends as many updates as the daemon did."""
        file = self.recording(updates)
        results, sent = [], updates
        for turn in range(count):
            pair = {}
            for name in ("daemon", "yardstick") if turn % 2 == 0 else ("yardstick", "daemon"):
                arguments = (
                    self.daemon(file, system_trust=system_trust) if name == "daemon"
                    else self.yardstick(sent, system_trust=system_trust))
                pair[name] = run(self.server, arguments, self.log, sample_at=updates * 9 // 10)
            sent = pair["daemon"]["updates"]
            results.append(pair)
        return results

    def carried(self, name, updates):
        """What a run transfers to Fleet Engine and back: the relay's counters, and the number of updates."""
        relay = Relay(self.server.front_port)
        arguments = (
            self.daemon(self.recording(updates), port=relay.port) if name == "daemon"
            else self.yardstick(updates, port=relay.port))
        result = run(self.server, arguments, self.log)
        time.sleep(0.1)
        return relay.counters(), result["updates"]

    def bytes_per_update(self, name):
        """Bytes per update of a whole run, including the handshake; the token's connection is not counted. Packets are those of each
        additional update, without the beginning and the end of a connection; control frames that widen a window are counted separately."""
        (short, fewer), (whole, updates) = self.carried(name, UPDATES // 2), self.carried(name, UPDATES)
        more = {key: (whole[key] - short[key]) / (updates - fewer) for key in ("packets", "control")}
        return {key: value / updates for key, value in whole.items()} | {
            "packets": more["packets"] - more["control"], "control": more["control"]}

    def token_fetch(self):
        """IP bytes in both directions of the connection that fetches a token."""
        relay = Relay(self.server.front_port)
        run(self.server, self.daemon(self.recording(3), token_port=relay.port, name="token"), self.log)
        time.sleep(0.1)
        counters = relay.counters()
        return counters["sent_ip"] + counters["received_ip"]

    def system_calls(self, name):
        """System calls of each additional update; None without strace."""
        if not shutil.which("strace"):
            return None
        counts = []
        for updates in (10, 210):
            file, trace = self.recording(updates), self.path("strace")
            arguments = self.daemon(file) if name == "daemon" else self.yardstick(updates)
            result = run(self.server, [shutil.which("strace"), "-f", "-c", "-o", trace, *arguments], self.log)
            with open(trace, encoding="ascii") as table:
                total = next(line.split() for line in table if line.rstrip().endswith("total"))
            counts.append((int(total[3]), result["updates"]))
        return (counts[1][0] - counts[0][0]) / (counts[1][1] - counts[0][1])

    def resumed_handshake(self):
        """Of connections that resume a TLS session and carry one update each: TLS bytes in both directions until the server has the
        client's Finished, and the total of IP bytes; None if there is no such connection."""
        script = ";".join(["goaway-after"] * 20)
        tls = os.path.dirname(self.server.ca_file)
        server = subprocess.Popen(
            [SCRIPTED_SERVER, os.path.join(tls, "good.crt"), os.path.join(tls, "good.key"), script],
            stdout=subprocess.PIPE, text=True)
        relay = Relay(int(server.stdout.readline().split()[1]))
        subprocess.run(self.daemon(self.recording(12), port=relay.port, name="handshake"), check=True, capture_output=True)
        time.sleep(0.1)
        server.terminate()
        lines = server.stdout.read().splitlines()
        server.wait()
        found = [
            sum(int(word) for word in after.split()[1:]) for before, after in zip(lines, lines[1:])
            if before.startswith("connection resumed") and after.startswith("handshake")]
        if not found:
            return None
        # The first connection resumes no session.
        whole = [one["sent_ip"] + one["received_ip"] for one in relay.finished if one["packets"] > 6][1:]
        return {"handshake": statistics.median(found), "whole": statistics.median(whole)}

    def slow_drive(self):
        """A drive at 1 Hz with an update every 10 s, in parallel with a parked vehicle and a silent receiver: bytes of an update
        when each is sent alone, all bytes from one heartbeat to the next, and how often the process wakes."""
        relay, parked_relay = Relay(self.server.front_port), Relay(self.server.front_port)
        fifos = {name: self.path(name) for name in ("moving", "silent", "parked")}
        for path in fifos.values():
            os.mkfifo(path)
        silent = os.open(fifos["silent"], os.O_RDWR)
        moving = os.open(fifos["moving"], os.O_RDWR)
        driving = spawn(
            self.daemon(fifos["moving"], pace=1, interval="10s", port=relay.port, name="drive"), self.log)
        idle = spawn(self.daemon(fifos["silent"], pace=1, interval="10s", name="silent", vehicle="silent"), self.log)
        parked = os.open(fifos["parked"], os.O_RDWR)
        standing = spawn(
            self.daemon(fifos["parked"], pace=1, interval="10s", port=parked_relay.port, name="parked", vehicle="parked"),
            self.log)
        with open(self.recording(UPDATES), encoding="ascii") as recording:
            epochs = recording.read().split("$GNRMC")[1:]
        self.server.read()
        updates, counted, start, marks, parked_marks = 0, None, time.monotonic(), [], []
        for second, epoch in enumerate(epochs[: int(DRIVE)]):
            os.write(moving, ("$GNRMC" + epoch).encode())
            os.write(parked, standstill(second).encode())
            while (patience := start + second + 1 - time.monotonic()) > 0:
                updates += self.server.read(patience)
            if counted is None and updates:
                counted, before = updates, relay.counters()
            # From the time when the daemon has read its backlog until it reports, after a minute, that there is no fix.
            if second in (4, min(int(DRIVE) - 2, 55)):
                marks.append((status(idle), time.monotonic()))
            # At the first mark the vehicle is known to be parked, and a heartbeat follows within 50 s.
            if second in (10, 60):
                parked_marks.append((parked_relay.counters(), self.server.accepted("parked")))
        after = relay.counters()
        for process in (driving, idle, standing):
            os.kill(process, 15)
            os.wait4(process, 0)
        for descriptor in (silent, moving, parked):
            os.close(descriptor)

        (begin, start), (end, stop) = marks
        # In a shorter drive there is no heartbeat between two marks.
        heartbeats, heartbeat = 0, None
        if len(parked_marks) == 2:
            (first, before_first), (last, before_last) = parked_marks
            heartbeats = before_last - before_first
        if heartbeats:
            heartbeat = sum(last[key] - first[key] for key in ("sent_ip", "received_ip")) / heartbeats
        switches = end["voluntary_ctxt_switches"] - begin["voluntary_ctxt_switches"]
        return {
            "updates": updates, "seconds": stop - start, "wakeups_silent": switches / (stop - start),
            "threads_silent": end["Threads"], "parked": heartbeat, "heartbeats": heartbeats,
            **{key: (after[key] - before[key]) / max(updates - counted, 1) for key in after},
        }


def standstill(second):
    """An epoch of a receiver that does not move, this number of seconds after nine o'clock."""
    time, place = f"09{second // 60:02}{second % 60:02}.00", "5231.0000000,N,01324.0000000,E"
    return (sentence(f"GNRMC,{time},A,{place},0.01,,211126,,,A") + sentence(f"GNGGA,{time},{place},1,12,0.79,34.0,M,40.1,M,,"))


def compared(pairs, key, scale=1.0, per=None):
    """`per`: the key of the number that the value is divided by."""
    def value(run):
        return run[key] * scale / (run[per] if per else 1)

    return {
        "daemon": statistics.median(value(pair["daemon"]) for pair in pairs),
        "yardstick": statistics.median(value(pair["yardstick"]) for pair in pairs),
        "ratio": statistics.median(value(pair["daemon"]) / value(pair["yardstick"]) for pair in pairs),
    }


def table(figures):
    print(f"{'':50}{'daemon':>12}{'yardstick':>12}{'ratio':>8}  aim")
    for name, figure in figures.items():
        cells = [f"{figure[key]:,.{digits}f}" if key in figure else "" for key, digits in
                 (("daemon", figure.get("digits", 1)), ("yardstick", figure.get("digits", 1)), ("ratio", 2))]
        verdict = ""
        if "aim" in figure:
            kind, bound = figure["aim"]
            reached = figure["ratio" if kind.startswith("ratio") else "daemon"]
            # Rounded as it is printed.
            reached = round(reached, 2 if kind.startswith("ratio") else figure.get("digits", 1))
            met = reached >= bound if kind.endswith("at least") else reached <= bound
            verdict = f"{kind} {bound:,} {'met' if met else 'MISSED'}"
        print(f"{name:50}{cells[0]:>12}{cells[1]:>12}{cells[2]:>8}  {verdict}")


def main():
    programs, yardstick, benchmarks, certificates, result_file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(programs, yardstick, certificates, directory)
        try:
            long = bench.pairs(PAIRS, UPDATES)
            short = bench.pairs(STARTS, 3)
            figures = {
                "CPU per update, us": compared(long, "cpu", 1e6, "updates") | {"aim": ["ratio", 1.0]},
                "  user": compared(long, "user", 1e6, "updates"),
                "  system": compared(long, "system", 1e6, "updates"),
                "context switches per update": compared(long, "voluntary_ctxt_switches", 1, "sampled_updates") | {"digits": 2},
                "CPU of a start and three updates, ms": compared(short, "cpu", 1e3),
                "start to first accepted update, ms": compared(short, "first_update", 1e3) | {"aim": ["at most", 20]},
                "peak RSS, MB": compared(long, "VmHWM", 1.024e-3) | {"aim": ["at most", 23.07], "digits": 2},
                "anonymous memory, MB": compared(long, "RssAnon", 1.024e-3) | {"aim": ["at most", 3.7]},
                "threads": compared(long, "Threads") | {"digits": 0, "aim": ["at most", 1]},
            }
            if SYSTEM_TRUST:
                system = bench.pairs(STARTS, 3, system_trust=True)
                some = bench.pairs(3, UPDATES // 4, system_trust=True)
                figures["trusting the system's issuers:"] = {}
                figures["  start to first accepted update, ms"] = compared(system, "first_update", 1e3) | {
                    "aim": ["at most", 50]}
                figures["  CPU of a start and three updates, ms"] = compared(system, "cpu", 1e3)
                figures["  anonymous memory, MB"] = compared(some, "RssAnon", 1.024e-3) | {"aim": ["at most", 5]}
            sent = {name: bench.bytes_per_update(name) for name in ("daemon", "yardstick")}
            for key, title, aim in (("sent", "bytes sent per update, back to back", 220), ("received", "bytes received", 70),
                                    ("packets", "packets of requests and responses per update", 2)):
                pair = {name: sent[name][key] for name in sent}
                figures[title] = pair | {
                    "ratio": pair["daemon"] / pair["yardstick"], "digits": 2 if key == "packets" else 0,
                    "aim": ["at most", aim]}
            figures["  packets with a frame of control alone"] = {name: sent[name]["control"] for name in sent} | {"digits": 3}
            calls = {name: bench.system_calls(name) for name in sent}
            if None not in calls.values():
                figures["system calls per update"] = calls | {
                    "ratio": calls["daemon"] / calls["yardstick"], "digits": 2, "aim": ["at most", 5]}
            handshake = bench.resumed_handshake()
            if handshake:
                figures["bytes of a resumed handshake, both ways"] = {
                    "daemon": handshake["handshake"], "digits": 0, "aim": ["at most", 975]}
            for rows, aim in ((10_000, None), (100_000, 60)):
                figures[f"start to first update, {rows:,} positions on disk, ms"] = backlogs.start(bench, rows, STARTS) | (
                    {"aim": ["at most", aim]} if aim else {})
            drive = bench.slow_drive()
            figures["a drive at 1 Hz, an update each 10 s:"] = {}
            for key, title in (("sent", "bytes sent per update"), ("received", "bytes received per update"),
                               ("sent_ip", "  with IP and TCP headers, sent"),
                               ("received_ip", "  with IP and TCP headers, received")):
                figures["  " + title] = {"daemon": drive[key], "digits": 0}
            if drive["parked"]:
                figures["parked, all of a heartbeat each 50 s, with IP and TCP headers"] = {
                    "daemon": drive["parked"], "digits": 0, "aim": ["at most", 480]}
            figures["100 past positions, bytes sent"] = {
                "daemon": backlogs.bytes_of(bench, lambda: Relay(bench.server.front_port), 100), "digits": 0,
                "aim": ["at most", 3000]}
            if handshake:
                update = drive["sent_ip"] + drive["received_ip"]
                # A new connection carries an update as well, which is counted with the others.
                month = {
                    "updates": update, "reconnects": handshake["whole"] - update,
                    "tokens": bench.token_fetch() + PUBLIC_CHAIN}
                figures["a month on the air, MB, of these in bytes of IP:"] = {
                    "daemon": sum(month[key] * MONTH[key] for key in MONTH) / 1e6, "aim": ["at most", 38]}
                for key, title in (("updates", "updates, each"), ("reconnects", "connections that resume TLS, each"),
                                   ("tokens", "tokens with 3 kB of certificates")):
                    figures[f"  {MONTH[key]:,} {title}"] = {"daemon": month[key], "digits": 0}
            figures["wake-ups a second, receiver silent"] = {
                "daemon": drive["wakeups_silent"], "digits": 2, "aim": ["at most", 0]}
        finally:
            bench.server.close()
    figures["a receiver, an update each 10 s, or at rest:"] = {}
    for case, row in serial.figures(programs, 180).items():
        aim = {"aim": ["at most", serial.AIMS[case]]} if case in serial.AIMS else {}
        figures[f"  {case}, wake-ups a second"] = {"daemon": row["wakeups"], "digits": 2} | aim
        figures[f"  {case}, s of CPU a day"] = {"daemon": row["day"], "digits": 0}
        if "calls" in row:
            figures[f"  {case}, system calls a second"] = {"daemon": row["calls"], "digits": 1}
        if "offline" in case:
            figures[f"  {case}, kB to the disk an hour"] = {"daemon": row["written"] / 1000, "digits": 0}
            if "fdatasync" in row:
                figures[f"  {case}, fdatasync an hour"] = {"daemon": row["fdatasync"], "digits": 0, "aim": ["at most", 65]}
    figures |= decoders.figures(programs, os.path.join(benchmarks, "DecoderBenchmark"))
    figures |= backlogs.core(os.path.join(benchmarks, "BacklogBenchmark"))
    table(figures)
    os.makedirs(os.path.dirname(os.path.abspath(result_file)), exist_ok=True)
    with open(result_file, "w", encoding="ascii") as output:
        json.dump({"figures": figures, "pairs": long, "starts": short, "drive": drive}, output, indent=1)


if __name__ == "__main__":
    main()
