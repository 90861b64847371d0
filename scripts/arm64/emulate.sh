#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lets this machine's kernel run arm64 programs, with qemu-user, until the next boot. It must run as root.
set -euo pipefail

registered=/proc/sys/fs/binfmt_misc
mountpoint -q "$registered" || mount -t binfmt_misc binfmt_misc "$registered"
[ -e "$registered/qemu-aarch64" ] || update-binfmts --enable qemu-aarch64
