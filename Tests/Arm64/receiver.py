#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A receiver on a pseudo-terminal, with the symbolic link LINK: sends its standard input. receiver.py LINK"""
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
# Only the daemon may have the line open: of two readers, each would get only part of the data.
os.close(slave)
for line in sys.stdin.buffer:
    try:
        os.write(master, line)
    except BlockingIOError:
        # Like a real receiver, it does not wait for a reader.
        pass
