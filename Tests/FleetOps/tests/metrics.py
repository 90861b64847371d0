#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the metrics of a fleet: metrics.py DIRECTORY-OF-PACKAGES

Five daemons drive with the emulator, each with a different fault. Their metrics are collected as in docs/fleet.md, with the files of
packaging/fleet: served, scraped by vmagent, pushed through haproxy over TLS out of a network namespace to a central Prometheus.
Then every query of the dashboards is run, an outage of the central machine is checked, and the bytes of a push are counted.
All times of the recipe are shortened by the same factor (SCALE); the cost of a push does not depend on them.
"""
import datetime
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../Interop"))
import trial  # noqa: E402
from alerts import TOOLS, unpack  # noqa: E402
from trial import Failure, processor  # noqa: E402

ROOT = os.path.realpath(os.path.join(HERE, "../../.."))
FLEET = os.path.join(ROOT, "packaging/fleet")
# Two minutes between two scrapes become five seconds.
SCALE = 24
SCRAPE, PUSH = 120 // SCALE, 360 // SCALE
CENTRAL = "metrics.example.com"
VEHICLES = ["steady", "refused", "kept", "noisy", "tokenless"]
# Queries without a result when there is no fault: they have data during the recording, but not always at its end.
EMPTY_WHEN_WELL = {"Silent on duty", "Alerts", "Lines with errors"}


def step(sentence):
    print(f"== {sentence}", flush=True)


def note(sentence):
    print(f"   {sentence}", flush=True)


# With a longer pause, because most conditions start a program.
until = functools.partial(trial.until, pause=0.2)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


class Receiver(threading.Thread):
    """A stationary receiver on the network, whose every tenth sentence is damaged."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def run(self):
        while True:
            connection, _ = self.server.accept()
            count = 0
            try:
                while True:
                    now = datetime.datetime.now(datetime.timezone.utc)
                    clock, date = now.strftime("%H%M%S.00"), now.strftime("%d%m%y")
                    for body in (f"GPRMC,{clock},A,5430.0000,N,00630.0000,E,0.0,0.0,{date},,,A",
                                 f"GPGGA,{clock},5430.0000,N,00630.0000,E,1,10,0.9,5.0,M,40.0,M,,"):
                        count += 1
                        checksum = 0
                        for byte in body.encode():
                            checksum ^= byte
                        connection.sendall(f"${body}*{checksum ^ (count % 10 == 0):02X}\r\n".encode())
                    time.sleep(1)
            except OSError:
                connection.close()


