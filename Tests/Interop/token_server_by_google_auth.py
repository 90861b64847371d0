# SPDX-License-Identifier: Apache-2.0
"""Verifies the tokens of `fleet-engine-emulator token-server` with Google's auth library: token_server_by_google_auth.py EMULATOR

A key file in the Google Cloud console's format is created for the run, with its own key.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt
from google.oauth2 import service_account

EMAIL = "driver@my-project.iam.gserviceaccount.com"
KEY_ID = "0123456789abcdef0123456789abcdef01234567"
AUDIENCE = "https://fleetengine.googleapis.com/"


def key_file(directory):
    """A key file, and the public key in PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    path = os.path.join(directory, "key.json")
    info = {
        "type": "service_account", "project_id": "my-project", "private_key_id": KEY_ID, "private_key": private,
        "client_email": EMAIL, "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token",
    }
    # Google's own reader accepts the same file.
    service_account.Credentials.from_service_account_info(info)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        json.dump(info, file, indent=2)
    return path, public


def ask(url, headers={}):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def main(emulator):
    with tempfile.TemporaryDirectory() as directory:
        path, public = key_file(directory)
        ready = os.path.join(directory, "ready")
        server = subprocess.Popen(
            [emulator, "token-server", "--service-account", path, "--ready-file", ready, "--vehicle-scope", "truck-*",
             "--authorization", "Bearer trial", "--seconds", "60"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().split()[-1]
            bearer = {"Authorization": "Bearer trial"}
            wanted = [
                ("delivery_driver/truck-17", "token", {"deliveryvehicleid": "truck-17"}),
                ("driver/truck-17", "jwt", {"vehicleid": "truck-17"}),
                ("delivery_consumer/parcel-1", "token", {"trackingid": "parcel-1"}),
                ("consumer/trip-1", "jwt", {"tripid": "trip-1"}),
            ]
            for target, key, rights in wanted:
                answer = ask(f"{url}/token/{target}", bearer)
                token = answer[key]
                claims = jwt.decode(token, certs={KEY_ID: public}, audience=AUDIENCE)
                assert claims["iss"] == claims["sub"] == EMAIL, claims
                assert claims["authorization"] == rights, claims
                assert claims["exp"] - claims["iat"] == 3600, claims
                assert jwt.decode_header(token) == {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
                # The same claims signed by Google's code: RSASSA-PKCS1-v1_5 is deterministic, so every byte is equal.
                message, signature = token.rsplit(".", 1)
                google = crypt.RSASigner.from_service_account_file(path).sign(message.encode())
                assert signature == jwt._helpers.unpadded_urlsafe_b64encode(google).decode()
            for target, headers, status in [
                ("delivery_driver/truck-17", {}, 401), ("delivery_driver/van-1", bearer, 403),
                ("fleet_reader/truck-17", bearer, 403), ("delivery_driver/*", bearer, 400), ("nobody/x", bearer, 404),
            ]:
                try:
                    ask(f"{url}/token/{target}", headers)
                    raise AssertionError(f"{target} was given a token")
                except urllib.error.HTTPError as error:
                    assert error.code == status, (target, error.code)
        finally:
            server.terminate()
            output, errors = server.communicate()
        assert "REAL tokens" in errors and EMAIL in errors, errors
        assert token not in output + errors and "PRIVATE" not in output + errors
    print("Google's auth library verifies the tokens of token-server")


if __name__ == "__main__":
    main(sys.argv[1])
