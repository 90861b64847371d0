#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests packaging/fleet/first-hour against the emulator, with each assumption broken once: first_hour.py BINDIR

Between them are a TLS proxy with connection faults (here), HTTP/2 (nghttpx), and a server that adds what the emulator lacks (a project's
roles and the sensor's default) and breaks one assumption at a time. Each failure must be in its own row of the table, and in no other
except those that depend on it.
"""
import ast
import base64
import contextlib
import gzip
import http.client
import http.server
import json
import os
import pathlib
import re
import runpy
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from trial import QuietHandler, free_port

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAM = ROOT / "packaging/fleet/first-hour"
PROJECT, VEHICLE, ACCOUNT = "project-of-interop", "vehicle-of-interop", "driver@project-of-interop.iam.gserviceaccount.com"
KEY_ID = "0123456789abcdef0123456789abcdef01234567"


def check(is_so, what):
    if not is_so:
        raise AssertionError(what)


def error(status, code, message="Something about the request.", reason=None):
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return status, {"error": {"code": status, "status": code, "message": message, "details": details}}


class Request:
    """The requests that the program has sent."""

    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.raw = method, target, headers, body
        parts = urllib.parse.urlsplit(target)
        self.vehicle = parts.path.rpartition("/")[2]
        self.query = dict(urllib.parse.parse_qsl(parts.query))
        self.mask = self.query.get("updateMask")
        self.is_compressed = headers.get("Content-Encoding") == "gzip"
        self.update = json.loads(gzip.decompress(body) if self.is_compressed else body) if body else {}
        self.past = self.update.get("pastLocations", [])
        self.live = self.update.get("lastLocation", {})
        self.token = headers.get("Authorization", "").removeprefix("Bearer ")
        part = self.token.split(".")[1] if self.token else ""
        self.claims = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) if part else {}

    @property
    def claimed(self):
        return "".join(self.claims.get("authorization", {}).values())

    def is_older_than(self, seconds):
        earliest = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() - seconds))
        return any(past["supplementalLocationTime"] < earliest for past in self.past)


class Server(http.server.ThreadingHTTPServer):
    """Forwards requests to the emulator."""
    daemon_threads = True

    def __init__(self, emulator):
        super().__init__(("127.0.0.1", 0), Handler)
        self.emulator = emulator
        self.broken = lambda request: None
        self.requests = 0
        self.newest = ""
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(QuietHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        server = self.server
        server.requests += 1
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        request = Request(self.command, self.path, self.headers, body)
        request.newest = server.newest
        headers = {}
        answer = server.broken(request)
        if isinstance(answer, dict):
            headers, answer = answer, None
        if answer is None and set((request.mask or "").split(",")) - {"", "lastLocation", "pastLocations", "vehicleState"}:
            answer = error(403, "PERMISSION_DENIED", "Permission 'fleetengine.deliveryvehicles.update' denied on resource "
                           f"'projects/{PROJECT}' of 123456789012.", "IAM_PERMISSION_DENIED")
        status, content = answer or self.forward(request)
        server.newest = max(server.newest, request.live.get("supplementalLocationTime", ""))
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Date", headers.get("Date", self.date_time_string()))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PATCH = do_PUT = answer

    def forward(self, request):
        """The emulator's response; a position without a sensor is stored with the default, as the documentation of the API has it."""
        if "supplementalLocation" in request.live and getattr(request, "has_default", True):
            request.live.setdefault("supplementalLocationSensor", "CUSTOMER_SUPPLIED_LOCATION")
        headers = {name: value for name, value in request.headers.items()
                   if name.lower() in ("authorization", "content-type", "x-goog-fieldmask")}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.emulator, timeout=30)
        connection.request(request.method, request.target, json.dumps(request.update) if request.raw else None, headers)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, content


