#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the hidden prompt of `fleet-locationctl setup` for the credential, and its output to a closed pipe:
setup_prompt.py BINDIR"""
import os, pty, select, subprocess, sys, termios, time

PROGRAM = os.path.join(os.path.abspath(sys.argv[1]), "fleet-locationctl")
COMMAND = [
    PROGRAM, "setup", "--dry-run", "--instance", "prompt-test", "--source", "/dev/ttyUSB0", "--service", "deliveries",
    "--provider", "p", "--vehicle", "v", "--token-url", "https://tokens.example.com/{vehicle_id}"]
failures = []


def check(what, condition, detail):
    if not condition:
        failures.append(what)
        print(f"FAILED: {what}\n{detail}", file=sys.stderr)


def answer(what, typed, status, expected):
    """Types something at the prompt, and checks the exit status and the output."""
    terminal, side = pty.openpty()
    before = termios.tcgetattr(side)
    process = subprocess.Popen(COMMAND, stdin=side, stdout=side, stderr=side, start_new_session=True)
    output = b""

    def read(seconds):
        nonlocal output
        if select.select([terminal], [], [], seconds)[0]:
            output += os.read(terminal, 65536)

    end = time.monotonic() + 30
    while termios.tcgetattr(side)[3] & termios.ECHO and process.poll() is None and time.monotonic() < end:
        read(0.05)
    while typed:
        typed = typed[os.write(terminal, typed):]
    while process.poll() is None and time.monotonic() < end:
        read(0.05)
    if process.poll() is None:
        process.kill()
    found = process.wait()
    read(0.2)
    text = output.decode(errors="replace")
    check(f"{what}: exit status {status}", found == status, f"{found}\n{text}")
    check(f"{what}: \"{expected}\"", expected in text, text)
    check(f"{what}: the credential is not shown", "hush" not in text, text)
    check(f"{what}: termios as before", termios.tcgetattr(side) == before, text)
    check(f"{what}: nothing is left for the shell", not select.select([side], [], [], 0.2)[0], text)
    os.close(terminal)
    os.close(side)


def credential(size):
    return b"Bearer hush".ljust(size, b"x") + b"\n"


answer("Ctrl-C needs no Enter", b"Bearer hu\x03", 64, "\nfleet-locationctl: setup: ended; nothing was changed")
answer("what is typed after Ctrl-C", b"\x03Bearer hush\n", 64, "ended; nothing was changed")
answer("the longest line", credential(4094), 0, "(secret)")
answer("a line that may be cut", credential(4095), 64, "--credential-file")
answer("a line that is cut", credential(6000), 64, "--credential-file")

reader, writer = os.pipe()
os.close(reader)
status = subprocess.run([*COMMAND, "--no-credential"], stdin=subprocess.DEVNULL, stdout=writer).returncode
check("a closed pipe does not end it", status == 0, status)
if failures:
    sys.exit(f"{len(failures)} failed")
print("the hidden prompt of setup: as it should be")
