#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the copy of positions and events at a broker, of docs/fleet.md: complete after an outage, and under each box's own name.
# copy.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=mosquitto,mosquitto-clients
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet
# The box shares the loopback of this machine, and the broker is on the same box.
broker_port=$((port + 1))
mqtt() { # PROGRAM BOX [ARGUMENT...]
  inside timeout "${seconds:-10}" "$1" -h localhost -p $broker_port --cafile /root/ca.pem --cert "/root/$2.pem" --key "/root/$2.pem" -q 1 "${@:3}"
}
# The broker's messages for the subscriber, appended to $work/received.
collect() { seconds=4 mqtt mosquitto_sub backend -c -i backend -t 'fleet/#' -v >> "$work/received" || true; }
received() { collect; grep -q "$1" "$work/received"; }

step "a broker for boxes with a certificate of the fleet's CA"
mkdir -m 700 "$work/secrets"
(cd "$work/secrets" && "$recipes/enrolment/fleet-boxes" init localhost tokens.localhost && "$recipes/enrolment/fleet-boxes" add truck-17 backend)
use truck-17
echo '127.0.0.1 localhost' | write /etc/hosts
for file in ca crl central; do
  write /etc/mosquitto/certs/$file.pem 400 < "$work/secrets/central/$file.pem"
  inside chown mosquitto /etc/mosquitto/certs/$file.pem
done
sed "s/8883/$broker_port/" "$recipes/copy/mosquitto-fleet.conf" | write /etc/mosquitto/conf.d/fleet.conf
write /etc/mosquitto/fleet.acl < "$recipes/copy/fleet.acl"
inside systemctl restart mosquitto
write /root/ca.pem < "$work/secrets/central/ca.pem"
for name in truck-17 backend; do write /root/$name.pem 600 < "$work/secrets/boxes/$name/box.pem"; done
: > "$work/received"
collect

step "the box sends its positions and events"
emulate
install_package fleet-locationd
settings '"truck-17"'
printf '[positions]\nsocket = true\n' | write /etc/fleet-locationd/conf.d/positions.toml
inside systemctl start fleet-locationd || fail "start"
write /etc/fleet-metrics/ca.pem < "$work/secrets/central/ca.pem"
write /etc/fleet-metrics/box.pem 600 < "$work/secrets/boxes/truck-17/box.pem"
sed "s/metrics.example.com/localhost/; s/8883/$broker_port/; s/EVERY=10/EVERY=1/; s/VEHICLE=%H/VEHICLE=truck-17/; s/RestartSec=.*/RestartSec=2s/; s/sleep 60/sleep 5/" \
  "$recipes/copy/fleet-copy@.service" | write /etc/systemd/system/fleet-copy@.service
inside systemctl daemon-reload
inside systemctl start fleet-copy@positions fleet-copy@events
until_true 30 received '^fleet/truck-17/positions {"position":.*"latitude":' || fail "no position: $(cat "$work/received")"
until_true 30 received '^fleet/truck-17/events {"update":.*"accepted"' || fail "no update: $(cat "$work/received")"

step "after an outage of the broker nothing is missing, and all is in order"
inside timeout 30 fleet-locationctl monitor --positions --json > "$work/direct" &
background+=($!)
until_true 20 test -s "$work/direct" || fail "no position on the box"
inside systemctl stop mosquitto
sleep 12
inside systemctl start mosquitto
wait "${background[-1]}" || true
last=$(tail -n 1 "$work/direct")
until_true 30 received "$last" || fail "not arrived: $last"
grep -Fx "$(sed 's|^|fleet/truck-17/positions |' "$work/direct")" "$work/received" | sed 's|^[^ ]* ||' > "$work/copy"
diff "$work/direct" "$work/copy" || fail "the copy differs from what the box has"
echo "   $(wc -l < "$work/copy") positions, 12 s of them without a broker"

step "after a broker that ended without closing its connections, the copy goes on"
inside systemctl kill --signal KILL mosquitto
sleep 2
inside systemctl restart mosquitto
is_copied() { # a position from now on: the broker may have kept earlier ones
  last=$(inside timeout 3 fleet-locationctl monitor --positions --json | tail -n 1)
  [ -n "$last" ] && received "$last"
}
until_true 60 is_copied || fail "not arrived: $last"

step "a box writes under its own name alone, and nobody without a certificate"
mqtt mosquitto_pub truck-17 -t fleet/truck-18/positions -m other
mqtt mosquitto_pub truck-17 -t fleet/truck-17/positions -m own
until_true 20 received '^fleet/truck-17/positions own' || fail "its own topic"
! grep -q other "$work/received" || fail "the topic of another box"
! inside timeout 10 mosquitto_pub -h localhost -p $broker_port --cafile /root/ca.pem -t fleet/truck-17/positions -m none 2>/dev/null ||
  fail "without a certificate"

step "a broker that is away at the start is waited for"
inside systemctl stop mosquitto fleet-copy@events
inside systemctl start fleet-copy@events
sleep 3
: > "$work/received"
inside systemctl start mosquitto
until_true 30 received '^fleet/truck-17/events {"state":' || fail "no state: $(cat "$work/received")"