class TLSFront:
    """Terminates TLS, and forwards the bytes. Connections may be idle for `PATIENCE` seconds at most from when `is_impatient` says so."""
    PATIENCE = 3

    def __init__(self, certificates, target):
        self.certificates, self.target = certificates, target
        self.restore()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def restore(self, protocols=("h2", "http/1.1"), tickets=2):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificates / "good.crt", self.certificates / "good.key")
        context.set_alpn_protocols(list(protocols))
        context.num_tickets = tickets
        self.context, self.is_impatient = context, lambda: False

    def accept(self):
        while True:
            raw, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[raw, self.context, self.target, self.is_impatient], daemon=True).start()

    @staticmethod
    def serve(raw, context, target, is_impatient):
        # Closed in one place: a thread that still reads keeps a socket open.
        with contextlib.suppress(OSError), context.wrap_socket(raw, server_side=True) as outer, \
                socket.create_connection(("127.0.0.1", target)) as inner:
            def back():
                with contextlib.suppress(OSError):
                    while data := inner.recv(65536):
                        outer.sendall(data)
                        if is_impatient():
                            inner.settimeout(TLSFront.PATIENCE)
                with contextlib.suppress(OSError):
                    outer.shutdown(socket.SHUT_RDWR)
            threading.Thread(target=back, daemon=True).start()
            try:
                while data := outer.recv(65536):
                    inner.sendall(data)
            finally:
                inner.shutdown(socket.SHUT_RDWR)


def without_default(request):
    request.has_default = False


def hide(request):
    """The response contains the whole vehicle, whatever the response mask."""
    if request.method != "GET" and request.headers["X-Goog-FieldMask"] == "name":
        del request.headers["X-Goog-FieldMask"]


def with_name(request):
    if request.headers["X-Goog-FieldMask"] == "navigationStatus":
        request.headers.replace_header("X-Goog-FieldMask", "name")


def without_bad(request):
    request.update["pastLocations"] = [past for past in request.past if past["supplementalLocation"]["latitude"] < 90]


def without_position(request):
    if request.update.get("vehicleState") == "OFFLINE" and request.live:
        del request.update["lastLocation"]


ACCEPTED = (200, {"name": "x"})
BAD = error(400, "INVALID_ARGUMENT")
VAGUE = error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
HTTP2 = {"HTTP/2's table of headers", "a compact update", "resumption of TLS sessions", "an idle connection"}


def when(condition, answer):
    return lambda request: answer if condition(request) else None


def is_update(request):
    return request.method != "GET" and request.mask is not None


# The row, how its assumption is broken, and the rows that depend on that assumption.
BREAKS = [
    ("a plain update", hide, set()),
    ("the server's clock", lambda request: {"Date": "Thu, 01 Jan 2026 00:00:00 GMT"}, set()),
    ("a compressed body", when(lambda request: request.is_compressed, error(415, "INVALID_ARGUMENT")), {"a compact update"}),
    ("an empty response", with_name, set()),
    ("the default of the sensor", without_default, set()),
    ("the other fields for a position", when(lambda request: "location" in request.live, BAD), set()),
    ("the same position again", when(lambda request: "timeSinceUpdate" in request.live, BAD), set()),
    ("past positions", when(lambda request: request.past, error(403, "PERMISSION_DENIED")),
     {"a past position of seven days ago", "a batch of 100 past positions", "a batch of 1,000 past positions", "one bad past position"}),
    ("a past position of seven days ago", when(lambda request: request.is_older_than(86_400), BAD), set()),
    ("a batch of 100 past positions", when(lambda request: len(request.past) > 50, BAD), {"a batch of 1,000 past positions"}),
    ("a batch of 1,000 past positions", when(lambda request: len(request.past) > 500, (413, b"<html>Too large")), set()),
    ("one bad past position", without_bad, set()),
    ("a live position that is older than the last",
     when(lambda request: request.live.get("supplementalLocationTime", "9") < request.newest, ACCEPTED), set()),
    ("OFFLINE with a position", without_position, set()),
    ("OFFLINE without a position", when(lambda request: request.mask == "vehicleState", BAD), set()),
    ("an empty mask", when(lambda request: request.method != "GET" and request.mask is None, (200, {})),
     {"an empty mask and an expired token"}),
    ("an empty mask and an expired token",
     when(lambda request: request.method != "GET" and request.mask is None and request.claims["exp"] < time.time(),
          error(400, "INVALID_ARGUMENT", "update_mask cannot be empty")), set()),
    ("no token", when(lambda request: not request.token, (403, b"<html>Forbidden")), set()),
    ("an expired token", when(lambda request: is_update(request) and request.claims["exp"] < time.time(), VAGUE), set()),
    ("a token of the future", when(lambda request: request.claims.get("iat", 0) > time.time() + 60, ACCEPTED), set()),
    ("a token for two hours",
     when(lambda request: request.claims and request.claims["exp"] - request.claims["iat"] > 3600, ACCEPTED), set()),
    ("a token whose signature is wrong", lambda request: VAGUE if not request.is_signed else None, set()),
    ("a token for another audience", when(lambda request: "example.com" in request.claims.get("aud", ""), ACCEPTED), set()),
    ("a token without claims", when(lambda request: request.token and not request.claimed, VAGUE), set()),
    ("a token for another vehicle",
     when(lambda request: is_update(request) and request.claimed not in ("", VEHICLE), error(404, "NOT_FOUND")), set()),
    ("a vehicle that does not exist",
     when(lambda request: request.vehicle != VEHICLE, error(403, "PERMISSION_DENIED", "The vehicle is hidden.")), set()),
    ("a field that the role does not allow", when(lambda request: request.mask == "attributes", ACCEPTED), set()),
    ("a compact update",
     when(lambda request: request.is_compressed and "prettyPrint" in request.query
          and "supplementalLocationSensor" not in request.live, BAD), set()),
]


