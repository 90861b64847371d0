#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Drives a simulated vehicle against the local Fleet Engine and shows what arrives: demo.sh BINDIR [SECONDS]
# Until Ctrl-C, or for so many seconds; exits 0 only if updates were accepted.
set -euo pipefail

bin=$(cd "$1" && pwd)
seconds=${2:-}
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
emulator=''
daemon=''
clock=''

finish() {
  trap '' INT TERM
  # The daemon first: it sends what is due before it goes.
  if [ -n "$daemon" ]; then kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; daemon=''; fi
  [ -z "$clock" ] || kill "$clock" 2>/dev/null || true
  local code=0
  if [ -n "$emulator" ]; then
    kill "$emulator" 2>/dev/null || true
    wait "$emulator" 2>/dev/null || code=$?
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 0' INT TERM

# In their own sessions, so that Ctrl-C reaches this script alone and the order of ending is its own.
setsid "$bin/fleet-engine-emulator" --port 0 --ready-file "$work/url" --require-updates 1 &
emulator=$!
for _ in $(seq 100); do
  [ -s "$work/url" ] && break
  kill -0 "$emulator" 2>/dev/null || exit 1
  sleep 0.05
done
url=$(cat "$work/url")

cat > "$work/demo.toml" <<END
[vehicle]
provider_id = "demo-project"
vehicle_id = "truck-17"

[source]
type = "simulated"
route = "$top/config/examples/demo.gpx"
speed = "50 km/h"

[token]
url = "$url/token/delivery_driver/{vehicle_id}"
token_key = "token"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"

[fleet_engine]
endpoint = "$url"

[reporting]
interval = "5s"
END

setsid "$bin/fleet-locationd" --config "$work/demo.toml" &
daemon=$!
if [ -n "$seconds" ]; then until="For $seconds s"; else until="Until Ctrl-C"; fi
echo "$until a vehicle drives, and the local Fleet Engine shows each position that it accepts:"
sleep "${seconds:-infinity}" &
clock=$!
# Ends early when the daemon does.
wait -n "$daemon" "$clock"
