#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `fleet-locationctl status` in a terminal emulator (pyte): status-screen.py BINDIR

A real daemon drives against the emulator while the screen is checked in 80x24, resized, in 40x12, in ASCII and without colour;
the daemon is stopped and restarted; and the terminal must be restored however the program ends.
"""
import fcntl, json, os, pty, re, select, signal, struct, subprocess, sys, tempfile, termios, time

import pyte

BIN = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
failures = []


def check(what, condition, detail=""):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{detail}", file=sys.stderr)


class BothScreens(pyte.Screen):
    """pyte has no alternate screen: a second screen replaces it, and modes are recorded."""

    def __init__(self, columns, rows):
        self.saved = None
        super().__init__(columns, rows)

    def set_mode(self, *modes, **kwargs):
        if kwargs.get("private") and 1049 in modes:
            self.saved = ([line for line in self.display], self.cursor.x, self.cursor.y)
            self.erase_in_display(2)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes, **kwargs):
        super().reset_mode(*modes, **kwargs)
        if kwargs.get("private") and 1049 in modes and self.saved:
            lines, x, y = self.saved
            self.saved = None
            self.erase_in_display(2)
            for row, line in enumerate(lines):
                self.cursor_position(row + 1, 1)
                for character in line.rstrip():
                    self.draw(character)
            self.cursor_position(y + 1, x + 1)


class Window:
    """A program in its own terminal."""

    def __init__(self, arguments, columns=80, rows=24, program=(f"{BIN}/fleet-locationctl",), **environment):
        self.screen = BothScreens(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.stream.feed(b"$ before\r\n")
        self.master, self.slave = pty.openpty()
        self.size(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG", "TERM")}
        variables.update({"TERM": "xterm-256color", "LANG": "C.UTF-8"}, **environment)

        def child():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            [*program, *arguments], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env=variables, preexec_fn=child)

    def size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self, seconds=0.05):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.master], [], [], left)[0]:
                return
            data = os.read(self.master, 65536)
            self.raw += data
            self.stream.feed(data)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, what, condition, seconds=30):
        end = time.monotonic() + seconds
        is_late = False
        while not is_late:
            # The last look is after the end, because this program, too, may have had to wait.
            is_late = time.monotonic() > end
            self.read()
            if condition(self.text):
                return True
        check(what, False, self.text)
        return False

    def press(self, keys):
        os.write(self.master, keys)

    def end(self, what, status):
        """Checks that the program exits in this way, and restores the terminal."""
        try:
            found = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            found = "did not end"
        self.read(0.2)
        check(f"{what}: exit status {status}", found == status, found)
        check(f"{what}: termios as before", termios.tcgetattr(self.slave) == self.before)
        check(f"{what}: the screen is back", self.text.startswith("$ before"), self.text)
        check(f"{what}: nothing of ours is left", "truck-17" not in self.text, self.text)
        check(f"{what}: the cursor shows", pyte.modes.DECTCEM in self.screen.mode)
        check(f"{what}: where it was", (self.screen.cursor.y, self.screen.cursor.x) == (1, 0))
        os.close(self.master)
        os.close(self.slave)


with tempfile.TemporaryDirectory() as work:
    socket = f"{work}/control.sock"
    emulator = subprocess.Popen(
        [f"{BIN}/fleet-engine-emulator", "--port", "0", "--ready-file", f"{work}/url"], stdout=subprocess.DEVNULL)
    daemon = None

    def start():
        global daemon
        daemon = subprocess.Popen(
            [f"{BIN}/fleet-locationd", "--config", f"{work}/settings.toml"], env={"RUNTIME_DIRECTORY": work},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop():
        daemon.terminate()
        daemon.wait(10)

    def ctl(*arguments):
        return subprocess.run(
            [f"{BIN}/fleet-locationctl", *arguments, "--socket", socket], capture_output=True, text=True)

    try:
        while not os.path.exists(f"{work}/url") or not os.path.getsize(f"{work}/url"):
            time.sleep(0.02)
        url = open(f"{work}/url").read().strip().rstrip("/")
        with open(f"{work}/settings.toml", "w") as settings:
            settings.write(f"""