def name_server(address, log):
    """Answers every query with the address, and logs it to a file."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        question, asker = server.recvfrom(1500)
        end = question.index(0, 12) + 5
        is_a = question[end - 4:end - 2] == b"\0\1"
        with open(log, "a", encoding="utf-8") as file:
            file.write("A\n" if is_a else "other\n")
        answer = question[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0" + question[12:end]
        if is_a:
            answer += b"\xc0\x0c\0\1\0\1\0\0\0\x05\0\4" + socket.inet_aton(address)
        server.sendto(answer, asker)


class Rig:
    def __init__(self, packages, work):
        self.packages, self.work, self.children = packages, work, []
        self.box, self.central = f"fops-box-{os.getpid()}", f"fops-net-{os.getpid()}"
        self.boxes = os.path.join(work, "run")
        self.web = None

    def start(self, name, *words, space=None, **options):
        log = open(os.path.join(self.work, f"{name}.log"), "ab")
        child = subprocess.Popen((["ip", "netns", "exec", space] if space else []) + list(words), stdout=log, stderr=log, **options)
        self.children.append(child)
        return child

    def end(self, child):
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        self.children.remove(child)

    def close(self):
        for child in list(self.children):
            self.end(child)
        for space in (self.box, self.central):
            subprocess.run(["ip", "netns", "del", space], check=False)

    # -- Programs

    def unpack(self):
        unpack("prometheus", "usr/bin/promtool")
        unpack("victoria-metrics", "usr/bin/vmagent")
        machine = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
        changelog = os.path.join(ROOT, "packaging/debian/changelog")
        version = subprocess.check_output(["dpkg-parsechangelog", "-l", changelog, "-S", "Version"], text=True).strip()
        for name in ("fleet-locationd", "fleet-engine-emulator"):
            package = os.path.join(self.packages, f"{name}_{version}_{machine}.deb")
            subprocess.run(["dpkg", "-x", package, os.path.join(self.work, "programs")], check=True)

    def program(self, name):
        return os.path.join(self.work, "programs/usr/bin", name)

    # -- Two machines and a cable between them, whose counters represent those of the mobile network

    def wire(self):
        for space in (self.box, self.central):
            subprocess.run(["ip", "netns", "add", space], check=True)
        subprocess.run(["ip", "link", "add", "v0", "netns", self.box, "type", "veth", "peer", "name", "v0", "netns", self.central], check=True)
        for space, address in ((self.box, "10.97.0.2"), (self.central, "10.97.0.1")):
            subprocess.run(["ip", "netns", "exec", space, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"], check=True)
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{address}/24", "dev", "v0"], ["link", "set", "v0", "up"],
                          # Packets as they are sent, without segmentation offload.
                          ["link", "set", "v0", "gso_max_segs", "1"]):
                subprocess.run(["ip", "-n", space] + words, check=True)
        hardware = {space: subprocess.check_output(["ip", "-n", space, "-br", "link", "show", "v0"], text=True).split()[2] for space in (self.box, self.central)}
        for space, peer, address in ((self.box, self.central, "10.97.0.1"), (self.central, self.box, "10.97.0.2")):
            subprocess.run(["ip", "-n", space, "neigh", "add", address, "lladdr", hardware[peer], "dev", "v0"], check=True)

    def bytes_on_air(self):
        """Bytes sent and received by the box, including IP headers."""
        text = subprocess.check_output(["ip", "netns", "exec", self.box, "sh", "-c", "cd /sys/class/net/v0/statistics; cat tx_bytes tx_packets rx_bytes rx_packets"], text=True)
        sent, sent_packets, received, received_packets = map(int, text.split())
        return sent - 14 * sent_packets, received - 14 * received_packets

    # -- The central machine

    def certificates(self):
        place = os.path.join(self.work, "certificates")
        os.mkdir(place)
        for fleet in ("own", "stranger"):
            os.makedirs(os.path.join(self.work, fleet), mode=0o700)
            for words in (["init", CENTRAL, "tokens.example.com"], ["add", "box"]):
                subprocess.run([os.path.join(FLEET, "enrolment/fleet-boxes"), *words], cwd=os.path.join(self.work, fleet), check=True)
        for name in ("central", "ca", "crl"):
            shutil.copy(os.path.join(self.work, "own/central", f"{name}.pem"), place)
        shutil.copy(os.path.join(self.work, "own/boxes/box/box.pem"), place)
        shutil.copy(os.path.join(self.work, "stranger/boxes/box/box.pem"), os.path.join(place, "stranger.pem"))
        return place

    def haproxy(self, name, space):
        text = read(FLEET, "central-haproxy.cfg" if name == "central" else "metrics/box-haproxy.cfg").replace("/etc/fleet-metrics", os.path.join(self.work, "certificates"))
        text = re.sub(r"^ *(user|group) .*\n", "", text, flags=re.M)
        text = text.replace("parse-resolv-conf", "nameserver central 10.97.0.1:53")
        path = write(os.path.join(self.work, f"{name}.cfg"), text)
        return self.start(f"haproxy-{name}", "haproxy", "-db", "-f", path, space=space)

    def prometheus(self):
        place = os.path.join(self.work, "central")
        # The ten minutes of silence and the alerts' durations are scaled; windows of an hour and a day are not.
        rules = read(FLEET, "prometheus/fleet.rules.yml").replace("> 600", f"> {600 // SCALE}").replace("offset 20m", f"offset {1200 // SCALE}s")
        rules = re.sub(r"for: (\d+)([mhd])", lambda m: f"for: {int(m[1]) * {'m': 60, 'h': 3600, 'd': 86400}[m[2]] // SCALE}s", rules)
        write(os.path.join(place, "fleet.rules.yml"), rules)
        write(os.path.join(place, "prometheus.yml"), read(FLEET, "prometheus/prometheus.yml").replace("_interval: 1m", f"_interval: {SCRAPE}s"))
        arguments = re.search(r'^ARGS="(.*)"$', read(FLEET, "prometheus/default"), re.M)[1].split()
        arguments = [a.replace("=10m", f"={600 // SCALE}s") if "lookback" in a else a for a in arguments]
        return self.start("prometheus", os.path.join(TOOLS, "usr/bin/prometheus"), f"--config.file={place}/prometheus.yml",
                          f"--storage.tsdb.path={place}/data", *arguments, space=self.central)

    def ask(self, path, **parameters):
        """Prometheus listens in a namespace, so curl runs there."""
        url = f"http://127.0.0.1:9090/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        done = subprocess.run(["ip", "netns", "exec", self.central, "curl", "-s", url], capture_output=True, text=True, check=False)
        # While it starts, Prometheus responds with 503 and a text.
        if done.returncode != 0 or done.stdout.startswith("Service Unavailable"):
            return None
        answer = json.loads(done.stdout)
        if answer.get("status") != "success":
            raise Failure(f"{answer.get('error')}: {parameters}")
        return answer["data"]["result"]

    # -- The box

    def agent(self, only=None, scrape=SCRAPE, push=PUSH):
        """Serves, scrapes and pushes like the units: with their commands, but other paths and times."""
        files = f"{self.boxes}/{only or '*'}/fleet_locationd.prom"
        unit = read(FLEET, "metrics/fleet-metrics@.service").replace("\\\n", "")
        command = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.M)[1]
        programs = os.path.join(self.work, "box-programs")
        script = read(FLEET, "metrics/fleet-metrics").replace("/run/fleet-locationd*/fleet_locationd.prom", files)
        installed = write(os.path.join(programs, "fleet-metrics"), script)
        command = command.replace("$$", "$").replace("\\\\r\\\\n", "\\r\\n").replace("/usr/local/bin/fleet-metrics", installed)
        if files not in script or installed not in command:
            raise Failure(f"the unit's command is another: {command}")
        # NTP has not set the clock of this box.
        for program in (installed, write(os.path.join(programs, "timedatectl"), "#!/bin/sh\necho no\n")):
            os.chmod(program, 0o755)
        serving = self.start("serve", "systemd-socket-activate", "--accept", "--inetd", "-E", f"PATH={programs}:{os.environ['PATH']}", "-l", "127.0.0.1:9101",
                             "sh", "-c", command, space=self.box)
        write(os.path.join(self.work, "scrape.yml"), read(FLEET, "metrics/scrape.yml").replace("10s", "2s").replace("2m", f"{scrape}s"))
        unit = read(FLEET, "metrics/fleet-metrics-push.service").replace("\\\n", "")
        words = re.search(r"^ExecStart=/usr/bin/vmagent (.*)$", unit, re.M)[1].replace("6m", f"{push}s")
        words = words.replace("/etc/fleet-metrics/scrape.yml", os.path.join(self.work, "scrape.yml"))
        words = words.replace("/etc/fleet-metrics/", os.path.join(FLEET, "metrics") + "/").replace("${STATE_DIRECTORY}", os.path.join(self.work, "queue"))
        pushing = self.start("vmagent", os.path.join(TOOLS, "usr/bin/vmagent"), *words.split(), space=self.box)
        return serving, pushing

    def counted(self):
        """Pushes that the central machine has accepted, and their samples, since the start of the agent."""
        text = subprocess.run(["ip", "netns", "exec", self.box, "curl", "-s", "http://127.0.0.1:9103/metrics"], capture_output=True, text=True, check=False).stdout
        return tuple(sum(float(n) for n in re.findall(pattern, text, re.M)) for pattern in
                     (r'^vmagent_remotewrite_requests_total\{.*status_code="2XX"\} (\d+)', r"^vmagent_remotewrite_block_size_rows_sum (\d+)"))

    # -- The vehicles

    def settings(self, vehicle, source, extra=""):
        place = os.path.join(self.boxes, vehicle)
        url = self.web.rstrip("/")
        return write(os.path.join(place, "settings.toml"), f"""[vehicle]
