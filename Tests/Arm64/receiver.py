#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver on a pseudo terminal, linked to as LINK: tells what comes on standard input. receiver.py LINK"""
import os
import shutil
import sys
import tty

master, slave = os.openpty()
tty.setraw(slave)
shutil.chown(os.ttyname(slave), group="dialout")
os.chmod(os.ttyname(slave), 0o660)
os.set_blocking(master, False)
os.symlink(os.ttyname(slave), sys.argv[1])
# Nobody but the daemon has it open: two readers would take the bytes from each other.
os.close(slave)
for line in sys.stdin.buffer:
    try:
        os.write(master, line)
    except BlockingIOError:
        # Nobody reads: a receiver does not wait either.
        pass
