#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the commands of docs/receivers.md for a u-blox that sends no NMEA, with the ubxtool of Debian's gpsd-clients on a
# pseudo-terminal that simulates one: ubxtool.sh BINDIR. Before the commands, the daemon names the protocol; after them,
# it has fixes.
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/library.sh"

# The commands in the page, for this receiver.
commands() { # PROTOCOL
  awk -v protver="-P $1" '/^## A u-blox/ { on = 1; next } /^## / { on = 0 } on && index($0, "ubxtool") && index($0, protver)' \
    "$here/../../docs/receivers.md" | sed "s|sudo ||; s|/dev/ttyACM0|$work/gps|"
}
shows() { grep -qx "$1" "$work/state"; }
start_receiver() {
  "$here/ublox_receiver.py" "$work/gps" "$work/state" --binary &
  receiver=$!
  until_true 5 test -s "$work/state" || fail "the receiver does not start"
}
doctor_says() { # WORDS
  "$bin/fleet-locationctl" doctor --config "$work/settings.toml" > "$work/doctor.txt" || true
  grep -q "$1" "$work/doctor.txt"
}
# ubxtool waits two seconds for the acknowledgements.
is_acknowledged() { # PROTOCOL
  eval "$(commands "$1")" > "$work/ubxtool.log"
  grep -q ACK-ACK "$work/ubxtool.log"
}
stop_receiver() {
  kill "$receiver"
  wait "$receiver" 2>/dev/null || true
  rm -f "$work/gps" "$work/state"
}

emulate
cat > "$work/settings.toml" <<END
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "serial"
device = "$work/gps"
baud = 9600
silence_timeout = "2s"
[token]
url = "$url/token/delivery_driver/{vehicle_id}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "$url"
END

for protocol in 18 27; do
  [ -n "$(commands $protocol)" ] || fail "docs/receivers.md has no command for protocol $protocol"
  start_receiver
  shows "nmea 0" || fail "the receiver sends NMEA already"
  until_true 15 doctor_says "it sends u-blox's binary protocol" || fail "doctor does not name the protocol"
  is_acknowledged $protocol || is_acknowledged $protocol || fail "nothing was acknowledged"
  for line in "nmea 1" "rate 1000" "model 4" "saved-nmea 1" "saved-rate 1000" "saved-model 4"; do
    until_true 10 shows "$line" || fail "protocol $protocol: not $line"
  done
  until_true 15 doctor_says "a fix" || fail "there is no fix after the commands"
  stop_receiver
done

# The daemon's message matches doctor's.
start_receiver
"$bin/fleet-locationd" --config "$work/settings.toml" 2> "$work/daemon.log" &
daemon=$!
said "sends u-blox's binary protocol and no NMEA sentence"
kill "$daemon"
wait "$daemon" || fail "the daemon does not end well"
echo "ubxtool: NMEA, rate and model are set and saved, and the receiver has a fix"
