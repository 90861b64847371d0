#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests Provisioning, of docs/fleet.md: cloud-init's user-data and the Ansible playbook each set up a box whose vehicle is online at the
# emulator, with its own credential, encrypted by systemd, and which pushes metrics and events.
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=unattended-upgrades,gpgv,curl,ca-certificates,cloud-init,ansible-core,python3-apt,victoria-metrics,haproxy,systemd-journal-remote
export CONTAINER_BOOT_SECONDS=120
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet
web=$((port + 1))
boxes() { (cd "$work/secrets" && "$recipes/enrolment/fleet-boxes" "$@"); }
mkdir -m 700 "$work/secrets"
boxes init metrics.example.com tokens.example.com
boxes add truck-17 truck-18
secret=$(cat "$work/secrets/boxes/truck-17/token-provider")

# Host names of the example that have another address here.
here() { sed -e "s|https://packages.example.com|http://127.0.0.1:$web|" -e "s|https://tokens.example.com|http://127.0.0.1:$port|"; }
# In place of a receiver and of Google.
trial() {
  write /etc/fleet-locationd/conf.d/trial.toml <<END
[source]
type = "simulated"
route = "/usr/share/doc/fleet-locationd/examples/demo.gpx"
[fleet_engine]
endpoint = "http://127.0.0.1:$port"
END
}
has_metrics() { inside curl -s http://127.0.0.1:9101/metrics | grep "fleet_locationd_online{.*vehicle=\"$1\".*} 1" >/dev/null; }
is_healthy() { inside fleet-locationctl status --healthy >"$work/health"; }
# The box delivers with the credential, which is not stored in plain text anywhere.
check_box() { # VEHICLE
  until_true 60 accepted "$1" || fail "no update of $1 arrives: $(inside systemctl show -P StatusText fleet-locationd)"
  # The service may just have been restarted.
  until_true 20 is_healthy || fail "$(cat "$work/health")"
  for command in 'fleet-locationd --check' 'fleet-locationctl token' 'fleet-locationctl doctor'; do
    inside $command >"$work/answer" 2>&1 || fail "$command: $(cat "$work/answer")"
    ! grep -q 'has changed since' "$work/answer" || fail "$command: $(cat "$work/answer")"
  done
  inside systemctl reload fleet-locationd || fail "reload with an encrypted credential"
  local plain
  plain=$(inside grep -rlF "${secret#Bearer }" /etc /var /root /tmp 2>/dev/null || true)
  [ -z "$plain" ] || fail "the credential is there in plain text: $plain"
  for unit in fleet-locationd-rollback.timer haproxy fleet-metrics.socket fleet-metrics-push fleet-metrics-off fleet-metrics-resolv.timer systemd-journal-upload.timer; do
    inside systemctl is-active -q $unit || fail "$unit is not active: $(inside systemctl status $unit --no-pager -n 5)"
  done
  until_true 20 has_metrics "$1" || fail "the box has no metrics to push"
  inside journalctl --namespace=fleet -o cat -u fleet-locationd | grep 'Online' >/dev/null || fail "no events to upload"
  inside apt-config dump | grep 'Phase-Policy "true"' >/dev/null || fail "no rollout in stages"
}

step "cloud-init: the user-data is valid"
use truck-17
boxes user-data truck-17 "$recipes/cloud-init/user-data.yaml" > "$work/user-data"
container push "$work/user-data" /root/user-data.yaml
inside cloud-init schema --config-file /root/user-data.yaml >"$work/schema" 2>&1 || fail "$(cat "$work/schema")"
grep -q '^Valid' "$work/schema" || fail "$(cat "$work/schema")"
inside rm /root/user-data.yaml

step "cloud-init: a first boot without a network loses nothing, and the next boot makes a box that delivers"
export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key packages@example.com ed25519 sign 1y 2>/dev/null
key=$(gpg --list-keys --with-colons | awk -F: '/^fpr/ { print $10; exit }')
gpg --armor --export > "$work/fleet.asc"
mkdir -p "$work/www/debian"
cp -r "$recipes/repository/conf" "$work/www/debian/"
sed -i "s/FINGERPRINT/$key/" "$work/www/debian/conf/distributions"
reprepro --silent --silent --basedir "$work/www/debian" includedeb stable "$(package fleet-locationd)"
inside rm /etc/apt/sources.list
trial
seed=/var/lib/cloud/seed/nocloud
printf 'instance-id: box-1\nlocal-hostname: truck-17\n' | write $seed/meta-data
# The user-data also has the two commands for a token provider that asks for the certificate.
[ "$(grep -c '^      # install' "$work/user-data")" -eq 2 ] || fail "the commands for the certificate"
here < "$work/user-data" | sed -e 's/^      # install/      install/' -e "/PUBLIC-KEY/{r $(sed 's/^/      /' "$work/fleet.asc" > "$work/indented"; echo "$work/indented")
d}" | write $seed/user-data 600
container crash
container boot
provisioning_fails() { [ "$(property SubState fleet-provision)" = auto-restart ]; }
until_true 60 provisioning_fails || fail "it is not repeated: $(inside systemctl status fleet-provision --no-pager -n 20)"
inside test -e $seed/user-data || fail "the user-data is gone"
! inside test -e /etc/cloud/cloud-init.disabled || fail "cloud-init is disabled"
(cd "$work/www" && exec python3 -m http.server --bind 127.0.0.1 "$web" >"$work/http.log" 2>&1) &
background+=($!)
emulate --token-authorization "$secret"
container crash
container boot
is_provisioned() { inside test -e /etc/cloud/cloud-init.disabled && [ "$(inside systemctl is-enabled fleet-provision)" = disabled ]; }
until_true 120 is_provisioned || fail "it is not provisioned: $(inside systemctl status fleet-provision --no-pager -n 20)"
check_box truck-17
! inside test -e $seed || fail "the user-data is still there"
inside cmp -s /etc/fleet-locationd/box.pem /etc/fleet-metrics/box.pem || fail "no certificate for the token provider"
[ "$(inside stat -c '%a %U' /etc/fleet-locationd/box.pem)" = '400 fleet-locationd' ] || fail "its mode: $(inside stat /etc/fleet-locationd/box.pem)"
inside fleet-locationctl settings | grep 'client_certificate.*/etc/fleet-locationd/box.pem' >/dev/null || fail "the settings do not name it"
inside grep -x 10min /etc/fleet-locationd/fleet-locationd.toml.confirm >/dev/null || fail "new settings are not reverted"

