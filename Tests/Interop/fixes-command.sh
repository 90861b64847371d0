#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs `fleet-locationctl fixes`, and checks its output and exit status.
# Usage: fixes-command.sh [FLEET_LOCATIONCTL]
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
ctl=${1:-$(cd "$root" && swift build --show-bin-path)/fleet-locationctl}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# expect NAME STATUS TEXT ARGUMENT...: the command exits with the status, and its standard output or error contains the text.
expect() {
    name=$1 wanted=$2 text=$3
    shift 3
    "$ctl" "$@" >"$dir/out" 2>&1
    status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -qF -e "$text" "$dir/out"; then
        echo "failed: $name: status $status, wanted $wanted; printed:"
        cat "$dir/out"
        failures=$((failures + 1))
    fi
}

check() {
    if ! eval "$2"; then
        echo "failed: $1"
        failures=$((failures + 1))
    fi
}

printf '$GPGLL,4500.0,N,00100.0,E,083002,A,A*4E\r\n' >"$dir/one.nmea"
printf '$GPGLL,4500.0,N,00100.0,E,083002,V,N*56\r\n' >"$dir/void.nmea"
printf 'not a recording\n' >"$dir/text"
line='{"timeOfDay":"08:30:02.000","latitude":45,"longitude":1,"mode":2,"quality":"gnss","source":"replay"}'

expect "no command" 64 "the commands are:"
expect "unknown command" 64 'unknown command "bogus"' bogus
expect "unknown option" 64 'unknown option "--bogus"' --bogus
expect "unknown short option" 64 'unknown option "-x"' fixes -x
expect "help" 0 "Usage:" --help
expect "version" 0 "Licence Apache-2.0" --version
expect "help of the command" 0 "Usage: fleet-locationctl fixes FILE" fixes --help
expect "no file" 64 "FILE is missing" fixes
expect "two files" 64 "only one FILE is allowed" fixes a b
expect "missing file" 66 "no such file" fixes "$dir/missing"
expect "directory" 66 "is a directory" fixes "$dir"
expect "not a recording" 65 "no NMEA sentence" fixes "$dir/text"
expect "empty file" 65 "no NMEA sentence" fixes /dev/null
expect "no valid position" 0 "but none with a valid position" fixes "$dir/void.nmea"
expect "a recording" 0 "$line" fixes "$dir/one.nmea"
check "standard input" '[ "$("$ctl" fixes - <"$dir/one.nmea")" = "$line" ]'
if [ "$(id -u)" -ne 0 ]; then
    chmod 0 "$dir/text"
    expect "unreadable file" 77 "permission denied" fixes "$dir/text"
fi

mkfifo "$dir/fifo"
"$ctl" fixes "$dir/fifo" >"$dir/out" &
cat "$dir/one.nmea" "$dir/one.nmea" >"$dir/fifo"
wait $!
check "FIFO" '[ "$(head -n 1 "$dir/out")" = "$line" ]'

# The command ends silently when the pipe is closed: only one of many fixes is read.
(i=0; while [ $i -lt 20000 ]; do
    printf '$GPGLL,4500.0,N,00100.0,E,083002,A,A*4E\n$GPGLL,4500.0,N,00100.0,E,083003,A,A*4F\n'; i=$((i + 1))
done) >"$dir/long.nmea"
"$ctl" fixes "$dir/long.nmea" 2>"$dir/message" | head -n 1 >"$dir/out"
check "closed pipe" '[ "$(cat "$dir/out")" = "$line" ] && [ ! -s "$dir/message" ]'

[ "$failures" -eq 0 ] && echo "fixes-command: all passed"
[ "$failures" -eq 0 ]
