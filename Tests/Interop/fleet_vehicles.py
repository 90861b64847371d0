#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests packaging/fleet/prometheus/fleet-vehicles with the emulator and a fake Prometheus: fleet_vehicles.py EMULATOR"""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import token_server_by_google_auth as accounts
from emulator_by_google_client import Emulator, update
from trial import QuietHandler

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "packaging/fleet/prometheus/fleet-vehicles"


class Prometheus(QuietHandler):
    vehicles = []
    query = ""

    def do_GET(self):
        Prometheus.query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)["query"][0]
        result = [{"metric": {"vehicle": vehicle}, "value": [0, "1"]} for vehicle in Prometheus.vehicles]
        body = json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main(program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        path, _ = accounts.key_file(directory)
        emulator = Emulator(program, "--service-account", path)
        tokens = subprocess.Popen([program, "token-server", "--service-account", path, "--fleet-reader", "--quiet"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            url = tokens.stdout.readline().split()[-1]
            token = accounts.ask(f"{url}/token/fleet_reader/all")["token"]
            # More than one page.
            vehicles = [f"truck-{number}" for number in range(105)]
            for vehicle in vehicles:
                update(emulator.client(vehicle), vehicle, ["last_location"])

            def run(reported, token=token):
                Prometheus.vehicles = reported
                return subprocess.run([PROGRAM, "--project", "interop", "--endpoint", emulator.url, "--prometheus",
                                       f"http://127.0.0.1:{server.server_port}"], input=token, capture_output=True, text=True, timeout=60)

            result = run(vehicles)
            assert (result.returncode, result.stdout) == (0, ""), result
            result = run([*vehicles[1:], "truck-new"])
            lines = result.stdout.splitlines()
            assert result.returncode == 1 and len(lines) == 2, result
            assert lines[0].startswith("no box reports truck-0; its last position at Fleet Engine: 20"), lines
            assert lines[1] == "Fleet Engine does not know truck-new, and a box reports it", lines
            assert 'provider="interop"' in Prometheus.query and "[1d]" in Prometheus.query, Prometheus.query
            result = run(vehicles, emulator.call("/token/delivery_driver/truck-1")["token"])
            assert result.returncode == 1 and "403" in result.stderr and not result.stdout, result
        finally:
            tokens.terminate()
            tokens.wait()
            assert emulator.stop() == 0
    print("fleet-vehicles: 105 vehicles in two pages, and what differs")


if __name__ == "__main__":
    main(sys.argv[1])
