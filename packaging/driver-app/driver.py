#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A driver's app on a terminal, which docs/driver-app.md explains: driver.py [SOCKET]

It shows the vehicle's state and its cause, and says when the token is lost. The driver types "online" or "offline".
"""
import json
import socket
import sys
import threading
import time

if len(sys.argv) > 2 or sys.argv[1:] in (["-h"], ["--help"]):
    sys.exit(__doc__)
SOCKET = sys.argv[1] if len(sys.argv) > 1 else "/run/fleet-locationd/control.sock"


def call(method, more=False, **parameters):
    """The reply to a call; with `more` all following replies, until the daemon ends."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(5)
        daemon.connect(SOCKET)
        message = {"method": f"io.fleet-locationd.Control.{method}", "parameters": parameters, "more": more}
        daemon.sendall(json.dumps(message).encode() + b"\0")
        data = b""
        daemon.settimeout(None if more else 5)
        while chunk := daemon.recv(65536):
            *complete, data = (data + chunk).split(b"\0")
            yield from map(json.loads, complete)
    raise ConnectionError("the daemon has closed the connection")


class Screen:
    line, is_token_lost = None, False

    def say(self, line):
        if line != self.line:
            print(line, flush=True)
        self.line = line

    def show(self, state=None, event=None, **_):
        """Shows one reply of Monitor. Outcomes of updates are ignored, because the state says what follows from them."""
        if state:
            duty = f"duty {state['duty']}, at Fleet Engine {state.get('vehicleState', 'not known')}. " if "duty" in state else ""
            self.say(f"[{state['level']}, {state['cause']}] {duty}{state['summary']}")
            if state["cause"] == "noToken" and state["level"] == "bad":
                self.set_token_lost(True, "no position is sent")
        if event and event["name"] in ("tokenFailed", "tokenRefused", "tokenObtained"):
            # After tokenFailed the current token may be valid for some more minutes.
            self.set_token_lost(event["name"] != "tokenObtained", event["sentence"])

    def set_token_lost(self, is_lost, why):
        """Here an app would let the driver sign in again, and write the new token to the file that the daemon reads."""
        if is_lost != self.is_token_lost:
            self.say(f"{'TOKEN LOST' if is_lost else 'TOKEN BACK'}: {why}")
        self.is_token_lost = is_lost

    def check_token(self):
        """The token may have been lost while there was no connection, or be in use again, which is no event."""
        status = next(call("GetStatus")).get("parameters", {}).get("status")
        if status:
            is_refused = status.get("failure", {}).get("category") == "unauthenticated"
            why = status.get("tokenTrouble", "Fleet Engine rejects it" if is_refused else "the daemon reports no trouble with it")
            self.set_token_lost("tokenTrouble" in status or is_refused, why)

    def follow(self):
        while True:
            try:
                for number, reply in enumerate(call("Monitor", more=True)):
                    if "error" in reply:
                        raise ConnectionError(reply["parameters"].get("message", reply["error"]))
                    self.show(**reply["parameters"])
                    if number == 0 or self.is_token_lost:
                        self.check_token()
            except OSError as error:
                self.say(f"no daemon: {error}")
            time.sleep(1)


screen = Screen()
threading.Thread(target=screen.follow, daemon=True).start()
for word in filter(("online", "offline").__contains__, map(str.strip, sys.stdin)):
    try:
        reply = next(call("SetOnline", online=word == "online"))
        texts = reply.get("parameters", {})
        screen.say(f"{word}: {texts.get('message') or texts.get('remark') or reply.get('error', 'stored')}")
    except OSError as error:
        screen.say(f"{word}: {error}")
