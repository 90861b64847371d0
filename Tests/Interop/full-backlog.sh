#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The largest backlog that the settings allow, with ten times as many positions in the file: full-backlog.sh BINDIR. The
# daemon reads the file, thins the backlog when new positions come, and sends it. Its peak memory is limited to two thirds of
# the unit's limit (MemoryMax=96M).
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/library.sh"
limit=65536 # kB

emulate
export STATE_DIRECTORY=$work/state RUNTIME_DIRECTORY=$work/run
mkdir "$STATE_DIRECTORY" "$RUNTIME_DIRECTORY"
cat > "$work/settings.toml" <<END
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "simulated"
route = "$here/../../config/examples/town.gpx"
[token]
url = "$url/token/delivery_driver/{vehicle_id}"
response = "lmfs"
[fleet_engine]
endpoint = "$url"
[reporting]
interval = "1s"
[backlog]
max_locations = 100000
max_size = "1 GB"
max_age = "30 days"
commit_interval = "1s"
END
start() {
  "$bin/fleet-locationd" --config "$work/settings.toml" 2>>"$work/daemon.log" &
  daemon=$!
}
stop() {
  kill -TERM "$daemon"
  wait "$daemon" || fail "the daemon ended with exit status $?"
}
# The exit status is 1 while no update is accepted.
status() { "$bin/fleet-locationctl" status --json --socket "$work/run/control.sock" 2>/dev/null || true; }
is_thinned() {
  status | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["backlog"].get("removed", {}).get("thinned", 0) < 10000)' 2>/dev/null
}
rows() { sqlite3 "$work/state/backlog.sqlite" 'SELECT count(*) FROM positions'; }
fault() { curl -sf "$url/debug/faults" -d "$1" >/dev/null || fail "the emulator refuses a fault"; }
# This many positions, a second apart and each at a different place, the last one an hour ago.
fill() {
  sqlite3 "$work/state/backlog.sqlite" "DELETE FROM positions;
    INSERT OR IGNORE INTO vehicles (provider_id, vehicle_id) VALUES ('interop', 'truck');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
    INSERT INTO positions SELECT (SELECT key FROM vehicles), 1000 * (unixepoch() - 3600 - $1 + i),
      48 + 0.01 * sin(i / 7.0), 11 + 0.00001 * i, 519.5, 13.9, i % 360, 3.4, 5.1, 0.5, 2.0, 0 FROM n"
}

has_sent() { [ "$(grep -c pastLocations "$work/requests.jsonl")" -ge "$1" ]; }

start
until_true 30 test -s "$work/requests.jsonl" || fail "no update"
stop
for count in 100000 1000000; do
  fill "$count"
  fault '{"target": "update", "status": 503, "for_ms": 3600000}'
  start
  # The next position exceeds the limit: a fifth of the backlog is thinned.
  until_true 60 is_thinned || fail "not thinned: $(status)"
  curl -sf -X DELETE "$url/debug/faults" >/dev/null
  until_true 90 has_sent 20 || fail "no stored positions are sent"
  peak=$(awk '/^VmHWM/ { print $2 }' "/proc/$daemon/status")
  stop
  left=$(rows)
  echo "a file with $count positions: at most $((peak / 1024)) MB, $left positions left"
  # 80,000 after it was thinned by a fifth, without those that were sent.
  [ "$left" -lt 80000 ] || fail "$left positions are left, although some were sent"
  [ "$peak" -lt $limit ] || fail "$peak kB of memory, more than $limit"
  : > "$work/requests.jsonl"
done
