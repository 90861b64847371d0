#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lets daemons of both services drive over TLS and HTTP/2, with an outage on the way and a pause at the end. Google's own
# client libraries parse every request that they sent: daemon-by-google-client.sh BINDIR
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../.venv/bin/python
. "$here/library.sh"

emulate
"$here/tls-front.sh" certificates "$work/tls"
front=$(free_port)
"$here/tls-front.sh" serve "$work/tls" good "$front" "${url##*:}" >"$work/front.log" 2>&1 &
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$front") 2>/dev/null; }
until_true 10 listens || fail "the TLS server does not listen"

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

# Whether there are this many accepted requests of a service, with this in the query, in the record after line $before.
has_accepted() { # SERVICE WORDS COUNT
  [ "$(tail -n "+$((before + 1))" "$work/requests.jsonl" | grep -c "/$1/.*$2.*\"accepted\":true")" -ge "$3" ]
}
has_queued() { # SERVICE
  [[ $("$bin/fleet-locationctl" status --json --socket "$work/$1/control.sock") =~ \"count\":([2-9]|[0-9]{2}) ]]
}
is_offline() { curl -sSf "$url/debug/stats" | grep OFFLINE >/dev/null; }
is_online() { ! is_offline; }
drive() { # position field
  settings deliveries delivery_driver lmfs "$1"
  settings trips driver rides-stub "$1"
  local service before
  local -A daemons=()
  before=$(wc -l <"$work/requests.jsonl")
  for service in deliveries trips; do
    RUNTIME_DIRECTORY=$work/$service "$bin/fleet-locationd" --config "$work/$service/drive.toml" 2>"$work/$service.log" &
    daemons[$service]=$!
  done
  for service in vehicles deliveryVehicles; do
    until_true 20 has_accepted "$service" lastLocation 4 || fail "no updates of $service"
  done
  # Positions are queued, and delivered as pastLocations.
  curl -sSf -X POST "$url/debug/faults" -d '{"target": "update", "status": 503, "for_ms": 3600000}' >/dev/null
  for service in deliveries trips; do
    until_true 20 has_queued "$service" || fail "no positions of $service are queued"
  done
  curl -sSf -X DELETE "$url/debug/faults" >/dev/null
  for service in vehicles deliveryVehicles; do
    until_true 40 has_accepted "$service" pastLocations 1 || fail "no accepted request for $service carried pastLocations"
  done
  # Off duty, each position has the state OFFLINE; during a pause, there is only the state.
  "$bin/fleet-locationctl" offline --socket "$work/trips/control.sock" >/dev/null
  until_true 20 has_accepted vehicles 'lastLocation.*OFFLINE' 2 || fail "no positions off duty"
  "$bin/fleet-locationctl" online --socket "$work/trips/control.sock" >/dev/null
  until_true 20 is_online || fail "Fleet Engine has not accepted ONLINE"
  "$bin/fleet-locationctl" pause --socket "$work/trips/control.sock" >/dev/null
  until_true 10 is_offline || fail "Fleet Engine has not accepted OFFLINE"
  kill "${daemons[@]}"
  for service in "${!daemons[@]}"; do
    wait "${daemons[$service]}" || { cat "$work/$service.log" >&2; return 1; }
  done
}
drive supplemental
drive location

[ "$(grep -c '"encoded":"' "$work/requests.jsonl")" -ge 20 ] || fail "hardly any request was compressed"
[ "$(grep -c '"query":"updateMask=vehicleState","' "$work/requests.jsonl")" -ge 2 ] || fail "no request with OFFLINE alone"
"$python" "$here/google_client_judge.py" "$work/requests.jsonl"
