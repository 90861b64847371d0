#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that `swift build --build-tests` has built: run-tests.sh [all | parallel | timing | sanitized]
#
# Tests of real processes (Integration) and those that do input and output on the main thread mostly wait, and the test
# library runs only as many tests at once as there are processors. So they run in processes of their own, in parallel with all
# other tests. Suites of wall time (…TimingTests) run last, each in a process of its own: their tests mostly wait, too.
# `sanitized` runs what scripts/sanitize.sh has built. Prints a line for each process that passed, and the failed tests of each
# one that did not.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:-all}
export program=$PWD/.build/debug/fleet-locationdPackageTests.xctest
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
[ "$part" != sanitized ] || program=$PWD/.build/asan/debug/fleet-locationdPackageTests.xctest
[ -x "$program" ] || { echo "Nothing is built: swift build --build-tests" >&2; exit 1; }

run() { # NAME OPTION...
  local log=$work/$1.log status=0
  "$program" --testing-library swift-testing "${@:2}" >"$log" 2>&1 </dev/null || status=$?
  sed 's/\x1b\[[0-9;]*m//g' -i "$log"
  grep -E '^[^ ]+ (Test|Suite) ("([^"\\]|\\.)*"|[^" ]+) (was )?(skipped|cancelled)' "$log" | cut -d' ' -f2- >>"$work/skipped" || true
  if [ $status -eq 0 ]; then
    printf '%-32s %s\n' "$1" "$(grep -oE 'Test run with .*' "$log")"
  else
    { printf '%s FAILED with exit status %s\n' "$1" $status; grep -vE '^(◇|✔|↳ ///) ' "$log" || cat "$log"; } >"$log.failed"
    cat "$log.failed"
    return 1
  fi
}
export -f run

# Runs the tests whose names begin with this prefix, in one process.
unit() {
  local name=${1%[./]}
  run "${name#Integration.}" --filter "^$1" --skip TimingTests
}
timing() {
  local name=${1%/}
  run "${name##*.}" --no-parallel --filter "^$1"
}
export -f unit timing

waiting='HTTPClientTests|LocationDaemonTests|HelperProgramTests|DiagnosisTests|FleetEngineEmulatorTests'
longest='\.(SecrecyTests|FleetEngineMessageTests|DoctorCommandTests|FleetEngineFaultTests|SourcePriorityTests)/'
"$program" --testing-library swift-testing --list-tests >"$work/list"
expected=$(grep -vc 'TimingTests/' "$work/list")
failed=0
if [ "$part" != timing ]; then
  grep -oE "^(Integration\.[A-Za-z0-9]+/|($waiting)\.)" "$work/list" | grep -v 'TimingTests/$' | sort -ur >"$work/units"
  # Those that take longest begin first, so that none is left alone at the end.
  { grep -E "$longest" "$work/units" || true; grep -vE "$longest" "$work/units"; } |
    xargs -P "${TEST_PROCESSES:-6}" -I{} bash -c 'unit {}' &
  nice -n 5 bash -c "run others --skip '^(Integration|$waiting)\\.' --skip TimingTests" || failed=1
  wait %1 || failed=1
  # Without this check, a suite that no filter matches would be missed unnoticed.
  ran=$(cat "$work"/*.log | grep -oE 'Test run with [0-9]+' | awk '{sum += $4} END {print sum + 0}')
  [ $failed -ne 0 ] || [ "$ran" -eq "$expected" ] || { echo "$ran tests ran of $expected" >&2; failed=1; }
fi
if [ "$part" = all ] || [ "$part" = timing ]; then
  grep -oE '^[A-Za-z]+\.[A-Za-z]+TimingTests/' "$work/list" | sort -u | xargs -P 4 -I{} bash -c 'timing {}' || failed=1
fi
[ $failed -eq 0 ] || { echo "Tests failed; each is named above" >&2; exit 1; }
[ ! -s "$work/skipped" ] || sort -u "$work/skipped" | sed 's/^/NOT RUN: /'
[ "$part" = timing ] || echo "$ran tests passed$([ ! -s "$work/skipped" ] || echo ', but for those that were skipped')"
