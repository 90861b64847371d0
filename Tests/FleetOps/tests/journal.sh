#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the journal of a fleet, of docs/fleet.md: the box uploads only the events of its daemon, over TLS with its certificate, and
# the central machine finds them by MESSAGE_ID. journal.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=systemd-journal-remote,haproxy
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet
# Different for each run: the boxes share the loopback of this machine.
outside=$((port + 2)) inner=$((port + 3)) pushes=$((port + 4))

id() { sed -nE "s/^\| $1 \|.*\`([0-9a-f]{32})\`.*/\1/p" "$repository/docs/journal.md"; }
# The number of entries of an event in the central journal. The last of each upload is sent again with the next
# (systemd 252).
events() {
  inside journalctl --directory=/var/log/journal/remote -o short-precise -q --no-pager MESSAGE_ID="$(id "$1")" 2>/dev/null |
    sort -u | grep -c . || true
}
upload() { inside systemctl start systemd-journal-upload; }
# Bytes of the last upload in both directions, with the IP headers.
carried() { echo $(($(inside systemctl show -P IPEgressBytes systemd-journal-upload) + $(inside systemctl show -P IPIngressBytes systemd-journal-upload))); }

for fleet in own other; do
  mkdir -m 700 "$work/$fleet"
  (cd "$work/$fleet" && "$recipes/enrolment/fleet-boxes" init metrics.example.com tokens.example.com && "$recipes/enrolment/fleet-boxes" add truck-17)
done

step "the central machine takes journals of boxes with a certificate of the fleet's"
use central
for file in central ca crl; do write /etc/fleet-metrics/$file.pem 600 < "$work/own/central/$file.pem"; done
sed "s/:19532/127.0.0.1:$outside/; s/:19533/:$inner/; s/bind :9443/bind 127.0.0.1:$pushes/" "$recipes/central-haproxy.cfg" |
  write /etc/haproxy/haproxy.cfg
write /etc/systemd/system/systemd-journal-remote.service.d/fleet.conf < "$recipes/journal/systemd-journal-remote.conf"
sed "s/19533/$inner/" "$recipes/journal/systemd-journal-remote.socket.conf" | write /etc/systemd/system/systemd-journal-remote.socket.d/fleet.conf
inside systemctl daemon-reload
inside systemctl enable -q --now systemd-journal-remote.socket
inside systemctl restart haproxy || fail "haproxy: $(inside journalctl -u haproxy -o cat --no-pager)"

step "the box: events of the daemon go to a journal of their own"
emulate
use box
inside systemctl disable -q --now haproxy
install_package fleet-locationd
write /etc/systemd/system/fleet-locationd.service.d/namespace.conf < "$recipes/journal/namespace.conf"
write /etc/systemd/journald@fleet.conf < "$recipes/journal/journald@fleet.conf"
sed "s/:19532/:$outside/" "$recipes/journal/systemd-journal-upload.conf" | write /etc/systemd/system/systemd-journal-upload.service.d/fleet.conf
write /etc/systemd/system/systemd-journal-upload.timer < "$recipes/journal/systemd-journal-upload.timer"
printf '[Service]\nIPAccounting=yes\n' | write /etc/systemd/system/systemd-journal-upload.service.d/test.conf
write /etc/fleet-metrics/box.pem 600 < "$work/other/boxes/truck-17/box.pem"
write /etc/fleet-metrics/ca.pem < "$work/own/central/ca.pem"
echo "127.0.0.1 metrics.example.com" | write /etc/hosts
settings '"truck-17"'
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
until_true 20 accepted truck-17 || fail "no update arrives"
inside journalctl --namespace=fleet -o cat MESSAGE_ID="$(id online)" | grep 'Online' >/dev/null || fail "its namespace has no event"
! inside journalctl -u fleet-locationd -o cat | grep 'Online: ' >/dev/null || fail "the main journal has its events all the same"
inside journalctl --namespace=+fleet -u fleet-locationd -o cat | grep 'Online: ' >/dev/null || fail "journalctl --namespace=+fleet -u does not show them"
inside systemctl status fleet-locationd --no-pager -n 20 | grep 'Online: ' >/dev/null || fail "systemctl status does not show them"
inside fleet-locationctl doctor >"$work/doctor" || fail "doctor: $(cat "$work/doctor")"
inside fleet-locationctl status | grep -i 'online' >/dev/null || fail "status"
inside fleet-locationctl report --output /root/report.tar.gz >"$work/report" || fail "report: $(cat "$work/report")"
inside tar -xzOf /root/report.tar.gz fleet-locationd-report/journal.txt | grep 'Online: ' >/dev/null || fail "the report has no events: $(cat "$work/report")"
inside rm /root/report.tar.gz

step "a stranger's certificate uploads nothing"
inside systemctl enable -q --now systemd-journal-upload.timer
! upload 2>/dev/null || fail "an upload with it is a success"
use central
[ "$(events online)" -eq 0 ] || fail "a stranger's events are there"
use box
write /etc/fleet-metrics/box.pem 600 < "$work/own/boxes/truck-17/box.pem"

