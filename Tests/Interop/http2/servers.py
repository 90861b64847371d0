#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests Debian's HTTP/2 servers between the daemon and the emulator: servers.py BINDIR [--only NAME,NAME] [--updates N]

Their header tables, windows and GOAWAYs differ. A drive is replayed through each: every update must be accepted,
and the bytes on the connection must be those of HTTP/2 with an indexed token, which shows that our own transport was used.
"""
import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path.insert(0, os.path.join(TOP, "Benchmarks"))
from harness import Relay, free_port, run  # noqa: E402


class Emulator:
    """An emulator with the interface of the harness's server."""

    def __init__(self, programs):
        self.port = free_port()
        self.process = subprocess.Popen(
            [os.path.join(programs, "fleet-engine-emulator"), "--port", str(self.port)], stdout=subprocess.PIPE)
        self.lines = self.process.stdout.fileno()
        os.set_blocking(self.lines, False)
        await_port(self.port)

    def read(self, wait=0.0):
        import select
        select.select([self.lines], [], [], wait)
        try:
            return os.read(self.lines, 1 << 20).count(b" m/s ")
        except BlockingIOError:
            return 0


def await_port(port, process=None):
    import socket
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process and process.poll() is not None:
            break
        time.sleep(0.02)
    raise SystemExit(f"nothing listens on port {port}")


class Files:
    """The certificate, and a directory for a server's files."""

    def __init__(self, directory):
        self.directory = directory
        subprocess.run(
            [os.path.join(HERE, "..", "tls-front.sh"), "certificates", self.path("tls")], check=True)
        self.ca, self.certificate, self.key = (self.path(f"tls/{name}") for name in ("ca.crt", "good.crt", "good.key"))
        self.pem = self.write("both.pem", self.read(self.certificate) + self.read(self.key))

    def path(self, name):
        return os.path.join(self.directory, name)

    @staticmethod
    def read(path):
        with open(path, encoding="ascii") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)


def nghttpx(files, front, back, *options):
    return ["nghttpx", "--conf=/dev/null", "--single-process", "--workers=1", "--no-ocsp", "--log-level=ERROR",
            f"--frontend=127.0.0.1,{front}", f"--backend=127.0.0.1,{back}", *options, files.key, files.certificate]


def nginx(files, front, back, requests=1000):
    path = files.write("nginx.conf", f"""
daemon off; master_process off; pid {files.path("nginx.pid")}; error_log {files.path("nginx.log")};
events {{ }}
http {{
  access_log off; keepalive_requests {requests};
  client_body_temp_path {files.path("nginx-body")}; proxy_temp_path {files.path("nginx-proxy")};
  fastcgi_temp_path {files.path("nginx-1")}; uwsgi_temp_path {files.path("nginx-2")}; scgi_temp_path {files.path("nginx-3")};
  server {{
    listen 127.0.0.1:{front} ssl http2; ssl_certificate {files.certificate}; ssl_certificate_key {files.key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:one:1m;
    location / {{ proxy_pass http://127.0.0.1:{back}; proxy_set_header Host $http_host; }}
  }}
}}
""")
    return ["nginx", "-p", files.directory, "-c", path, "-e", files.path("nginx.log")]


def apache2(files, front, back):
    modules = ("mpm_event", "http2", "ssl", "proxy", "proxy_http", "authz_core", "socache_shmcb")
    load = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in modules)
    path = files.write("apache2.conf", f"""
{load}
ServerRoot {files.directory}
ServerName localhost
PidFile {files.path("apache2.pid")}
ErrorLog {files.path("apache2.log")}
Mutex file:{files.directory}
Listen 127.0.0.1:{front}
SSLSessionCache shmcb:{files.path("apache2-sessions")}(512000)
<VirtualHost 127.0.0.1:{front}>
  Protocols h2 http/1.1
  SSLEngine on
  SSLCertificateFile {files.certificate}
  SSLCertificateKeyFile {files.key}
  ProxyPreserveHost On
  ProxyPass / http://127.0.0.1:{back}/ nocanon
</VirtualHost>
""")
    return ["apache2", "-D", "FOREGROUND", "-f", path]


def haproxy(files, front, back):
    path = files.write("haproxy.cfg", f"""
global
  maxconn 100
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend front
  bind 127.0.0.1:{front} ssl crt {files.pem} alpn h2,http/1.1
  default_backend back
backend back
  server one 127.0.0.1:{back}
""")
    return ["haproxy", "-db", "-f", path]


def h2o(files, front, back):
    path = files.write("h2o.conf", f"""
listen:
  host: 127.0.0.1
  port: {front}
  ssl:
    certificate-file: {files.certificate}
    key-file: {files.key}
error-log: {files.path("h2o.log")}
hosts:
  default:
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:{back}/
        proxy.preserve-host: ON
""")
    return ["h2o", "-c", path]


def caddy(files, front, back):
    path = files.write("Caddyfile", f"""
{{
  admin off
  auto_https disable_redirects
}}
https://localhost:{front} {{
  tls {files.certificate} {files.key}
  reverse_proxy 127.0.0.1:{back}
}}
""")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", path]