step "after a power cut cloud-init is over, and the box delivers with the same credential"
rm "$work/record.jsonl"
kill "${background[-1]}"
emulate --token-authorization "$secret"
container crash
container boot
check_box truck-17

step "Ansible: the playbook makes a box that delivers, and changes nothing the second time"
use truck-18
inside rm /etc/apt/sources.list
trial
# Both boxes share the loopback of this machine, and the same ports.
use truck-17
inside systemctl stop fleet-metrics-push fleet-metrics.socket haproxy fleet-locationd
use truck-18
(cd "$recipes" && find . -type f -printf '%P\n') | while read -r file; do container push "$recipes/$file" "/run/fleet/$file"; done
(cd "$work/secrets" && find boxes central -type f) | while read -r file; do container push "$work/secrets/$file" "/run/fleet/ansible/secrets/$file"; done
for file in fleet-locationd.toml apt/fleet.sources; do here < "$recipes/$file" | write "/run/fleet/$file"; done
container push "$work/fleet.asc" /run/fleet/ansible/fleet.asc
grep -v '^truck-17\|^truck-19\|ansible_user' "$recipes/ansible/inventory.example" | sed 's/ansible_host=.*/ansible_connection=local/' |
  write /run/fleet/ansible/inventory
secret=$(cat "$work/secrets/boxes/truck-18/token-provider")
kill "${background[-1]}"
emulate --token-authorization "$secret"
play() {
  inside ansible-playbook -i /run/fleet/ansible/inventory /run/fleet/ansible/box.yml >"$work/play" 2>&1 ||
    fail "ansible-playbook: $(cat "$work/play")"
}
play
tail -n 2 "$work/play" | sed 's/^/   /'
inside grep -x 'Suites: stable' /etc/apt/sources.list.d/fleet.sources >/dev/null || fail "another channel"
inside grep 'server central metrics.example.com:9443' /etc/haproxy/haproxy.cfg >/dev/null || fail "another central machine"
play
grep -q 'changed=0 .*failed=0' "$work/play" || fail "the second time: $(cat "$work/play")"
check_box truck-18

step "the credential of one box cannot be decrypted on another"
use truck-17
inside cat /etc/fleet-locationd/token-provider.cred > "$work/cred"
use truck-18
container push "$work/cred" /root/token-provider
! inside systemd-creds decrypt /root/token-provider - >"$work/plain" 2>/dev/null || fail "truck-18 decrypts what is truck-17's"
file=/etc/fleet-locationd/token-provider.cred
inside cp $file /root/own.cred
inside cp /root/token-provider $file
! inside systemctl restart fleet-locationd 2>/dev/null || fail "it starts with the credential of truck-17"
doctor_says() { ! inside fleet-locationctl doctor >"$work/doctor" 2>&1 && grep '^  fail .*243/CREDENTIALS' "$work/doctor" >/dev/null; }
until_true 20 doctor_says || fail "doctor: $(cat "$work/doctor")"
inside cp /root/own.cred $file
inside systemctl restart fleet-locationd