[vehicle]
provider_id = "demo"
vehicle_id = "truck-17"
[source]
type = "simulated"
route = "{ROOT}/config/examples/demo.gpx"
[token]
url = "{url}/token/delivery_driver/{{vehicle_id}}"
[fleet_engine]
endpoint = "{url}"
[reporting]
interval = "1s"
""")
        watch = ["status", "--watch", "0.2", "--socket", socket]

        # Before and after the daemon is started.
        window = Window(watch)
        window.wait("without a daemon it says so", lambda t: "no daemon answers" in t and "systemctl status" in t)
        start()
        window.wait("the daemon comes", lambda t: t.startswith("truck-17  online"))
        window.wait("there is a track", lambda t: "Track, " in t and "@" in t)
        window.wait("80x24 has it all", lambda t: all(
            f"\n{name}" in t for name in
            ("State         online", "Last update   ", "Next update   ", "Last ", "Source        the simulated route",
             "Fix           3D, simulated", "Token         valid for", "Backlog       ", "Since start   ")))
        check("events are shown", "First fix: 3D" in window.text, window.text)
        check("in colour", b"\x1b[32monline" in window.raw)
        check("the keys are not shown", not termios.tcgetattr(window.slave)[3] & (termios.ECHO | termios.ICANON))
        check("the signals of keys stay", termios.tcgetattr(window.slave)[3] & termios.ISIG)
        check("no cursor", pyte.modes.DECTCEM not in window.screen.mode)
        check("only what changes is written", window.raw.count(b"\x1b[2J") <= 3, window.raw.count(b"\x1b[2J"))

        # After a resize the program redraws, and the terminal wraps no line.
        window.size(40, 12)
        window.raw = b""
        window.wait("40x12", lambda t: b"\x1b[2J" in window.raw and t.startswith("truck-17  online"))
        window.read(0.3)
        check("40x12 has the fix", "\nFix           3D" in window.text, window.text)
        check("40x12 has no sketch", "Track," not in window.text, window.text)
        check("40x12 is filled, and no more", "q quits" in window.text.split("\n")[0], window.text)
        window.size(100, 30)
        window.wait("larger again", lambda t: "Track, " in t and "q quits" in t.split("\n")[0])
        check("as wide as it is now", window.text.split("\n")[0].endswith("q quits") and len(
            window.text.split("\n")[0]) == 100, window.text)

        # A pause and its end.
        ctl("pause")
        window.wait("a pause shows", lambda t: t.startswith("truck-17  paused") and "after the pause" in t)
        check("no track in a pause", "Track," not in window.text, window.text)
        ctl("resume")
        window.wait("the pause is over", lambda t: t.startswith("truck-17  online"))

        # The daemon is stopped, and the last known state stays on the screen; then it is restarted.
        stop()
        window.wait("it is gone", lambda t: "no daemon answers" in t and "last response, " in t and "\nToken " in t)
        start()
        window.wait("it is back", lambda t: t.startswith("truck-17  online") and "no daemon" not in t)

        # The response of a hung daemon is waited for only as long as a key press may be delayed.
        daemon.send_signal(signal.SIGSTOP)
        window.wait("it hangs", lambda t: "does not answer" in t)
        daemon.send_signal(signal.SIGCONT)
        window.wait("it goes on", lambda t: t.startswith("truck-17  online"))

        # On Ctrl-Z, the program restores the terminal, and takes it over again.
        window.press(b"\x1a")
        # The kernel does not stop a session leader, because no process could continue it: the screen stays.
        shown = len(window.raw)
        window.wait("it goes on", lambda t: t.startswith("truck-17  online") and len(window.raw) > shown)
        window.press(b"q")
        window.end("q", 0)

        window = Window(watch)
        window.wait("it runs", lambda t: t.startswith("truck-17  online"))
        window.press(b"\x03")
        window.end("Ctrl-C", 0)

        # A shell's job is stopped by Ctrl-Z: the shell then has the terminal, and the job gets it back with fg.
        shell = Window([], program=["bash", "--norc", "--noprofile", "-i"], PS1="$ ")
        shell.wait("a prompt", lambda t: t.rstrip().endswith("$"))
        attributes = termios.tcgetattr(shell.slave)
        shell.press(f"{BIN}/fleet-locationctl {' '.join(watch)}\n".encode())
        shell.wait("it runs", lambda t: t.startswith("truck-17  online"))
        shell.press(b"\x1a")
        shell.wait("stopped", lambda t: t.startswith("$ before") and "Stopped" in t)
        check("Ctrl-Z: the cursor shows", pyte.modes.DECTCEM in shell.screen.mode)
        shell.press(b"echo $((40 + 2))\n")
        shell.wait("the shell has the terminal", lambda t: "\n42\n" in t)
        shell.press(b"fg\n")
        shell.wait("it goes on in front", lambda t: t.startswith("truck-17  online"))
        shell.press(b"q")
        shell.wait("back at the prompt", lambda t: t.startswith("$ before"))
        # The shell sets them once it has noticed the exit.
        shell.wait("after it all: termios as before", lambda _: termios.tcgetattr(shell.slave) == attributes)
        shell.press(b"exit\n")
        shell.process.wait(5)

        for name, number in (("SIGTERM", signal.SIGTERM), ("SIGHUP", signal.SIGHUP), ("SIGQUIT", signal.SIGQUIT)):
            window = Window(watch)
            window.wait("it runs", lambda t: t.startswith("truck-17  online"))
            window.process.send_signal(number)
            window.end(name, -number)

        # Terminals with fewer capabilities.
        window = Window(watch, LC_ALL="C", NO_COLOR="1")
        window.wait("in ASCII", lambda t: "+-" in t and "*" in t and "Track, " in t)
        check("nothing but ASCII", all(byte < 0x80 for byte in window.raw))
        check("no colour", not re.search(rb"\x1b\[[1-9][0-9;]*m", window.raw))
        window.press(b"q")
        window.end("ASCII", 0)

        once = Window(["status", "--socket", socket])
        once.wait("read once", lambda t: "State         online" in t and "Events" in t)
        check("read once, it fits", "Vehicle       truck-17" in once.text, once.text)
        check("in colour", b"\x1b[32m" in once.raw)
        once.process.wait()
        check("read once: no screen of its own", b"\x1b[?1049h" not in once.raw)
        dumb = Window([*watch], TERM="dumb")
        dumb.wait("a dumb terminal gets a block after the other", lambda _: dumb.raw.count(b"State         online") >= 2)
        check("without a single sequence", b"\x1b" not in dumb.raw)
        dumb.process.kill()
        dumb.process.wait()

        # Pipes.
        plain = ctl("status").stdout
        check("plain for other programs", "\x1b" not in plain and "\nState         online\n" in plain, plain)
        for arguments, read in ((["--json"], lambda line: json.loads(line)["vehicle"] == "truck-17"),
                                ([], lambda line: line[0].isdigit() and line.endswith("Z"))):
            stream = subprocess.Popen(
                [f"{BIN}/fleet-locationctl", *watch, *arguments], stdout=subprocess.PIPE, text=True)
            check("a line of a stream", read(stream.stdout.readline().strip()))
            stream.stdout.close()
            check("a stream ends when the reader closes the pipe", stream.wait(5) == 0)
        check("nonsense is refused", ctl("status", "--watch", "soon").returncode == 64)
    finally:
        if daemon:
            daemon.kill()
            daemon.wait()
        emulator.kill()
        emulator.wait()

if failures:
    sys.exit(f"{len(failures)} failed")
print("the status screen: as it should be, and every terminal is left as it was found")
