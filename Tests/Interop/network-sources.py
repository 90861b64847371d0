#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NMEA over the network, from other projects' programs and from hostile senders: network-sources.py BINDIR [NAME...]

socat as server, client and sender of datagrams, also to a multicast group and by broadcast, gpsd's raw sentences, datagrams that a
relay drops and reorders (so the kernel need not have netem), and floods from senders that are not allowed. Every position that
reaches the emulator is one of the drive, at its time, and in
order; the daemon remains one thread within its memory limit.
"""
import datetime
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import gpsd_drive  # noqa: E402
from trial import Record, check, free_port, processor, sentence, until  # noqa: E402

PERIOD = 0.5
# A hundred kilometres away: the positions of hostile senders.
FORGED = "GPRMC,{clock},A,3435.000000,S,15115.000000,E,10.000,0.00,{date},,,A"


def can_connect(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Drive(threading.Thread):
    """A receiver: writes two epochs a second, and records the position of each."""

    def __init__(self, write):
        super().__init__(daemon=True)
        self.write, self.truth, self.over = write, {}, threading.Event()
        self.start()

    def run(self):
        begun = time.monotonic()
        for number, sentences in enumerate(gpsd_drive.epochs(100_000)):
            fields = sentences[2].split(",")
            self.truth[fields[9] + fields[1]] = (self.degrees(fields[3], fields[4]), self.degrees(fields[5], fields[6]))
            if self.over.wait(max(begun + number * PERIOD - time.monotonic(), 0)):
                return
            try:
                self.write(sentences)
            except OSError:
                pass

    @staticmethod
    def degrees(number, letter):
        point = number.index(".") - 2
        degrees = int(number[:point]) + float(number[point:]) / 60
        return -degrees if letter in "SW" else degrees

    def end(self):
        self.over.set()
        self.join()


class Bench:
    def __init__(self, binaries):
        self.binaries, self.work, self.children = binaries, tempfile.TemporaryDirectory(), []
        self.path = self.work.name
        # gpsd drops root before it opens files in here.
        os.chmod(self.path, 0o755)
        self.run("fleet-engine-emulator", "--port", "0", "--ready-file", f"{self.path}/url", "--record",
                 f"{self.path}/requests", "--quiet")
        until(10, "the emulator", lambda: os.path.exists(f"{self.path}/url") and os.path.getsize(f"{self.path}/url"))
        self.url = open(f"{self.path}/url").read().strip()
        self.daemon = None

    def run(self, program, *arguments, **options):
        path = os.path.join(self.binaries, program)
        child = subprocess.Popen([path if os.path.exists(path) else program, *arguments], **options)
        self.children.append(child)
        return child

    def start(self, source, silence="3s"):
        with open(f"{self.path}/settings.toml", "w") as file:
            file.write(f"""[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
{source}
silence_timeout = "{silence}"
[token]
url = "{self.url}/token/delivery_driver/{{vehicle_id}}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "{self.url}"
[reporting]
interval = "0s"
""")
        environment = {**os.environ, "RUNTIME_DIRECTORY": f"{self.path}/run"}
        os.makedirs(f"{self.path}/run", exist_ok=True)
        self.log = open(f"{self.path}/log", "wb")
        self.daemon = self.run("fleet-locationd", "--config", f"{self.path}/settings.toml", env=environment,
                               stderr=self.log)

    def status(self):
        answer = subprocess.run(
            [f"{self.binaries}/fleet-locationctl", "status", "--json", "--socket", f"{self.path}/run/control.sock"],
            capture_output=True, text=True, timeout=10)
        return json.loads(answer.stdout) if answer.stdout.startswith("{") else {}

    def line(self):
        return (self.status().get("lines") or [{}])[0]

    def log_text(self):
        return open(f"{self.path}/log", errors="replace").read()

    def memory(self):
        """The daemon's private memory in MB, and its threads."""
        fields = dict(line.split(":", 1) for line in open(f"/proc/{self.daemon.pid}/status"))
        return int(fields["RssAnon"].split()[0]) / 1024, int(fields["Threads"])

    def locations(self):
        """The live location of each accepted update, in order."""
        entries = Record(f"{self.path}/requests").entries()
        return [json.loads(entry["body"])["lastLocation"] for entry in entries if entry["accepted"]]

    def count(self):
        return len(self.locations())

    def more(self, number, what):
        before = self.count()
        until(30, f"{number} updates {what}", lambda: self.count() >= before + number)

    def judge(self, truth, least):
        """Checks that every position is one of the drive, in order of time."""
        last = 0
        locations = self.locations()
        check(len(locations) >= least, f"{len(locations)} updates, and not {least}")
        for location in locations:
            at = gpsd_drive.stamp(location["supplementalLocationTime"])
            check(at >= last, f"{location} is older than the update before")
            last = at
            when = datetime.datetime.fromtimestamp(at / 1000, datetime.timezone.utc)
            key = f"{when:%d%m%y%H%M%S}.{when.microsecond // 10000:02d}"
            check(key in truth, f"no epoch of the drive at {key}")
            point = location["supplementalLocation"]
            off = max(abs(point["latitude"] - truth[key][0]), abs(point["longitude"] - truth[key][1]))
            check(off < 1e-6, f"{location} is not where the drive was: {truth[key]}")
        return len(locations)

    def end(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            check(self.daemon.wait(15) == 0, "the daemon does not end well")
        for child in self.children:
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            child.wait(10)
        self.log.close()
        self.work.cleanup()


# socat's options for a port that the daemon may not listen on yet.
PATIENT = "retry=100,interval=0.1"


def pipe_to(bench, *arguments):
    """A socat that sends the data written to the returned file."""
    child = bench.run("socat", "-u", "STDIN", *arguments, stdin=subprocess.PIPE)
    os.set_blocking(child.stdin.fileno(), False)
    return child


class Feed:
    """The file that the drive is written to; it may change."""

    def __init__(self):
        self.child = None

    def __call__(self, sentences):
        child = self.child
        if child:
            try:
                os.write(child.stdin.fileno(), "".join(sentences).encode())
            except (BrokenPipeError, BlockingIOError):
                # The reader was killed, or does not read.
                pass


def server(bench):
    """socat listens, is killed, and the daemon reconnects."""
    port, feed = free_port(), Feed()
    # This socat accepts one connection, which the daemon would close in a silence.
    bench.start(f'type = "nmea-tcp"\naddress = "localhost:{port}"', silence="30s")
    until(10, "that nothing listens is reported", lambda: "nothing listens there" in bench.log_text())
    feed.child = pipe_to(bench, f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr")
    drive = Drive(feed)
    bench.more(3, "from socat")
    feed.child.kill()
    until(10, "the end of socat is reported", lambda: "closed by the other side" in bench.log_text())
    feed.child = pipe_to(bench, f"TCP-LISTEN:{port},bind=127.0.0.1,reuseaddr")
    bench.more(3, "from the next socat")
    drive.end()
    return bench.judge(drive.truth, 6)


def client(bench):
    """Two socats connect: the one in use is killed, and the other one is used."""
    port, first, second = free_port(), Feed(), Feed()
    bench.start(f'type = "nmea-tcp"\nlisten = "127.0.0.1:{port}"')
    until(10, "the daemon answers", lambda: bench.status().get("uptime") is not None)
    first.child = pipe_to(bench, f"TCP:127.0.0.1:{port},{PATIENT}")

    def write(sentences):
        first(sentences)
        second(sentences)

    drive = Drive(write)
    bench.more(3, "from the first socat")
    second.child = pipe_to(bench, f"TCP:127.0.0.1:{port},bind=127.0.0.2,{PATIENT}")
    until(10, "both senders are named", lambda: len(bench.line().get("senders") or []) == 2)
    first.child.kill()
    bench.more(3, "from the second socat")
    check([sender["address"] for sender in bench.line()["senders"]] == ["127.0.0.2"], "the second is used")
    drive.end()
    return bench.judge(drive.truth, 6)


def gpsd(bench):
    """gpsd reads the receiver, and gpspipe forwards its raw sentences."""
    master, slave = os.openpty()
    gpsd_drive.tty.setraw(slave)
    os.chmod(os.ttyname(slave), 0o666)
    os.set_blocking(master, False)

    def write(sentences):
        try:
            os.read(master, 4096)
        except BlockingIOError:
            pass
        os.write(master, "".join(sentences).encode())

    port, theirs = free_port(), free_port()
    bench.start(f'type = "nmea-tcp"\nlisten = "127.0.0.1:{port}"')
    program = "/usr/sbin/gpsd" if os.path.exists("/usr/sbin/gpsd") else "gpsd"
    bench.run(program, "-N", "-n", "-S", str(theirs), os.ttyname(slave), stderr=subprocess.DEVNULL)
    drive = Drive(write)
    until(20, "gpsd", lambda: can_connect(theirs))
    raw = bench.run("gpspipe", "-r", f"127.0.0.1:{theirs}", stdout=subprocess.PIPE)
    bench.run("socat", "-u", "STDIN", f"TCP:127.0.0.1:{port},{PATIENT}", stdin=raw.stdout)
    bench.more(5, "through gpsd and gpspipe")
    # gpspipe's output begins with gpsd's version.
    check(bench.line()["foreign"] > 0, "gpsd's JSON is counted as foreign")
    drive.end()
    return bench.judge(drive.truth, 5)


def datagrams(bench):
    """socat sends datagrams, a sentence in each, of which a tenth is lost and every fifth is delayed."""
    port, relay_port = free_port(socket.SOCK_DGRAM), free_port(socket.SOCK_DGRAM)
    bench.start(f'type = "nmea-udp"\nlisten = "127.0.0.1:{port}"')
    dice, relay = random.Random(1), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    relay.bind(("127.0.0.1", relay_port))
    out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def pass_on():
        while True:
            datagram = relay.recv(65536)
            if dice.random() < 0.1:
                continue
            delay = dice.uniform(0.1, 0.9) if dice.random() < 0.2 else 0
            threading.Timer(delay, out.sendto, (datagram, ("127.0.0.1", port))).start()

    threading.Thread(target=pass_on, daemon=True).start()
    feed = Feed()
    feed.child = pipe_to(bench, f"UDP-SENDTO:127.0.0.1:{relay_port}")

    def write(sentences):
        # A write is a datagram; without line ends, as some routers send them.
        for each in sentences:
            os.write(feed.child.stdin.fileno(), each.strip().encode())
            time.sleep(0.01)

    drive = Drive(write)
    bench.more(10, "through loss and disorder")
    line = bench.line()
    check(line["late"] > 0 and line["wrongChecksums"] == 0, f"late sentences are counted: {line}")
    drive.end()
    return bench.judge(drive.truth, 10)


def group(bench):
    """socat sends to a multicast group and, when that has ended, by broadcast: three sentences in a datagram."""
    port, feed = free_port(socket.SOCK_DGRAM), Feed()
    bench.start(f'type = "nmea-udp"\nlisten = "0.0.0.0:{port}"\nallow = ["127.0.0.0/8"]\ngroup = "239.255.46.9"\n'
                'interface = "lo"')
    feed.child = pipe_to(bench, f"UDP4-DATAGRAM:239.255.46.9:{port},ip-multicast-if=127.0.0.1")
    drive = Drive(feed)
    bench.more(3, "from the group")
    feed.child.kill()
    feed.child = pipe_to(bench, f"UDP4-DATAGRAM:127.255.255.255:{port},broadcast")
    bench.more(3, "by broadcast")
    drive.end()
    return bench.judge(drive.truth, 6)


def hostile(bench):
    """Senders that are not allowed: 10,000 lines a second, a line of 1 MB, 1,000 connections."""
    port = free_port()
    bench.start(f'type = "nmea-tcp"\nlisten = "0.0.0.0:{port}"\nallow = ["127.0.0.1"]')
    feed = Feed()
    until(10, "the daemon answers", lambda: bench.status().get("uptime") is not None)
    feed.child = pipe_to(bench, f"TCP:127.0.0.1:{port}")
    drive = Drive(feed)
    bench.more(3, "before the attack")
    before, _ = bench.memory()
    begun, sent = time.monotonic(), bench.count()
    held = []
    for _ in range(1000):
        connection = socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.9", 0))
        connection.setblocking(False)
        try:
            connection.send(forged(100))
        except OSError:
            pass
        held.append(connection)
    # From the allowed address: a line of 1 MB without an end.
    endless = socket.create_connection(("127.0.0.1", port))
    endless.sendall(b"$" + b"A" * 1_000_000)
    bench.more(5, "under 1,000 connections")
    took = time.monotonic() - begun
    after, threads = bench.memory()
    refused = {sender["address"]: sender["count"] for sender in bench.line().get("refused") or []}
    for connection in held:
        connection.close()
    drive.end()
    check(refused.get("127.0.0.9", 0) >= 1000, f"the sender is named: {refused}")
    check(threads == 1 and after < before + 4, f"{threads} threads, {before:.1f} MB before and {after:.1f} MB after")
    print(f"   1,000 connections: {bench.count() - sent} updates in {took:.0f} s, {before:.1f} MB before, {after:.1f} MB after")
    return bench.judge(drive.truth, 8)


def flood(bench):
    """60,000 forged lines, up to 10,000 a second, in datagrams from an address that is not allowed."""
    port = free_port(socket.SOCK_DGRAM)
    bench.start(f'type = "nmea-udp"\nlisten = "0.0.0.0:{port}"\nallow = ["127.0.0.1"]')
    feed = Feed()
    feed.child = pipe_to(bench, f"UDP-SENDTO:127.0.0.1:{port}")
    drive = Drive(feed)
    bench.more(3, "before the flood")
    before, _ = bench.memory()
    over = threading.Event()
    lines = 0

    def attack():
        nonlocal lines
        enemy = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        enemy.bind(("127.0.0.9", 0))
        begun = time.monotonic()
        while not over.is_set():
            enemy.sendto(forged(1), ("127.0.0.1", port))
            lines += 1
            ahead = lines / 10_000 - (time.monotonic() - begun)
            if ahead > 0.01:
                time.sleep(ahead)

    attacker = threading.Thread(target=attack, daemon=True)
    begun, used = time.monotonic(), processor(bench.daemon.pid)
    attacker.start()
    sent = bench.count()
    bench.more(6, "during the flood")
    until(120, "all forged lines", lambda: lines >= 60_000)
    took = time.monotonic() - begun
    share = (processor(bench.daemon.pid) - used) / took
    after, threads = bench.memory()
    got = bench.count() - sent
    over.set()
    attacker.join()
    refused = {sender["address"]: sender["count"] for sender in bench.line().get("refused") or []}
    drive.end()
    check(refused.get("127.0.0.9", 0) > 0, f"the sender is named: {refused}")
    check(threads == 1 and after < before + 4, f"{threads} threads, {before:.1f} MB before and {after:.1f} MB after")
    print(f"   {lines / took:.0f} lines/s: {got} updates in {took:.0f} s, {share:.0%} of a core, {before:.1f} MB before, "
          f"{after:.1f} MB after")
    return bench.judge(drive.truth, 9)


def talkers(bench):
    """Four allowed senders without a fix use all slots, until another sender has needed one for a minute."""
    port, feed, over = free_port(), Feed(), threading.Event()
    bench.start(f'type = "nmea-tcp"\nlisten = "127.0.0.1:{port}"')
    until(10, "the daemon answers", lambda: bench.status().get("uptime") is not None)
    talking = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]

    def talk():
        while not over.wait(1):
            for number, talker in enumerate(talking):
                try:
                    talker.sendall(sentence("GPTXT,01,01,02,no fix").encode())
                except OSError:
                    talking[number] = socket.create_connection(("127.0.0.1", port))

    begun = time.monotonic()
    threading.Thread(target=talk, daemon=True).start()

    def connect():
        while not over.wait(2):
            if not feed.child or feed.child.poll() is not None:
                feed.child = bench.run("socat", "-u", "STDIN", f"TCP:127.0.0.1:{port},bind=127.0.0.2",
                                       stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
                os.set_blocking(feed.child.stdin.fileno(), False)

    drive = Drive(feed)
    threading.Thread(target=connect, daemon=True).start()
    until(20, "status says that there is no place",
          lambda: any(sender["reason"] == "noRoom" for sender in bench.line().get("refused") or []))
    check(bench.count() == 0, "nothing is sent before")
    until(80, "an update", lambda: bench.count() > 0)
    print(f"   the first update {time.monotonic() - begun:.0f} s after the talkers")
    bench.more(10, "while the talkers go on")
    over.set()
    drive.end()
    return bench.judge(drive.truth, 10)


def ports(bench):
    """A second sender behind the same address, at ten times the rate, and 15,000 km away."""
    port, feed, over = free_port(socket.SOCK_DGRAM), Feed(), threading.Event()
    # A longer silence of the right sender would give its slot to the other one.
    bench.start(f'type = "nmea-udp"\nlisten = "127.0.0.1:{port}"', silence="10s")
    feed.child = pipe_to(bench, f"UDP-SENDTO:127.0.0.1:{port}")
    drive = Drive(feed)
    bench.more(1, "from the right sender")
    time.sleep(4)
    bench.more(3, "before the other sender")

    def attack():
        enemy = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        while not over.wait(0.05):
            enemy.sendto(forged(1), ("127.0.0.1", port))

    threading.Thread(target=attack, daemon=True).start()
    bench.more(10, "beside it")
    reasons = {sender["reason"] for sender in bench.line().get("refused") or []}
    check(reasons == {"portInUse"}, f"it is named: {reasons}")
    # The right sender ends: the other one gets its slot, but is too distant.
    drive.end()
    until(40, "it is held",
          lambda: [(sender.get("heldFor") or 0) > 40 for sender in bench.line().get("senders") or []] == [True])
    over.set()
    return bench.judge(drive.truth, 13)


def forged(count):
    now = datetime.datetime.now(datetime.timezone.utc)
    body = FORGED.format(clock=f"{now:%H%M%S}.00", date=f"{now:%d%m%y}")
    return (sentence(body) * count).encode()


def main():
    binaries, *names = sys.argv[1:]
    tests = (server, client, gpsd, datagrams, group, hostile, flood, talkers, ports)
    if unknown := set(names) - {test.__name__ for test in tests}:
        sys.exit(f"network-sources.py: there is no test {', '.join(sorted(unknown))}")
    for test in tests:
        if names and test.__name__ not in names:
            continue
        begun, bench = time.monotonic(), Bench(os.path.abspath(binaries))
        try:
            count = test(bench)
        except BaseException as error:
            print(f"failed: {test.__doc__} {error}\n{bench.log_text()}\n{bench.status()}", file=sys.stderr)
            for child in bench.children:
                child.kill()
            raise SystemExit(1) from error
        bench.end()
        print(f"{test.__name__}: {count} updates in {time.monotonic() - begun:.0f} s, all of the drive and in order")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    main()
