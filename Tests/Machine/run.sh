#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that take a whole machine: run.sh BINDIR [TEST]..., all of tests/ when none is named. A test is a program
# that boots the machine (machine.sh, library.sh), shuts it down, and exits 0 when all was well.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
MACHINE_BIN=$(cd "$1" && pwd)
export MACHINE_BIN
shift
[ $# -gt 0 ] || set -- "$here"/tests/*.sh
"$here/machine.sh" create
for test in "$@"; do
  echo "${test##*/}"
  "$test"
done
