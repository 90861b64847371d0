#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Turns the addresses of a crash report into names and source lines: crash-names.sh [FILE-OF-SYMBOLS] < REPORT
# The symbols are in the package fleet-locationd-dbgsym of the same release. Needs binutils; with `swift demangle` of the
# toolchain, Swift names are readable.
set -eu

report=$(cat)
symbols=${1:-}
if [ -z "$symbols" ]; then
  id=$(printf '%s\n' "$report" | sed -n 's/.*build ID \([0-9a-f]\{40\}\).*/\1/p' | head -n 1)
  [ -n "$id" ] || { echo "crash-names: no build ID in the report on standard input" >&2; exit 65; }
  symbols=/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-).debug
fi
[ -r "$symbols" ] || { echo "crash-names: no symbols at $symbols: install fleet-locationd-dbgsym of that release" >&2; exit 66; }
addr2line=${ADDR2LINE:-addr2line}
command -v "$addr2line" >/dev/null || { echo "crash-names: there is no $addr2line: install binutils" >&2; exit 69; }
places=$(printf '%s\n' "$report" | grep 'build ID' | tail -n 1 | grep -o '[^ ,;]*+0x[0-9a-f]*') ||
  { echo "crash-names: no address in the report on standard input" >&2; exit 65; }
demangle=cat
if command -v swift >/dev/null 2>&1; then demangle='swift demangle --simplified'; fi

names=$(printf '%s\n' "$places" | while read -r place; do
  case $place in
    fleet-locationd+*) printf '%s  ' "$place"; "$addr2line" -f -p -e "$symbols" "${place#*+}" ;;
    *) echo "$place" ;;
  esac
done)
printf '%s\n' "$names" | $demangle
