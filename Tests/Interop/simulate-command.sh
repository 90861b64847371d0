#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs `fleet-locationctl simulate`: goldens, conversion to sentences and back, pace and mistakes.
# Usage: simulate-command.sh [FLEET_LOCATIONCTL]
# After an intended change of drives, GOLDEN=write replaces the expected output with the actual one.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/Tests/Interop/simulate
ctl=${1:-$(cd "$root" && swift build --show-bin-path)/fleet-locationctl}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() { echo "failed: $*" >&2; exit 1; }
# expect STATUS TEXT ARGUMENT...: the command exits with the status, and its error output contains the text.
expect() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$ctl" simulate "$@" >/dev/null 2>"$dir/message" || status=$?
  [ "$status" -eq "$wanted" ] || fail "simulate $*: status $status, wanted $wanted: $(cat "$dir/message")"
  grep -qF -e "$text" "$dir/message" || fail "simulate $*: said: $(cat "$dir/message")"
}

drive=("$here/short.geojson" --speed "36 km/h" --noise "1.5 m" --seed 4 --start 2026-12-31T23:59:40Z --stop "Depot,5s"
  --tunnel "200 m,40 m" --canyon "260 m,40 m")
for format in jsonl nmea; do
  "$ctl" simulate "${drive[@]}" --format "$format" >"$dir/short.$format"
  if [ "${GOLDEN:-}" = write ]; then cp "$dir/short.$format" "$here/"; fi
  cmp "$dir/short.$format" "$here/short.$format" || fail "the $format golden differs"
done

# The same fixes after conversion to sentences and back, at the resolution of sentences.
"$ctl" simulate "$root/config/examples/demo.gpx" --start 2026-11-21T23:58:00Z >"$dir/demo.jsonl"
"$ctl" simulate "$root/config/examples/demo.gpx" --start 2026-11-21T23:58:00Z --format nmea | "$ctl" fixes - >"$dir/back.jsonl"
python3 - "$dir/demo.jsonl" "$dir/back.jsonl" <<'PYTHON'
import json, sys
sent, back = ([json.loads(line) for line in open(name)] for name in sys.argv[1:])
assert len(sent) == len(back) > 200, (len(sent), len(back))
resolution = dict(latitude=1e-7, longitude=2e-7, altitude=0.0061, speed=0.0011, heading=0.0061, hdop=0.0051,
                  horizontalAccuracy=0.011, verticalAccuracy=0.0061)
for left, right in zip(sent, back):
    for key in ("time", "mode", "quality", "satellites"):
        assert left[key] == right[key], (key, left, right)
    for key, most in resolution.items():
        assert abs(left[key] - right[key]) <= most, (key, left, right)
    assert set(left) - set(right) <= {"speedAccuracy", "headingAccuracy"} and set(right) <= set(left), (left, right)
PYTHON

# The demo's town: more than half a minute without satellites, three stops, and less than ten minutes.
"$ctl" simulate "$root/config/examples/town.gpx" --format nmea | grep RMC >"$dir/town"
seconds=$(wc -l <"$dir/town")
[ "$seconds" -gt 360 ] && [ "$seconds" -lt 600 ] || fail "the town takes $seconds s"
[ "$(grep -c ',V,' "$dir/town")" -gt 30 ] || fail "the town has no tunnel"
[ "$(awk -F, '$3 == "A" && $8 == 0' "$dir/town" | wc -l)" -ge 55 ] || fail "the town has no stops"

# Five seconds at twice the pace: the first fix at once, and two more seconds until the end.
keeps_pace() {
  local start
  start=$(date +%s%N)
  "$ctl" simulate "$root/config/examples/demo.gpx" --pace 2 --duration 5s --format nmea >"$dir/paced"
  took=$((($(date +%s%N) - start) / 1000000))
  [ "$(grep -c RMC "$dir/paced")" -eq 5 ] || fail "five seconds are five epochs"
  [ "$took" -ge 2000 ] || fail "five seconds at twice the pace took $took ms"
  [ "$took" -lt 6000 ]
}
keeps_pace || keeps_pace || keeps_pace || fail "five seconds at twice the pace took $took ms"

# The command ends silently when the pipe is closed, even with an endless drive.
"$ctl" simulate "$root/config/examples/demo.gpx" --loop 2>"$dir/message" | head -n 1 >"$dir/first"
[ "$(wc -l <"$dir/first")" -eq 1 ] && [ ! -s "$dir/message" ] || fail "closed pipe: $(cat "$dir/message")"

expect 64 "ROUTE is missing"
expect 64 "only one ROUTE is allowed" a b
expect 64 'unknown option "--sped"' a --sped 3
expect 64 "--speed wants a value" a --speed
expect 64 "--speed: \"50\" lacks its unit" a --speed 50
expect 64 "--format: \"csv\" is not a format; allowed: nmea, jsonl" a --format csv
expect 64 "--start: \"today\" is not a time" a --start today
expect 64 "--pace: \"nan\" is not a number" a --pace nan
expect 64 "--seed: \"-1\" is not a whole number" a --seed -1
expect 64 '--tunnel: "2 km" does not have the form "2 km,400 m"' a --tunnel "2 km"
expect 66 "does not exist" "$dir/missing.gpx"
echo '{"type":"Topology"}' >"$dir/bad.geojson"
expect 65 "has the type \"Topology\"" "$dir/bad.geojson"
expect 65 "the route has these: Depot" "$here/short.geojson" --stop "Harbour,5s"
expect 65 "is not on the route, which is 315 m long" "$here/short.geojson" --tunnel "2 km,5 m"
echo "simulate-command: all passed"
