#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What CI runs: two lanes of steps at once on two processors: one that computes, and one that mostly waits once the programs are built.
# Each step's output is printed in one piece when the step has ended; the first failure ends the run with the step's name.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
# Each lane is a process group of its own, so that a failure in one ends the other, with everything that it has started.
set -m
lanes=()
ticket=
finish() {
  local lane
  for lane in "${lanes[@]}" ${ticket:+"$ticket"}; do kill -TERM -- "-$lane" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

step() { # NAME COMMAND...
  local name=$1 log=$work/$BASHPID.log status=0 start=$SECONDS
  shift
  echo "-- $name: started"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  (
    flock 9
    printf '\n== %s\n' "$name"
    cat "$log"
    grep '^NOT RUN' "$log" >>"$work/not-run" || true
    if [ $status -eq 0 ]; then
      echo "== $name: passed in $((SECONDS - start)) s"
    else
      echo "== $name: FAILED with exit status $status after $((SECONDS - start)) s"
      [ -e "$work/failed" ] || echo "$name" >"$work/failed"
    fi
  ) 9>"$work/lock"
  return $status
}
# Compilers and fuzzers leave the processors to tests of real processes, which have time limits.
background() { nice -n 15 "$@"; }

compute() {
  step "tests" env EXPLORATION_DEPTH=5 scripts/run-tests.sh parallel
  step "tests with the address sanitizer" scripts/sanitize.sh
  step "fuzzing" background env SEED=1 scripts/fuzz.sh 10
}
# The programs are built once: each further build would make new links to them, while other steps run them.
packages() {
  step "packages" make --no-print-directory --old-file build deb
  # Without building the packages again.
  step "tests of the packages" make --no-print-directory --old-file deb package-test &
  local tests=$!
  step "packages under systemd" make --no-print-directory --old-file deb systemd-test
  wait "$tests"
}
wait_for() {
  step "unit" make --no-print-directory unit &
  local others=$!
  step "release build" background make --no-print-directory build QUIET=--quiet
  packages &
  others+=" $!"
  step "trials with real processes" make --no-print-directory --old-file build interop PART=trials &
  others+=" $!"
  step "receivers and gpsd" make --no-print-directory --old-file build interop PART=receivers &
  others+=" $!"
  step "independent programs" make --no-print-directory --old-file build interop PART=programs
  for job in $others; do wait "$job"; done
}
lane() { # FUNCTION
  ( trap - EXIT; "$1" ) &
  lanes+=($!)
}

failed() {
  echo "make check: FAILED: $(cat "$work/failed" 2>/dev/null || echo "a step could not start")" >&2
  exit 1
}
step "format, comments, links" make --no-print-directory lint || failed
step "debug build" swift build --quiet --build-tests || failed
step "module boundaries" make --no-print-directory arrows || failed
if [ "$(id -u)" -ne 0 ]; then
  # In a lane sudo could not ask for the password.
  sudo -n true 2>/dev/null || sudo -v
  ( trap - EXIT; while sleep 60; do sudo -n true; done ) &
  ticket=$!
fi
lane compute
lane wait_for
# The first lane that ends may have failed. The shell remembers its status for the second wait.
wait -n "${lanes[@]}" || failed
for lane in "${lanes[@]}"; do wait "$lane" || failed; done
step "tests of wall time" scripts/run-tests.sh timing || failed
[ ! -s "$work/not-run" ] || cat "$work/not-run"
echo "make check: passed in $SECONDS s"
