#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command in its own terminal and answers its questions: dialog.py COMMAND... Each line of standard input is
a text to wait for, a tab, and the input to type; a "!" before the text waits until the terminal does not echo, too.
Prints the command's output; exit status: the command's, or 99 if a text did not appear within a minute."""
import os
import pty
import select
import sys
import termios
import time

answers = [line.rstrip("\n").split("\t") for line in sys.stdin]
child, terminal = pty.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
output = b""
seen = 0


def read(seconds):
    """Returns whether there may be more output."""
    global output
    if select.select([terminal], [], [], seconds)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        output += data
        return bool(data)
    return True


late = False
for text, answer in answers:
    end = time.monotonic() + 60
    hidden = text.startswith("!")
    text = text.removeprefix("!")
    while (at := output.find(text.encode(), seen)) < 0 or hidden and termios.tcgetattr(terminal)[3] & termios.ECHO:
        if time.monotonic() > end or not read(0.1 if at >= 0 else 1):
            late = True
            break
    if late:
        print(f"dialog.py: no \"{text}\"", file=sys.stderr)
        break
    seen = at + len(text.encode())
    # The question is complete.
    time.sleep(0.2)
    os.write(terminal, answer.encode() + b"\n")
end = time.monotonic() + (1 if late else 120)
while time.monotonic() < end and read(1):
    pass
os.close(terminal)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
sys.stdout.write(output.decode(errors="replace").replace("\r\n", "\n"))
sys.exit(99 if late else status)