step "the events of the box arrive, and nothing else of its journal"
upload || fail "upload"
use central
until_true 20 eval '[ "$(events started)" -eq 1 ]' || fail "$(events started) times started"
[ "$(events online)" -eq 1 ] || fail "$(events online) times online"
others=$(inside journalctl --directory=/var/log/journal/remote -o json --no-pager --output-fields=_SYSTEMD_UNIT,MESSAGE |
  grep -cvE '"_SYSTEMD_UNIT":"(fleet-locationd|systemd-journald@fleet).service"' || true)
[ "$others" -eq 0 ] || fail "$others entries of other units"

step "nothing new costs nothing"
use box
upload || fail "upload without anything new"
[ "$(inside systemctl show -P Result systemd-journal-upload)" = exec-condition ] || fail "it was not skipped"
[ "$(carried)" -eq 0 ] || fail "$(carried) bytes for nothing"

step "a driver's pauses: queries by MESSAGE_ID over all boxes, and bytes"
pauses() { for _ in $(seq "$1"); do inside fleet-locationctl pause >/dev/null; inside fleet-locationctl resume >/dev/null; done; }
pauses 1
upload
few=$(carried)
pauses 9
upload
each=$((($(carried) - few) / 16))
connection=$((few - 2 * each))
use central
[ "$(events pauseEnded)" -eq 10 ] || fail "$(events pauseEnded) of 10 ends of a pause"
inside journalctl --directory=/var/log/journal/remote --no-pager -o json --output-fields=MESSAGE,_HOSTNAME,FLEET_EVENT MESSAGE_ID="$(id online)" |
  grep '"_HOSTNAME":' | grep '"FLEET_EVENT":"online"' >/dev/null || fail "the fields are not there"

step "an outage of the central machine: what happened meanwhile follows"
inside systemctl stop systemd-journal-remote.socket systemd-journal-remote
use box
pauses 1
! upload 2>/dev/null || fail "an upload without systemd-journal-remote is a success"
use central
inside systemctl stop haproxy
use box
! upload 2>/dev/null || fail "an upload without a central machine is a success"
use central
inside systemctl start systemd-journal-remote.socket haproxy
use box
upload || fail "upload after the outage"
use central
[ "$(events pauseEnded)" -eq 11 ] || fail "$(events pauseEnded) of 11 ends of a pause"

step "the central machine begins another file when one is full, and deletes the oldest"
# On a small file system, journal files are small: 0.4 MB in place of 36 MB.
use central
inside systemctl stop systemd-journal-remote.socket systemd-journal-remote
inside mount -t tmpfs -o size=32M tmpfs /var/log/journal/remote
for file in fleet-journal-limit.service fleet-journal-limit.timer; do
  sed 's/--vacuum-size=24G/--vacuum-size=1M/' "$recipes/journal/$file" | write "/etc/systemd/system/$file"
done
inside systemctl daemon-reload
inside systemctl enable -q --now systemd-journal-remote.socket fleet-journal-limit.timer
# 10,000 events of boxes, the last one now, in the format of uploads.
awk -v now="$(date +%s)" -v id="$(id offline)" 'BEGIN {
  for (i = 1; i <= 10000; i++)
    printf "__REALTIME_TIMESTAMP=%d000000\n__MONOTONIC_TIMESTAMP=%d000000\n_BOOT_ID=%032d\n_HOSTNAME=truck-%d\n" \
      "MESSAGE_ID=%s\nMESSAGE=Offline: number %d\n\n", now - 10000 + i, i, 1, i % 50, id, i
}' >"$work/export"
curl -sf -H 'Content-Type: application/vnd.fdo.journal' --data-binary "@$work/export" "http://127.0.0.1:$inner/upload" >/dev/null || fail "10,000 events"
files() { inside sh -c 'ls /var/log/journal/remote/fleet*.journal | wc -l'; }
kilobytes() { inside du -sk /var/log/journal/remote | cut -f1; }
before="$(files) files, $(kilobytes) kB"
[ "$(files)" -ge 4 ] || fail "10,000 events are in $before"
[ "$(events offline)" -eq 10000 ] || fail "$(events offline) of 10,000 events are found in $before"
inside systemctl start fleet-journal-limit
[ "$(kilobytes)" -le 2048 ] || fail "$(kilobytes) kB are left of $before"
left=$(events offline)
[ "$left" -ge 500 ] && [ "$left" -lt 10000 ] || fail "$left events are left of $before"
inside journalctl --directory=/var/log/journal/remote -q -o cat | grep -x 'Offline: number 10000' >/dev/null || fail "the newest event is gone"
! inside journalctl --directory=/var/log/journal/remote -q -o cat | grep -x 'Offline: number 1' >/dev/null || fail "the oldest event is left"
echo "   10,000 events: $before; after fleet-journal-limit.service: $left events, $(kilobytes) kB"

lines=$(grep -c . "$repository/Tests/Simulation/diary.txt")
# Once in each of ten hours.
day=$((lines * each + 10 * connection))
echo "   an event: $each bytes both ways with TLS, TCP and IP; an upload's connection: $connection"
echo "   a shift of $lines events (Tests/Simulation/diary.txt) in 10 uploads: $((day / 1000)) kB"
# A tenth of the positions of ten hours (docs/performance.md: 52.6 MB in 22 days).
[ "$day" -le 239000 ] || fail "more than a tenth of the positions' bytes"
