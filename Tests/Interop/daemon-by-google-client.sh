#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lets daemons of both services drive over TLS and HTTP/2, with an outage on the way and a pause at the end, and Google's own
# client libraries read every request that they sent: daemon-by-google-client.sh BINDIR
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../.venv/bin/python
work=$(mktemp -d)
children=()
finish() {
  [ ${#children[@]} -eq 0 ] || kill "${children[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

"$bin/fleet-engine-emulator" --port 0 --ready-file "$work/url" --record "$work/requests.jsonl" --quiet &
children+=($!)
for _ in $(seq 100); do [ -s "$work/url" ] && break; sleep 0.05; done
url=$(cat "$work/url")
"$here/tls-front.sh" certificates "$work/tls"
front=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$here/tls-front.sh" serve "$work/tls" good "$front" "${url##*:}" >"$work/front.log" 2>&1 &
children+=($!)
for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$front") 2>/dev/null && break; sleep 0.05; done

settings() { # service, path of its tokens, their form, position field
  mkdir -p "$work/$1"
  cat > "$work/$1/drive.toml" <<END
[vehicle]
provider_id = "interop"
vehicle_id = "Lkw 17"
service = "$1"
[source]
type = "simulated"
route = "$here/../../config/examples/demo.gpx"
[token]
url = "https://127.0.0.1:$front/token/$2/{vehicle_id}"
response = "$3"
ca_file = "$work/tls/ca.crt"
[fleet_engine]
endpoint = "https://127.0.0.1:$front"
ca_file = "$work/tls/ca.crt"
position_field = "$4"
[reporting]
interval = "0s"
END
}

drive() { # position field
  settings deliveries delivery_driver lmfs "$1"
  settings trips driver rides-stub "$1"
  local service
  local -A daemons=()
  for service in deliveries trips; do
    RUNTIME_DIRECTORY=$work/$service "$bin/fleet-locationd" --config "$work/$service/drive.toml" 2>"$work/$service/log" &
    daemons[$service]=$!
  done
  sleep 3
  # Positions are queued, and arrive as pastLocations.
  local before
  before=$(wc -l <"$work/requests.jsonl")
  curl -sSf -X POST "$url/debug/faults" -d '{"target": "update", "status": 503, "for_ms": 3000}' >/dev/null
  for service in vehicles deliveryVehicles; do
    for _ in $(seq 400); do
      tail -n "+$((before + 1))" "$work/requests.jsonl" | grep "/$service/.*pastLocations" >/dev/null && break
      sleep 0.1
    done
  done
  "$bin/fleet-locationctl" pause --socket "$work/trips/control.sock" >/dev/null
  for _ in $(seq 100); do curl -sSf "$url/debug/stats" | grep OFFLINE >/dev/null && break; sleep 0.05; done
  kill "${daemons[@]}"
  for service in "${!daemons[@]}"; do
    wait "${daemons[$service]}" || { cat "$work/$service/log" >&2; return 1; }
  done
}
drive supplemental
drive location

for service in vehicles deliveryVehicles; do
  grep -q "/$service/.*pastLocations" "$work/requests.jsonl" || { echo "no request for $service carried pastLocations" >&2; exit 1; }
done
[ "$(grep -c '"query":"updateMask=vehicleState","' "$work/requests.jsonl")" -ge 2 ] || { echo "no request with OFFLINE alone" >&2; exit 1; }
"$python" "$here/google_client_judge.py" "$work/requests.jsonl"
