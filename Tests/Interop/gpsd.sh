#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real gpsd between a receiver and the daemon: gpsd.sh BINDIR. A recording gives the same fixes through gpsd as with
# the daemon's own decoder, and the daemon reconnects to a gpsd that was killed during a drive and restarted.
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
drive=$here/gpsd_drive.py
. "$here/library.sh"
# gpsd drops root before it opens files in here.
chmod 755 "$work"
gpsd=$(command -v gpsd || echo /usr/sbin/gpsd)

emulate
port=$(free_port)
cat > "$work/gpsd.toml" <<END
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "gpsd"
address = "localhost:$port"
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
"$bin/fleet-locationd" --config "$work/gpsd.toml" 2>"$work/daemon.log" &
daemon=$!
until_true 10 grep -q 'check that gpsd runs there' "$work/daemon.log" || fail "a gpsd that does not run is not reported"

# The recording through gpsd, sentence by sentence, so that each epoch takes half a second.
"$drive" record 50 > "$work/drive.nmea"
"$bin/fleet-locationctl" fixes "$work/drive.nmea" > "$work/fixes.jsonl"
compares() { "$drive" compare "$work/fixes.jsonl" "$work/requests.jsonl" 20 >"$work/compared" 2>&1; }
# After SIGTERM it stops its gpsd and then hangs, so timeout kills it.
timeout --kill-after=1 120 gpsfake -1 -q -c 0.1666 -P "$port" "$work/drive.nmea" >"$work/gpsfake.log" 2>&1 &
player=$!
until_true 60 compares || fail "gpsd and the decoder differ: $(cat "$work/compared")"
mark=$(wc -l < "$work/daemon.log")
# gpsfake does not end while another client is connected; the daemon must detect the silence after the drive.
said 'Source unavailable: gpsd at .* for 3 s'
kill "$player"
wait "$player" || true
"$drive" compare "$work/fixes.jsonl" "$work/requests.jsonl" 20 || fail "gpsd and the decoder differ"

# A receiver on a gpsd that is killed.
"$drive" feed "$work/receiver" 240 &
until_true 5 test -e "$work/receiver" || fail "the receiver does not start"
sent() { wc -l < "$work/requests.jsonl"; }
has_sent() { [ "$(sent)" -ge "$1" ]; }
start_gpsd() {
  "$gpsd" -N -n -S "$port" "$work/receiver" >"$work/gpsd.log" 2>&1 &
  server=$!
}
start_gpsd
until_true 40 has_sent $(($(sent) + 4)) || fail "no positions from gpsd"
mark=$(wc -l < "$work/daemon.log")
kill -KILL "$server"
wait "$server" 2>/dev/null || true
said 'closed by the other side'
before=$(sent)
sleep 2
start_gpsd
until_true 40 has_sent $((before + 4)) || fail "the daemon does not come back to gpsd"
kill "$daemon"
wait "$daemon" || fail "the daemon does not end well"
echo "gpsd: killed and started again, the daemon came back by itself"
