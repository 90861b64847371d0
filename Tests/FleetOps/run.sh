#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the recipes of docs/fleet.md: run.sh DIRECTORY-OF-PACKAGES [TEST...]
# Runs each tests/*.sh and tests/*.py, or those named without directory and ending, with the directory as the argument, as root.
# Exit status 0 if all passed. The output of a failed test is printed.
set -euo pipefail

[ "$(id -u)" -eq 0 ] || exec sudo SUITE="${SUITE:-}" "$0" "$@"
packages=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

failed=0
ran=0
for test in "$here"/tests/*.sh "$here"/tests/*.py; do
  [ -e "$test" ] || continue
  name=$(basename "${test%.*}")
  [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
  started=$SECONDS
  ran=$((ran + 1))
  if "$test" "$packages" >"$log" 2>&1; then
    grep '^==\|^   ' "$log" || true
    printf 'passed  %s (%s s)\n' "$name" $((SECONDS - started))
  else
    cat "$log" >&2
    printf 'FAILED  %s (%s s)\n' "$name" $((SECONDS - started))
    failed=1
  fi
done
[ $# -eq 0 ] || [ $ran -eq $# ] || { echo "of $* only $ran are tests" >&2; exit 64; }
exit $failed