def hypercorn(files, front, back):
    # This server runs Python programs; the program here is a proxy.
    files.write("passing.py", f"""
import http.client

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise NotImplementedError
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    link = http.client.HTTPConnection("127.0.0.1", {back})
    headers = {{name.decode(): value.decode() for name, value in scope["headers"]}}
    headers.pop("content-length", None)
    target = scope["raw_path"].decode().split("?")[0] + "?" + scope["query_string"].decode()
    link.request(scope["method"], target, body, headers)
    answer = link.getresponse()
    content = answer.read()
    await send({{"type": "http.response.start", "status": answer.status,
                "headers": [(b"content-type", answer.getheader("content-type", "").encode())]}})
    await send({{"type": "http.response.body", "body": content}})
    link.close()
""")
    return ["hypercorn", "--certfile", files.certificate, "--keyfile", files.key, "--bind", f"127.0.0.1:{front}",
            "--error-logfile", files.path("hypercorn.log"), "passing:app"]


# The server, its settings, and the maximum bytes of an update: with a table that is too small, the token is sent in full
# each time.
INDEXED, IN_FULL, WINDOWS = 450, 1400, 20_000
FRONTS = {
    "nghttpx": (nghttpx, [], INDEXED),
    "nghttpx, no table": (nghttpx, ["--frontend-http2-decoder-dynamic-table-size=0"], IN_FULL),
    "nghttpx, a table of 100": (nghttpx, ["--frontend-http2-decoder-dynamic-table-size=100"], IN_FULL),
    "nghttpx, a table of 900": (nghttpx, ["--frontend-http2-decoder-dynamic-table-size=900"], IN_FULL),
    "nghttpx, a table of 65536": (nghttpx, ["--frontend-http2-decoder-dynamic-table-size=65536"], INDEXED),
    "nghttpx, windows of 100": (nghttpx, ["--frontend-http2-window-size=100"], WINDOWS),
    "nghttpx, windows of 1": (nghttpx, ["--frontend-http2-window-size=1"], WINDOWS),
    "nginx": (nginx, [], INDEXED),
    "nginx, a GOAWAY each 50 requests": (nginx, [50], INDEXED + 100),
    "apache2": (apache2, [], INDEXED),
    "haproxy": (haproxy, [], INDEXED),
    "h2o": (h2o, [], INDEXED),
    "caddy": (caddy, [], INDEXED),
    "hypercorn": (hypercorn, [], INDEXED),
}


@contextlib.contextmanager
def serving(command, files, port, log):
    with open(log, "ab") as output:
        process = subprocess.Popen(command, cwd=files.directory, stdout=output, stderr=output)
    try:
        await_port(port, process)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def drive(name, programs, files, emulator, recording):
    make, options, most = FRONTS[name]
    port = free_port()
    command = make(files, port, emulator.port, *options)
    if not shutil.which(command[0]):
        raise SystemExit(f"{command[0]} is not installed; make h2-interop installs it")
    log = files.path("log")
    with serving(command, files, port, log):
        relay = Relay(port)
        settings = files.write("settings.toml", f"""
[vehicle]
provider_id = "interop"
vehicle_id = "truck-17"
[source]
type = "replay"
file = "{recording}"
pace = 0
time = "keep"
[token]
url = "http://127.0.0.1:{emulator.port}/token/delivery_driver/{{vehicle_id}}"
[fleet_engine]
endpoint = "https://localhost:{relay.port}"
ca_file = "{files.ca}"
[reporting]
interval = "0s"
[log]
level = "notice"
""")
        result = run(emulator, [os.path.join(programs, "fleet-locationd"), "--config", settings], log)
        time.sleep(0.1)
        bytes_sent = relay.counters()["sent"] / result["updates"]
        bytes_received = relay.counters()["received"] / result["updates"]
        connections = len(relay.finished) + len(relay.connections)
    print(f"{name:35} {result['updates']:5} updates  {connections:3} connections  {bytes_sent:7.0f} bytes sent"
          f"  {bytes_received:6.0f} received", flush=True)
    if bytes_sent > most:
        raise SystemExit(f"{name}: {bytes_sent:.0f} bytes of an update are more than {most}")
    return result["updates"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("--only", help="names, divided by semicolons")
    parser.add_argument("--updates", type=int, default=400)
    arguments = parser.parse_args()
    names = arguments.only.split(";") if arguments.only else list(FRONTS)
    programs = os.path.abspath(arguments.programs)
    with tempfile.TemporaryDirectory() as directory:
        # apache2 and nginx may run as another user.
        os.chmod(directory, 0o755)
        files = Files(directory)
        recording = files.path("drive.nmea")
        with open(recording, "wb") as output:
            subprocess.run([os.path.join(TOP, "Benchmarks", "recording.py"), str(arguments.updates)], stdout=output,
                           check=True)
        emulator = Emulator(programs)
        try:
            counts = {name: drive(name, programs, files, emulator, recording) for name in names}
        except SystemExit:
            with open(files.path("log"), encoding="utf-8", errors="replace") as log:
                print(log.read()[-3000:], file=sys.stderr)
            raise
        finally:
            emulator.process.terminate()
            emulator.process.wait()
    for name, count in counts.items():
        if count < arguments.updates:
            raise SystemExit(f"{name}: only {count} of {arguments.updates} updates were accepted")


main()
