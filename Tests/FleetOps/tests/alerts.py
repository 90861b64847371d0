#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that alerts are delivered: alerts.py DIRECTORY-OF-PACKAGES

Debian's Prometheus and Alertmanager with the files of packaging/fleet/prometheus, and a webhook. The metrics are those of twelve vehicles
as pushed, but scraped here; the push itself is tested in metrics.py. Minutes of the recipe are seconds here.
"""
import http.server
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Interop"))
from trial import Failure, QuietHandler, free_port, until  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
FILES = ROOT / "packaging/fleet/prometheus"
TOOLS = ROOT / ".build/prometheus-tools"
VEHICLES = [f"truck-{number}" for number in range(1, 13)]


def unpack(package, program):
    """Unpacks Debian's package into TOOLS, without installing it, unless the program is there."""
    if (TOOLS / program).exists():
        return
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        subprocess.run(["apt-get", "download", "-q", package], cwd=place, check=True, stdout=subprocess.DEVNULL)
        TOOLS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg", "-x", os.path.join(place, os.listdir(place)[0]), TOOLS], check=True)
    # With sudo, the tests of the user who ran it use these programs, too.
    subprocess.run(["chown", "-R", os.environ.get("SUDO_UID", str(os.getuid())), TOOLS], check=True)


class Fleet(QuietHandler):
    """The metrics of the vehicles, and the webhook."""
    silent = set()
    messages = []

    def do_GET(self):
        lines = []
        for vehicle in VEHICLES:
            labels = f'provider="my-project",vehicle="{vehicle}"'
            last = time.time() - (3600 if vehicle in Fleet.silent else 5)
            lines += [f'fleet_locationd_build_info{{{labels},version="0.3.0"}} 1', f"fleet_locationd_paused{{{labels}}} 0",
                      f"fleet_locationd_last_update_timestamp_seconds{{{labels}}} {last:.0f}"]
        self.answer("\n".join(lines) + "\n")

    def do_POST(self):
        Fleet.messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer("")

    def answer(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


def message(status, alert):
    """The vehicles in the last message with this status about this alert."""
    for each in reversed(Fleet.messages):
        alerts = [entry for entry in each["alerts"] if entry["status"] == status and entry["labels"]["alertname"] == alert]
        if alerts:
            return {entry["labels"].get("vehicle", ""): entry for entry in alerts}
    return None


def main():
    unpack("prometheus", "usr/bin/prometheus")
    unpack("prometheus-alertmanager", "usr/bin/prometheus-alertmanager")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fleet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    children = []
    with tempfile.TemporaryDirectory() as directory:
        place, prometheus, alertmanager = pathlib.Path(directory), free_port(), free_port()

        def shorter(text):
            """Minutes become seconds, and hours become minutes; the silence of ten minutes is not changed."""
            return re.sub(r"((?:(?:for|group_wait|group_interval|repeat_interval|evaluation_interval):|offset) *\d+)([mhd])",
                          lambda found: found[1] + {"m": "s", "h": "m", "d": "h"}[found[2]], text)

        (place / "fleet.rules.yml").write_text(shorter((FILES / "fleet.rules.yml").read_text()))
        (place / "alertmanager.yml").write_text(
            shorter((FILES / "alertmanager.yml").read_text()).replace("127.0.0.1:9095", f"127.0.0.1:{server.server_port}"))
        (place / "prometheus.yml").write_text(
            shorter((FILES / "prometheus.yml").read_text()).replace("127.0.0.1:9093", f"127.0.0.1:{alertmanager}") +
            f"scrape_configs:\n  - {{job_name: fleet, scrape_interval: 1s, scrape_timeout: 1s, honor_labels: true, "
            f"static_configs: [{{targets: ['127.0.0.1:{server.server_port}']}}]}}\n")

        # Started as by Debian's units.
        def start(program, name, changes, *options):
            words = shlex.split(re.search(r'^ARGS="(.*)"$', (FILES / name).read_text(), re.M)[1])
            for old, new in changes.items():
                if not any(old in word for word in words):
                    raise Failure(f"{name} has no {old}")
                words = [word.replace(old, new) for word in words]
            with open(place / f"{program}.log", "w", encoding="utf-8") as log:
                # Alertmanager reads its templates in /usr/share.
                seen = f'mount -t overlay overlay -o lowerdir={TOOLS}/usr/share:/usr/share /usr/share && exec "$@"'
                children.append(subprocess.Popen(["unshare", "--mount", "sh", "-c", seen, "sh", TOOLS / "usr/bin" / program, *words, *options],
                                                 cwd=place, stdout=log, stderr=log))

        try:
            subprocess.run([TOOLS / "usr/bin/amtool", "check-config", FILES / "alertmanager.yml"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([TOOLS / "usr/bin/promtool", "check", "config", FILES / "prometheus.yml"], check=True, stdout=subprocess.DEVNULL)
            start("prometheus-alertmanager", "alertmanager-default", {"127.0.0.1:9093": f"127.0.0.1:{alertmanager}"},
                  f"--config.file={place}/alertmanager.yml", f"--storage.path={place}/alerts")
            start("prometheus", "default", {"127.0.0.1:9090": f"127.0.0.1:{prometheus}"}, f"--config.file={place}/prometheus.yml",
                  f"--storage.tsdb.path={place}/data")
            print("== one vehicle is silent on duty: the webhook gets it, and that it is over", flush=True)
            time.sleep(5)
            if Fleet.messages:
                raise Failure(f"a message while all is well: {Fleet.messages}")
            Fleet.silent = {"truck-7"}
            found = until(60, "the alert of truck-7", lambda: message("firing", "FleetVehicleSilentOnDuty"))
            if set(found) != {"truck-7"} or "truck-7: Fleet Engine has accepted no update for" not in found["truck-7"]["annotations"]["summary"]:
                raise Failure(f"another message: {found}")
            Fleet.silent = set()
            until(60, "the end of the alert", lambda: message("resolved", "FleetVehicleSilentOnDuty"))
            print("== all are silent: what they share, and no flood", flush=True)
            Fleet.messages.clear()
            Fleet.silent = set(VEHICLES)
            until(60, "the alert of all", lambda: message("firing", "FleetShareOffline"))
            time.sleep(15)
            if len(Fleet.messages) > 4:
                raise Failure(f"{len(Fleet.messages)} messages for twelve vehicles")
            # A vehicle is not listed in addition to a shared cause.
            url = f"http://127.0.0.1:{alertmanager}/api/v2/alerts?filter=alertname=FleetVehicleSilentOnDuty"
            with urllib.request.urlopen(url, timeout=5) as answer:
                states = [alert["status"]["state"] for alert in json.load(answer)]
            if states != ["suppressed"] * len(VEHICLES):
                raise Failure(f"the alerts of the vehicles are {states}")
        except BaseException:
            for log in place.glob("*.log"):
                print(f"-- {log.name}\n{log.read_text()[-1500:]}", file=sys.stderr)
            raise
        finally:
            for child in children:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    main()
