# SPDX-License-Identifier: Apache-2.0
"""Debian's headless Chromium, controlled over two pipes by the DevTools protocol: no port, no driver, no library."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time


class BrowserError(Exception):
    pass


def _high(descriptor):
    """The same pipe under a descriptor number that is otherwise unused."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return copy


class Chromium:
    """One browser with one page. Errors of the page are collected: see `complaints` and `requests`."""

    def __init__(self, program="chromium-headless-shell"):
        path = shutil.which(program) or shutil.which("chromium")
        if path is None:
            raise BrowserError(f"{program} is missing: apt install {program}")
        self._folder = tempfile.mkdtemp(prefix="live-map-browser-")
        arguments = [
            path, "--headless", "--remote-debugging-pipe", f"--user-data-dir={self._folder}", "--disable-gpu",
            "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-extensions", "--disable-sync", "--disable-default-apps", "--force-color-profile=srgb",
            # A container's /dev/shm is 64 MB at most, and the page crashes when it is full.
            "--disable-dev-shm-usage", "about:blank",
        ]
        if os.geteuid() == 0:
            # Chromium refuses to run its sandbox as root. It loads only the emulator on this machine.
            arguments.insert(1, "--no-sandbox")
        to_browser, self._write = map(_high, os.pipe())
        self._read, from_browser = map(_high, os.pipe())

        def hand_over():
            # The browser reads from 3 and writes to 4.
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        self._process = subprocess.Popen(
            arguments, preexec_fn=hand_over, pass_fds=(3, 4), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self.session = None
        self.complaints = []
        self.requests = []
        # From a substring of the URL to a body in base64 that replaces the server's, once Fetch is enabled.
        self.answers = {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Security"):
            self.send(f"{domain}.enable")

    def close(self):
        try:
            self.session = None
            self.send("Browser.close", timeout=5)
            self._process.wait(5)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    # The protocol

    def send(self, method, timeout=20, **parameters):
        number = self._post(method, parameters)
        end = time.monotonic() + timeout
        while True:
            answer = self._next(end - time.monotonic())
            if answer is None:
                raise BrowserError(f"no response to {method} within {timeout} s")
            if answer.get("id") != number:
                continue
            if "error" in answer:
                raise BrowserError(f"{method}: {answer['error'].get('message')}")
            return answer.get("result", {})

    def _post(self, method, parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        return self._number

    def _next(self, timeout):
        """The next message, once its event is recorded; None at the timeout."""
        while b"\0" not in self._buffer:
            if timeout <= 0 or not select.select([self._read], [], [], timeout)[0]:
                return None
            data = os.read(self._read, 1 << 20)
            if not data:
                raise BrowserError(f"the browser has gone, exit status {self._process.poll()}")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(line)
        self._take(message.get("method"), message.get("params", {}))
        return message

    def _take(self, event, data):
        if event == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details.get("text"))
        elif event == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(each.get("value", "")) for each in data["args"]))
        elif event == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            entry = data["entry"]
            self.complaints.append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}".strip())
        elif event == "Network.requestWillBeSent":
            self.requests.append(data["request"]["url"])
        elif event == "Fetch.requestPaused":
            url = data["request"]["url"]
            body = next((body for part, body in self.answers.items() if part in url), None)
            if body is None:
                self._post("Fetch.continueRequest", {"requestId": data["requestId"]})
            else:
                self._post("Fetch.fulfillRequest", {
                    "requestId": data["requestId"], "responseCode": 200, "body": body,
                    "responseHeaders": [{"name": "Content-Type", "value": "text/event-stream"}]})

    def pause(self, seconds):
        """Lets the page run for a while, and records its events."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._next(left)

    # The page

    def open(self, url, width=1440, height=900, dark=False, still=False, touch=False):
        self.resize(width, height, touch)
        self.prefer(dark, still)
        self.send("Page.navigate", url=url)
        self.until("document.readyState === 'complete'", "the page is loaded")

    def resize(self, width, height, touch=False, scale=1):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        self.send("Emulation.setTouchEmulationEnabled", enabled=touch)

    def prefer(self, dark=False, still=False):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])

    def run(self, script):
        """The value of an expression; a promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def until(self, condition, what, timeout=20):
        """Waits for a JavaScript condition. Returns its value."""
        end = time.monotonic() + timeout
        while True:
            # The last look is after the end, because this program, too, may have had to wait.
            is_late = time.monotonic() > end
            value = self.run(condition)
            if value:
                return value
            if is_late:
                raise BrowserError(f"not within {timeout} s: {what} ({condition})")
            self.pause(0.1)

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.textContent.trim()")

    def click(self, selector):
        """Clicks the centre of an element like a user: an element on top of it gets the click instead."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest'}});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind, buttons in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 0)):
            self.send("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left" if kind != "mouseMoved"
                      else "none", buttons=buttons, clickCount=1)

    def key(self, key, shift=False):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowRight": 39}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        fields = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "modifiers": 8 if shift else 0}
        self.send("Input.dispatchKeyEvent", type="keyDown", **fields, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", **fields)

    def picture(self, path):
        data = self.send("Page.captureScreenshot", format="png", timeout=30)["data"]
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