class Bench:
    def __init__(self, binaries, directory, stack):
        self.directory, self.stack = pathlib.Path(directory), stack
        subprocess.run([HERE / "tls-front.sh", "certificates", directory], check=True)
        self.key = self.directory / "account.json"
        pem = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                             check=True, capture_output=True, text=True).stdout
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            json.dump({"type": "service_account", "project_id": PROJECT, "client_email": ACCOUNT, "private_key_id": KEY_ID,
                       "private_key": pem}, file)
        emulator = subprocess.Popen(
            [f"{binaries}/fleet-engine-emulator", "--quiet", "--no-create", "--any-interval", "--service-account", self.key],
            stdout=subprocess.PIPE, text=True)
        stack.callback(emulator.wait)
        stack.callback(emulator.terminate)
        self.url = emulator.stdout.readline().split()[-1].rstrip("/")
        self.server = Server(urllib.parse.urlsplit(self.url).port)
        self.front = TLSFront(self.directory, self.nghttpx())

    def nghttpx(self, *options):
        port = free_port()
        process = subprocess.Popen(
            ["nghttpx", "--conf=/dev/null", f"--frontend=127.0.0.1,{port};no-tls", f"--backend=127.0.0.1,{self.server.server_port}",
             "--workers=1", "--accesslog-file=/dev/null", f"--errorlog-file={self.directory}/nghttpx.log", *options])
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                return port
            time.sleep(0.05)
        raise AssertionError("nghttpx does not start")

    def call(self, path, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.emulator)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} if token else {}
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        response = connection.getresponse()
        answer = json.load(response)
        check(response.status == 200, answer)
        return answer

    def create(self):
        token = self.call(f"/token/delivery_driver/{VEHICLE}")["token"]
        self.call(f"/v1/providers/{PROJECT}/deliveryVehicles?deliveryVehicleId={VEHICLE}", {"type": "AUTO"}, token)
        token = self.call(f"/token/driver/{VEHICLE}")["jwt"]
        self.call(f"/v1/providers/{PROJECT}/vehicles?vehicleId={VEHICLE}", {
            "vehicleState": "OFFLINE", "supportedTripTypes": ["EXCLUSIVE"], "maximumCapacity": 4, "vehicleType": {"category": "TAXI"},
        }, token)

    def run(self, service="deliveries", *options):
        """The exit status, what was printed, and the rows of the table by their title."""
        self.server.newest = ""
        result = subprocess.run(
            [PROGRAM, "--project", PROJECT, "--vehicle", VEHICLE, "--service-account", self.key, "--service", service, "--pace", "0",
             "--idle", "1", "--endpoint", f"https://localhost:{self.front.port}", "--ca-file", self.directory / "ca.crt", *options],
            capture_output=True, text=True, timeout=60)
        rows = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in result.stdout.splitlines() if line.startswith("| ")]
        return result.returncode, result.stdout + result.stderr, {row[0]: row for row in rows[2:]}

    def expect(self, title, others, *options):
        service = "trips" if title.startswith("OFFLINE") else "deliveries"
        status, text, rows = self.run(service, "--idle", "0", *options)
        found = {row[0] for row in rows.values() if row[3] == "NO"}
        check(status == 1 and found == {title} | others, f"{title} is broken, exit status {status}, and the table says {found}:\n{text}")
        print(f"broken: {title}: {rows[title][2]}", flush=True)


