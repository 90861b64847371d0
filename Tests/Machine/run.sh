#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that need a whole machine: run.sh BINDIR [TEST]..., by default all of tests/. A test is a program
# that boots the machine (machine.sh, library.sh), shuts it down, and exits with 0 if it passed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
MACHINE_BIN=$(cd "$1" && pwd)
export MACHINE_BIN
# Two runs at once have a machine each.
[ ! -w /run ] || export MACHINE_RUN="${MACHINE_RUN:-/run/fleet-machine-$$}"
export MACHINE_SSH_PORT="${MACHINE_SSH_PORT:-$((20000 + $$ % 10000))}"
shift
[ $# -gt 0 ] || set -- "$here"/tests/*.sh
"$here/machine.sh" create
for test in "$@"; do
  echo "${test##*/}"
  "$test"
done