step "Ansible: a new credential restarts the service"
boxes rotate truck-18
for file in box.pem token-provider; do container push "$work/secrets/boxes/truck-18/$file" "/run/fleet/ansible/secrets/boxes/truck-18/$file"; done
kill "${background[-1]}"
rm "$work/record.jsonl"
emulate --token-authorization "$(cat "$work/secrets/boxes/truck-18/token-provider")"
started=$(inside systemctl show -P ExecMainStartTimestampMonotonic fleet-locationd)
play
[ "$(inside systemctl show -P ExecMainStartTimestampMonotonic fleet-locationd)" != "$started" ] || fail "no restart"
until_true 30 accepted truck-18 || fail "no update with the new credential"
inside cmp -s /etc/fleet-metrics/box.pem /run/fleet/ansible/secrets/boxes/truck-18/box.pem || fail "the box has another certificate"

step "Ansible: after a run that ended early, the next one restarts and reloads what it has left"
ends_early() {
  inside mv /run/fleet/rollback /run/fleet/later
  ! inside ansible-playbook -i /run/fleet/ansible/inventory /run/fleet/ansible/box.yml >"$work/play" 2>&1 ||
    fail "without a file the playbook succeeds: $(cat "$work/play")"
  inside mv /run/fleet/later /run/fleet/rollback
}
start_of() { property ExecMainStartTimestampMonotonic "$1"; }
boxes retire truck-18
boxes rotate truck-18
for file in box.pem token-provider; do container push "$work/secrets/boxes/truck-18/$file" "/run/fleet/ansible/secrets/boxes/truck-18/$file"; done
kill "${background[-1]}"
rm "$work/record.jsonl"
emulate --token-authorization "$(cat "$work/secrets/boxes/truck-18/token-provider")"
service=$(start_of fleet-locationd) haproxy=$(start_of haproxy)
ends_early
inside cmp -s /etc/fleet-metrics/box.pem /run/fleet/ansible/secrets/boxes/truck-18/box.pem || fail "it has ended too early: $(cat "$work/play")"
[ "$(start_of fleet-locationd) $(start_of haproxy)" = "$service $haproxy" ] || fail "the run that ended early has restarted something"
play
[ "$(start_of fleet-locationd)" != "$service" ] || fail "no restart"
[ "$(start_of haproxy)" != "$haproxy" ] || fail "no restart of haproxy"
until_true 30 accepted truck-18 || fail "no update with the new credential"
inside sh -c "printf '[reporting]\ninterval = \"2s\"\n' >>/run/fleet/fleet-locationd.toml"
ends_early
inside fleet-locationctl settings | has '^# The running daemon uses other settings' || fail "the run that ended early has reloaded the settings"
play
inside fleet-locationctl settings | has '^# The running daemon uses these settings' || fail "$(inside fleet-locationctl settings | head -n 1)"
play
grep -q 'changed=0 .*failed=0' "$work/play" || fail "once more: $(cat "$work/play")"
inside fleet-locationctl pause >/dev/null
inside sed -i 's/^interval = "2s"/interval = "3s"/' /run/fleet/fleet-locationd.toml
play
inside fleet-locationctl settings | has '^interval = "3s"' || fail "a paused vehicle has no new settings: $(inside fleet-locationctl settings)"
inside fleet-locationctl settings | has '^# The running daemon uses these settings' || fail "a paused vehicle does not use new settings"
inside fleet-locationctl resume >/dev/null
service=$(start_of fleet-locationd) push=$(start_of fleet-metrics-push)
inside sh -c "echo '# changed' >>/run/fleet/metrics/relabel.yml"
play
[ "$(start_of fleet-metrics-push)" != "$push" ] || fail "no restart of the push"
[ "$(start_of fleet-locationd)" = "$service" ] || fail "a change of the metrics restarts the service"

step "the rollback's timer writes nothing while nothing happens"
inside journalctl --rotate -q
since=$(inside date +%s)
for _ in 1 2 3; do inside systemctl start fleet-locationd-rollback.service; done
lines=$(inside journalctl -q -o cat --since "@$since" -u fleet-locationd-rollback.service -u fleet-locationd-rollback.timer)
[ -z "$lines" ] || fail "the journal has: $lines"

step "the commands before an image is made: a copy of the box gets another machine ID"
# As on a box that Debian's installer has made: dbus-daemon's postinst writes a copy of the ID.
inside cp --remove-destination /etc/machine-id /var/lib/dbus/machine-id
before=$(inside cat /etc/machine-id)
commands=$(sed -n '/^\*\*The image\*\*/,/^Boxes that share/s/^    //p' "$repository/docs/fleet.md")
inside sh -ec "$commands"
# systemd does this at the boot. Without a path it would use the ID of the container.
inside systemd-machine-id-setup --root=/proc/1/root >"$work/setup" 2>&1 || fail "$(cat "$work/setup")"
[ "$(inside cat /etc/machine-id | wc -c)" -eq 33 ] || fail "no machine ID: $(cat "$work/setup")"
[ "$(inside cat /etc/machine-id)" != "$before" ] || fail "the copy has the machine ID of the box: $(cat "$work/setup")"