def is_signed():
    """Whether a token still has its original signature."""
    known = {}

    def judge(request):
        text, _, signature = request.token.rpartition(".")
        request.is_signed = known.setdefault(text, signature) == signature
    return judge


def forms():
    """The error formats that the program recognizes are those of the daemon."""
    known = (ROOT / "Sources/Core/FleetEngine/RejectionCause.swift").read_text()
    parts = [argument.value for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Call)
             and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("refused", "wrong_token")
             for argument in node.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
    parts = set(parts) - {"INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "mask"}
    check(len(parts) > 20, parts)
    for part in parts:
        check(json.dumps(part) in known, f"RejectionCause does not know {part!r}")


def silence():
    """A server that does not respond over HTTP/2 is a row of the table, and not the end of the program."""
    program = runpy.run_path(str(PROGRAM))
    program["HTTP2"].next = lambda connection, seconds: None
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            program["HTTP2"](ours).request([], b"")
        except program["Different"] as different:
            check("no response within 60 s" in str(different), different)
        else:
            check(False, "no response was accepted as one")


def main(binaries):
    forms()
    silence()
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as stack:
        bench = Bench(binaries, directory, stack)
        status, text, rows = bench.run()
        check(status == 3 and bench.server.requests == 1 and "does not exist" in text, f"no vehicle: {status}\n{text}")
        bench.create()
        bench.server.broken = lambda request: error(403, "PERMISSION_DENIED")
        status, text, rows = bench.run()
        check(status == 3 and bench.server.requests == 2 and "has no role" in text, f"no role: {status}\n{text}")
        bench.server.broken = lambda request: None
        requests = {}
        for service in ("deliveries", "trips"):
            before = bench.server.requests
            status, text, rows = bench.run(service)
            requests[service] = bench.server.requests - before
            check(status == 0 and {row[3] for row in rows.values()} == {"yes"}, f"{service}: {status}\n{text}")
            for name in (PROJECT, VEHICLE, ACCOUNT, KEY_ID, "eyJ", "123456789012"):
                check(name not in text, f"{name} is in what is printed:\n{text}")
            print(f"{service}: {len(rows)} assumptions, as expected", flush=True)
        check({title for title, _, _ in BREAKS} | HTTP2 | {"HTTP/2"} == set(rows), "a row is never broken, or does not exist")
        stats = bench.call("/debug/stats")["vehicles"]
        check(set(stats) == {VEHICLE, f"trips/{VEHICLE}"}, f"other vehicles were updated: {set(stats)}")
        for title, broken, others in BREAKS:
            judge = is_signed()
            bench.server.broken = lambda request, broken=broken, judge=judge: judge(request) or broken(request)
            bench.expect(title, others)
        bench.server.broken = lambda request: None

        bench.front.restore(protocols=["http/1.1"])
        bench.expect("HTTP/2", HTTP2)
        bench.front.restore(tickets=0)
        bench.expect("resumption of TLS sessions", set())
        bench.front.restore()
        last = bench.server.requests + requests["deliveries"]
        bench.front.is_impatient = lambda: bench.server.requests >= last
        bench.expect("an idle connection", set(), "--idle", "20")
        bench.front.restore()
        target, bench.front.target = bench.front.target, bench.nghttpx("--frontend-http2-decoder-dynamic-table-size=1024")
        bench.expect("HTTP/2's table of headers", set())
        bench.front.target = target

        bench.server.broken = when(lambda request: len(request.past) == 100, error(429, "RESOURCE_EXHAUSTED", "Quota exceeded."))
        before = bench.server.requests
        status, text, rows = bench.run()
        tried = [row for row in rows.values() if row[2] != "not tried"]
        check(status == 3 and tried[-1][0] == "a batch of 100 past positions" and len(tried) == 10 and len(rows) == 30, f"429: {status}\n{text}")
        check(bench.server.requests - before < 15, "requests after a 429")
        print("429: the run ends", flush=True)
        bench.key.chmod(0o640)
        status, text, _ = bench.run()
        check(status == 3 and "chmod 600" in text, f"a key that others can read: {status}\n{text}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
