#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A virtual serial port, created by socat from a router's NMEA stream: virtual-port.sh BINDIR. The daemon reads it again
# after either side has been restarted, stopped or killed, and after a silence.
set -euo pipefail

# A process with this capability can open a port despite another process's TIOCEXCL.
if [ "$(id -u)" -eq 0 ] && grep -q '^CapBnd:.*[2367abef].....$' /proc/self/status; then
  exec setpriv --bounding-set -sys_admin "$0" "$@"
fi

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/library.sh"
updates() { grep -c updateMask "$work/requests.jsonl" || true; }
has_updates() { [ "$(updates)" -ge "$1" ]; }
reports() { until_true 30 has_updates $(($(updates) + 2)) || fail "no positions after $1"; }

emulate
cat > "$work/settings.toml" <<END
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "serial"
device = "$work/gps0"
baud = 9600
silence_timeout = "3s"
[token]
url = "$url/token/delivery_driver/{vehicle_id}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "$url"
[reporting]
interval = "0s"
END

# One receiver for the whole test, with changing readers.
"$bin/fleet-locationctl" simulate "$here/../../config/examples/town.gpx" --loop --pace 1 --format nmea > "$work/drive.nmea" &
receiver=$!
start_port() {
  socat -u EXEC:"tail -n 0 -f $work/drive.nmea" "PTY,link=$work/gps0,rawer" &
  port=$!
  until_true 5 test -e "$work/gps0" || fail "socat has made no port"
}
start_daemon() {
  "$bin/fleet-locationd" --config "$work/settings.toml" 2>>"$work/daemon.log" &
  daemon=$!
}
stop() { # SIGNAL PID
  kill "-$1" "$2"
  wait "$2" 2>/dev/null || true
}
: > "$work/requests.jsonl"
start_port
start_daemon
reports "the start"
for round in $(seq 10); do
  # Alternately a normal exit and a crash.
  signal=$([ $((round % 2)) -eq 0 ] && echo TERM || echo KILL)
  stop "$signal" "$daemon"
  start_daemon
  reports "restart $round of the daemon, by SIG$signal"
done
for round in $(seq 10); do
  stop TERM "$port"
  start_port
  reports "restart $round of socat"
done
mark=$(wc -l < "$work/daemon.log")
kill -STOP "$receiver"
said 'is open but silent'
kill -CONT "$receiver"
reports "a silence"
! grep 'another program' "$work/daemon.log" || fail "the daemon was locked out"
stop TERM "$daemon"
echo "virtual port: read again after ten restarts of the daemon, ten of socat, and a silence"
