#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compatibility of tokens between programs: tokens.py BINDIR

The emulator's tokens are verified by PyJWT and by Google's auth library. Tokens signed by these two, with a service account's key
in the format of Google's console, are read by `fleet-locationctl token` and `doctor --token`; and their flaws are reported.
"""
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import exceptions
from google.auth import jwt as google_jwt

from trial import QuietHandler, free_port, until

AUDIENCE = "https://fleetengine.googleapis.com/"
VEHICLE = "truck-17"
ACCOUNT = "driver@interop.iam.gserviceaccount.com"
CREDENTIAL = "Bearer interop-box"


def service_account():
    """A key file in the console's format."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {
        "type": "service_account", "project_id": "interop", "private_key_id": "0123456789abcdef0123456789abcdef01234567",
        "private_key": pem.decode(), "client_email": ACCOUNT, "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }


class Provider(QuietHandler):
    """Returns the configured token."""

    token = ""
    expiration = 0
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        allowed = self.headers.get("Authorization") == CREDENTIAL
        answer = {"token": Provider.token, "expiration_timestamp_ms": Provider.expiration * 1000} if allowed else {}
        body = json.dumps(answer).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Trial:
    def __init__(self, binaries, directory, port):
        self.binaries = binaries
        self.program = os.path.join(binaries, "fleet-locationctl")
        self.settings = os.path.join(directory, "settings.toml")
        credential = os.path.join(directory, "credential")
        with os.fdopen(os.open(credential, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(CREDENTIAL)
        with open(self.settings, "w") as file:
            file.write(f"""
[vehicle]
provider_id = "interop"
vehicle_id = "{VEHICLE}"
[source]
type = "gpsd"
[token]
url = "http://127.0.0.1:{port}/token/delivery_driver/{{vehicle_id}}"
response = "lmfs"
headers = {{ Authorization = {{ file = "{credential}" }} }}
""")

    def run(self, *words):
        return subprocess.run(
            [self.program, *words, "--config", self.settings], capture_output=True, text=True, timeout=30)

    def offer(self, token, expiration):
        Provider.token = token.decode() if isinstance(token, bytes) else token
        Provider.expiration = expiration

    def accepts(self, name, token, expiration):
        self.offer(token, expiration)
        shown, doctor = self.run("token"), self.run("doctor", "--token")
        assert shown.returncode == 0, f"{name}: {shown.stdout}{shown.stderr}"
        assert shown.stdout.endswith("Problems\n  none\n"), f"{name}: {shown.stdout}"
        assert Provider.token not in shown.stdout and Provider.token.split(".")[2] not in shown.stdout, name
        assert doctor.returncode == 0 and " 0 warnings, 0 failed" in doctor.stdout, f"{name}: {doctor.stdout}"
        assert self.run("token", "--reveal").stdout.endswith(f"Token\n  {Provider.token}\n"), name
        print(f"taken: {name}")

    def refuses(self, name, words, token, expiration):
        self.offer(token, expiration)
        for run in (self.run("token"), self.run("doctor", "--token")):
            assert run.returncode == 1, f"{name}: {run.returncode} {run.stdout}{run.stderr}"
            assert words in run.stdout, f"{name}: {run.stdout}"
        print(f"reported: {name}: {words}")


def verify(binaries, directory):
    """Both libraries verify the emulator's tokens, and reject wrong ones."""
    ready = os.path.join(directory, "url")
    emulator = subprocess.Popen(
        [os.path.join(binaries, "fleet-engine-emulator"), "--port", "0", "--ready-file", ready, "--quiet"])
    try:
        until(30, "the emulator starts", lambda: os.path.exists(ready) and open(ready).read().endswith("\n"))
        url = open(ready).read().strip()

        def get(path, body=None):
            return urllib.request.urlopen(url + path, body, timeout=10).read()

        key = get("/debug/key")
        for path, name, claim in [
            ("delivery_driver", "token", "deliveryvehicleid"), ("driver", "jwt", "vehicleid"), ("consumer", "jwt", "tripid")
        ]:
            token = json.loads(get(f"/token/{path}/{VEHICLE}"))[name]
            claims = jwt.decode(
                token, key, algorithms=["RS256"], audience=AUDIENCE,
                options={"require": ["iss", "sub", "aud", "iat", "exp"], "strict_aud": True})
            assert claims["authorization"] == {claim: VEHICLE}, claims
            assert claims["exp"] - claims["iat"] == 3600, claims
            assert google_jwt.decode(token, certs=key, audience=AUDIENCE) == claims
            assert google_jwt.decode_header(token)["kid"], "no kid"
        print("the emulator's tokens are verified by PyJWT and by google-auth")
        for flaw in ["bad-signature", "expired", "wrong-audience"]:
            get("/debug/faults", json.dumps({"target": "token", "token": flaw}).encode())
            token = json.loads(get(f"/token/delivery_driver/{VEHICLE}"))["token"]
            for verifier, errors in [
                (lambda: jwt.decode(token, key, algorithms=["RS256"], audience=AUDIENCE), jwt.PyJWTError),
                (lambda: google_jwt.decode(token, certs=key, audience=AUDIENCE),
                 (ValueError, exceptions.GoogleAuthError)),
            ]:
                try:
                    verifier()
                except errors:
                    continue
                raise AssertionError(f"{flaw} was not refused")
        print("and those with a flaw are refused by both")
    finally:
        emulator.terminate()
        emulator.wait()


def backend_of_the_guide(trial, account, directory):
    """The backend in docs/token-provider.md works as described."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../docs/token-provider.md")) as page:
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read(), re.S | re.M)
    program = next(block for block in blocks if "class Backend" in block)
    work = os.path.join(directory, "backend")
    os.mkdir(work)
    for name, value in [("service-account.json", account), ("boxes.json", {VEHICLE: CREDENTIAL})]:
        with open(os.path.join(work, name), "w") as file:
            json.dump(value, file)
    port = free_port()
    assert "8701" in program
    backend = subprocess.Popen(
        [sys.executable, "-c", program.replace("8701", str(port))], cwd=work, stderr=subprocess.DEVNULL)
    try:
        with socket.socket() as probe:
            until(30, "the backend starts", lambda: probe.connect_ex(("127.0.0.1", port)) == 0)
        doctor = Trial(trial.binaries, work, port).run("doctor", "--token")
        assert doctor.returncode == 0 and " 0 warnings, 0 failed" in doctor.stdout, doctor.stdout
        assert "it rejects wrong credentials: HTTP 401" in doctor.stdout, doctor.stdout
    finally:
        backend.terminate()
        backend.wait()
    print("the backend of docs/token-provider.md is as it should be")


def main(binaries):
    account = service_account()
    now = int(time.time())
    claims = {
        "iss": ACCOUNT, "sub": ACCOUNT, "aud": AUDIENCE, "iat": now, "exp": now + 3600,
        "authorization": {"deliveryvehicleid": VEHICLE},
    }

    def sign(changes=None, without=(), key=account["private_key"], algorithm="RS256"):
        payload = {name: value for name, value in {**claims, **(changes or {})}.items() if name not in without}
        return jwt.encode(payload, key, algorithm=algorithm, headers={"kid": account["private_key_id"]})

    with tempfile.TemporaryDirectory() as directory:
        verify(binaries, directory)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        trial = Trial(binaries, directory, server.server_address[1])

        credentials = google_jwt.Credentials.from_service_account_info(
            account, audience=AUDIENCE, additional_claims={"authorization": {"deliveryvehicleid": VEHICLE}})
        credentials.refresh(None)
        trial.accepts(
            "google-auth's own credentials of a service account", credentials.token,
            int(google_jwt.decode(credentials.token, verify=False)["exp"]))
        trial.accepts("PyJWT", sign(), now + 3600)
        trial.accepts("PyJWT, with several audiences", sign({"aud": ["https://example.com/", AUDIENCE]}), now + 3600)

        trial.refuses("alg none", 'the algorithm is "none"', sign(key=None, algorithm="none"), now + 3600)
        trial.refuses(
            "HS256", 'the algorithm is "HS256", and Fleet Engine accepts only RS256',
            sign(key="a-secret-that-is-long-enough-for-SHA-256", algorithm="HS256"), now + 3600)
        trial.refuses(
            "a wrong audience", 'the audience (`aud`) is "https://example.com/"',
            sign({"aud": "https://example.com/"}), now + 3600)
        trial.refuses(
            "the audience without its slash", "with the slash at the end", sign({"aud": AUDIENCE[:-1]}), now + 3600)
        trial.refuses("expired", "it expired ", sign({"iat": now - 3700, "exp": now - 100}), now - 100)
        trial.refuses(
            "another vehicle", 'it is for vehicle "truck-18", and not for "truck-17"',
            sign({"authorization": {"deliveryvehicleid": "truck-18"}}), now + 3600)
        trial.refuses(
            "no authorization", "there is no `authorization` claim", sign(without=["authorization"]), now + 3600)
        trial.refuses(
            "more than an hour", "it lives for 3601 s", sign({"exp": now + 3601}), now + 3601)
        trial.refuses("no iat", "there is no time of issue", sign(without=["iat"]), now + 3600)
        server.shutdown()
        backend_of_the_guide(trial, account, directory)


if __name__ == "__main__":
    main(sys.argv[1])
