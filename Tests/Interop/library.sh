# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the bash tests here, which set $bin to the directory of the programs.
#
#   $work            a directory that is removed at the end, when the test's processes are killed
#   emulate          starts the emulator; sets $url, and records requests in $work/requests.jsonl
#   said TEXT        waits until the daemon's log, $work/daemon.log, contains it in a line after the last match
#   fail TEXT        ends the test, and prints the last lines of the logs in $work
# and the functions of Tests/Support/library.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../Support/library.sh"
work=$(mktemp -d)
are_gone() { ! pgrep -P $$ >/dev/null; }
finish() {
  pkill -P $$ || true
  until_true 10 are_gone || pkill -KILL -P $$ || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
fail() {
  echo "failed: $1" >&2
  tail -n 30 "$work"/*.log >&2 || true
  exit 1
}
mark=0
said() {
  until_true 30 seen "$1" || fail "the daemon does not say: $1"
  mark=$(grep -n -- "$1" "$work/daemon.log" | awk -F: -v mark="$mark" '$1 > mark && !found { found = $1 } END { print found }')
}
seen() { tail -n +$((mark + 1)) "$work/daemon.log" | grep -- "$1" >/dev/null; }
emulate() {
  "$bin/fleet-engine-emulator" --port 0 --ready-file "$work/url" --record "$work/requests.jsonl" --quiet &
  until_true 10 test -s "$work/url" || fail "the emulator does not start"
  url=$(cat "$work/url")
  url=${url%/}
}