provider_id = "demo"
vehicle_id = "{vehicle}"
[source]
{source}
[token]
url = "{url}/token/delivery_driver/{{vehicle_id}}"
[fleet_engine]
endpoint = "{url}"
[reporting]
interval = "1s"
heartbeat = "5s"
[metrics]
textfile = "{place}/fleet_locationd.prom"
{extra}""")

    def drive(self, vehicle):
        place = os.path.join(self.boxes, vehicle)
        # Like StateDirectory= of the unit.
        os.makedirs(os.path.join(place, "state"), mode=0o700, exist_ok=True)
        return self.start(vehicle, self.program("fleet-locationd"), "--config", os.path.join(place, "settings.toml"),
                          env={**os.environ, "RUNTIME_DIRECTORY": place, "STATE_DIRECTORY": os.path.join(place, "state")})

    def control(self, vehicle, *words):
        return subprocess.run([self.program("fleet-locationctl"), *words, "--socket", os.path.join(self.boxes, vehicle, "control.sock")], capture_output=True, text=True, check=False)

    def status(self, vehicle):
        done = self.control(vehicle, "status", "--json")
        return json.loads(done.stdout) if done.returncode == 0 and done.stdout else {}

    def post(self, path, body):
        data = json.dumps(body).encode()
        urllib.request.urlopen(urllib.request.Request(self.web.rstrip("/") + path, data, {"Content-Type": "application/json"})).read()


def usage(child):
    """Private memory plus a fair share of shared memory, and CPU since the start, of a process and its only child."""
    size, cpu = 0, 0
    pids = [child.pid] + [int(p) for p in read(f"/proc/{child.pid}/task/{child.pid}/children").split()]
    for pid in pids:
        size += int(re.search(r"^Pss: +(\d+)", read(f"/proc/{pid}/smaps_rollup"), re.M)[1])
        cpu += processor(pid)
    return f"{size / 1000:.0f} MB, {cpu:.1f} s of CPU"


def substituted(query, vehicle):
    values = {"provider": "demo", "vehicle": vehicle, "__rate_interval": f"{4 * 120 // SCALE * 6}s"}
    return re.sub(r"\$\{?(\w+)\}?", lambda m: values[m[1]], query)


def main(packages):
    work = tempfile.mkdtemp(prefix="fleet-metrics-")
    rig = Rig(packages, work)
    try:
        rehearse(rig)
    except BaseException:
        for name in sorted(os.listdir(work)):
            if name.endswith(".log"):
                print(f"-- {name}\n{read(work, name)[-1500:]}", file=sys.stderr)
        raise
    finally:
        rig.close()
        shutil.rmtree(work, ignore_errors=True)


def rehearse(rig):
    rig.unpack()
    rig.wire()
    certificates = rig.certificates()
    promtool = os.path.join(TOOLS, "usr/bin/promtool")
    dashboards = [os.path.join(FLEET, "grafana", name) for name in ("fleet.json", "vehicle.json")]
    subprocess.run([os.path.join(HERE, "../dashboard.py"), *dashboards], check=True)

    step("a central Prometheus, and five vehicles that push to it")
    rig.prometheus()
    central = rig.haproxy("central", rig.central)
    names = os.path.join(rig.work, "questions")
    rig.start("names", sys.executable, os.path.realpath(__file__), "--name-server", "10.97.0.1", names, space=rig.central)
    box = rig.haproxy("box", rig.box)
    until(20, "Prometheus answers", lambda: rig.ask("query", query="vector(1)"))
    rig.start("emulator", rig.program("fleet-engine-emulator"), "--port", "0", "--ready-file", os.path.join(rig.work, "url"))
    rig.web = until(10, "the emulator answers", lambda: os.path.exists(os.path.join(rig.work, "url")) and read(rig.work, "url").strip())
    receiver = Receiver()
    receiver.start()
    simulated = f'type = "simulated"\nroute = "{ROOT}/config/examples/demo.gpx"'
    for vehicle in VEHICLES:
        source = f'type = "nmea-tcp"\naddress = "127.0.0.1:{receiver.port}"' if vehicle == "noisy" else simulated
        rig.settings(vehicle, source)
    rig.post("/debug/faults", {"target": "token", "vehicle": "tokenless", "status": 503, "for_ms": 100_000})
    daemons = {vehicle: rig.drive(vehicle) for vehicle in VEHICLES}
    began = time.time()
    serving, pushing = rig.agent()
    for vehicle in VEHICLES[:4]:
        until(20, f"{vehicle} is online", lambda v=vehicle: rig.status(v).get("isOnline"))
    rig.post("/map/act", {"act": "unavailable", "vehicle": "refused", "seconds": 100})
    # With a mistake in the settings, a box that was online starts with the previous settings.
    rig.end(daemons["kept"])
    rig.settings("kept", simulated, "[metrix]\n")
    daemons["kept"] = rig.drive("kept")
    until(20, "it is online with the kept settings", lambda: rig.status("kept").get("settings", {}).get("isKept"))

    step("the series of a vehicle are those that relabel.yml names")
    pattern = re.search(r'regex: "(fleet_box_off.*?)"', read(FLEET, "metrics/relabel.yml"), re.S)[1].replace("\\\n", "").replace(" ", "")
    wanted = {"fleet_locationd_" + n for n in re.search(r"\((.*)\)", pattern)[1].split("|")}
    until(120, "all series of the vehicle with a line", lambda: {
        s["metric"]["__name__"] for s in rig.ask("query", query='{__name__=~"fleet_locationd_.*", vehicle="noisy"}')} == wanted)
    series = rig.ask("query", query='{__name__=~".+", vehicle="noisy", __name__!~"ALERTS.*|fleet:.*"}')
    labels = {label for s in series for label in s["metric"]}
    if labels != {"__name__", "provider", "vehicle", "version", "hash", "source"}:
        raise Failure(f"labels {labels}")
    strangers = rig.ask("query", query='{__name__=~".+", __name__!~"fleet_locationd_.*|fleet:.*|ALERTS.*"}')
    if strangers:
        raise Failure(f"other series are pushed too: {strangers[:3]}")
    note(f"{len(series)} series: " + ", ".join(sorted(n.removeprefix("fleet_locationd_") for n in wanted)))

    step("the central machine is away for 40 s: what was scraped follows")
    rig.end(central)
    gone = time.time()
    time.sleep(40)
    central = rig.haproxy("central", rig.central)
    back = time.time()
    queue = 'count_over_time(fleet_locationd_online{vehicle="steady"}[30s])'
    until(90, "samples of the time without", lambda: any(
        float(s["value"][1]) >= 30 / SCRAPE - 1 for s in rig.ask("query", query=queue, time=gone + 35)))
    note(f"{back - gone:.0f} s without a central machine, no sample is missing")
    # A sample with its own time, as after hours without a network.
    late = time.time() - 5 * 3600
    # While a clock is two days ahead, or its error is unknown, nothing is pushed.
    paths = []
    for vehicle, offset in (("ahead", "172800.5"), ("unknown", None), ("late", "0")):
        labels = f'{{provider="demo",vehicle="{vehicle}"}}'
        text = f"fleet_locationd_online{labels} 1 {late * 1000:.0f}\n"
        text += f"fleet_locationd_clock_offset_seconds{labels} {offset}\n" if offset else ""
        paths.append(write(os.path.join(rig.boxes, vehicle, "fleet_locationd.prom"), text))
    until(60, "a sample of five hours ago", lambda: rig.ask("query", query='fleet_locationd_online{vehicle="late"}', time=late + 1))
    wrong = rig.ask("query", query='fleet_locationd_online{vehicle=~"ahead|unknown"}', time=late + 1)
    if wrong:
        raise Failure(f"the box pushes with a wrong clock: {wrong}")
    for path in paths:
        os.remove(path)
    note("a sample that is five hours late is accepted, and none is pushed while the clock is ahead or unknown")

    step("who has no certificate of the fleet's CA, and who asks instead of pushing")
    base = ["ip", "netns", "exec", rig.box, "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", f"{certificates}/ca.pem",
            "--connect-to", f"{CENTRAL}:9443:10.97.0.1:9443"]
    for name, words, wanted_status in (
            ("a query", ["--cert", f"{certificates}/box.pem", f"https://{CENTRAL}:9443/api/v1/query?query=up"], "403"),
            ("a push without a certificate", ["-d", "x", f"https://{CENTRAL}:9443/api/v1/write"], "000"),
            ("a push with a stranger's certificate", ["--cert", f"{certificates}/stranger.pem", "-d", "x", f"https://{CENTRAL}:9443/api/v1/write"], "000"),
            ("a push of nonsense", ["--cert", f"{certificates}/box.pem", "-d", "x", f"https://{CENTRAL}:9443/api/v1/write"], "400")):
        status = subprocess.run(base + words, capture_output=True, text=True, check=False).stdout
        if status != wanted_status:
            raise Failure(f"{name}: {status} instead of {wanted_status}")
        note(f"{name}: {'refused by TLS' if status == '000' else status}")

    step("every query of the dashboards returns data")
    rig.control("steady", "pause")
    until(90, "the alerts fire", lambda: {"FleetVehicleSilentOnDuty", "FleetSettingsKept", "FleetLineErrors"} <= {
        a["metric"]["alertname"] for a in rig.ask("query_range", query='ALERTS{alertstate="firing"}', start=began, end=time.time(), step=SCRAPE)})
    until(90, "the pause is pushed", lambda: rig.ask("query", query='fleet_locationd_paused{vehicle="steady"} == 1'))
    rig.control("steady", "resume")
    until(120, "all vehicles are online again", lambda: all(float(s["value"][1]) == 1 for s in rig.ask("query", query="fleet_locationd_online")))
    end = time.time()
    count = {"fleet": 0, "vehicle": 0}
    for path in dashboards:
        with open(path, encoding="utf-8") as file:
            dashboard = json.load(file)
        kind = os.path.basename(path).removesuffix(".json")
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"])
                values = {s["metric"].get(found[2]) for s in rig.ask("query", query=substituted(found[1], ".*"))}
                if not values >= ({"demo"} if found[2] == "provider" else set(VEHICLES)):
                    raise Failure(f"the variable {variable['name']} has {values}")
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                query = substituted(target["expr"], "noisy" if kind == "vehicle" else ".*")
                during = rig.ask("query_range", query=query, start=began, end=end, step=SCRAPE)
                numbers = [float(v) for s in during for _, v in s["values"]]
                if not numbers or all(n != n for n in numbers):
                    raise Failure(f"{panel['title']}: no data from {query}")
                if "or vector(0)" in query and max(numbers) == 0:
                    raise Failure(f"{panel['title']}: never more than 0 from {query}")
                if panel["title"] not in EMPTY_WHEN_WELL and "silent_seconds" not in query and not rig.ask("query", query=query, time=end):
                    raise Failure(f"{panel['title']}: no data at the end from {query}")
                count[kind] += 1
    # The check detects a wrong sample.
    if rig.ask("query_range", query=substituted("fleet_locationd_onlin{provider=~\"$provider\"}", ".*"), start=began, end=end, step=SCRAPE):
        raise Failure("a query of a metric that does not exist returns data")
    note(f"{count['fleet']} queries of the fleet's page and {count['vehicle']} of the vehicle's, over {end - began:.0f} s of five vehicles")
    if len(rig.ask("query", query='count by (hash) (fleet_locationd_config_info)')) < 5:
        raise Failure("the settings of five vehicles that differ have fewer hashes")
    subprocess.run([promtool, "check", "rules", os.path.join(FLEET, "prometheus/fleet.rules.yml")], check=True, stdout=subprocess.DEVNULL)

    asked = len(read(names).split())
    if not 1 <= asked <= 4:
        raise Failure(f"the central machine's name was looked up {asked} times")
    note(f"name lookups in {end - began:.0f} s: {asked}")

    step("bytes of a push")
    note(f"on the box, for {end - began:.0f} s of five vehicles: vmagent {usage(pushing)}; haproxy {usage(box)}")
    for child in (pushing, serving, box):
        rig.end(child)
    before = rig.bytes_on_air()
    box = rig.haproxy("box", rig.box)
    # Longer than the keep-alive interval of 15 s of Go's servers and clients, which would be counted.
    serving, pushing = rig.agent(only="noisy", scrape=10, push=30)
    until(60, "the first push", lambda: rig.counted()[0] >= 1)
    time.sleep(3)
    first = rig.bytes_on_air()
    pushes, samples = rig.counted()
    until(200, "five pushes", lambda: rig.counted()[0] >= pushes + 5)
    time.sleep(3)
    after, (more, total) = rig.bytes_on_air(), rig.counted()
    count_of_pushes = more - pushes
    each = (sum(after) - sum(first)) / count_of_pushes
    handshake = sum(first) - sum(before) - each
    month = float(re.search(r"^\| mobile data of a month.*?\| ([0-9.]+) \|", read(ROOT, "docs/performance.md"), re.M)[1])
    # The same month: 22 days of 10 hours, with a push every six minutes and a new connection every two hours.
    days, hours = 22, 10
    # A query and its response, with the name as it is, in UDP and IP: box-haproxy.cfg sends one every quarter of an hour.
    look_up = 2 * (28 + 12 + len(CENTRAL) + 6) + 16
    day = hours * (10 * each + 4 * look_up) + (1 + hours / 2) * handshake
    share = day * days / 1e6 / month
    note(f"a push, {(total - samples) / count_of_pushes:.0f} samples of three scrapes: {each:.0f} bytes both ways with TLS, TCP and IP")
    note(f"a connection with both certificates, and the lookup of its name: {handshake:.0f} bytes")
    note(f"a day of {hours} hours: {day / 1000:.0f} kB; a month of {days}: {day * days / 1e6:.1f} MB, {100 * share:.1f} % of the positions' {month} MB")
    note(f"a day of 24 hours: {(day + 14 * (10 * each + 4 * look_up)) / 1000:.0f} kB")
    if share > 0.1:
        raise Failure("more than a tenth of the positions' bytes")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--name-server"]:
        name_server(*sys.argv[2:])
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(os.path.realpath(sys.argv[1]))
