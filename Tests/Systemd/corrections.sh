#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Corrected settings and late credentials start a failed service: corrections.sh DIRECTORY-OF-PACKAGES
# ROUNDS (1) is the number of repetitions of each way to save. SUITE (bookworm) is the Debian release.
set -euo pipefail

[ "$(id -u)" -eq 0 ] || exec sudo "$0" "$@"
packages=$1
rounds=${ROUNDS:-1}
here=$(cd "$(dirname "$0")" && pwd)
export CONTAINER_NAME=fleet-corrections-$$
work=$(mktemp -d)
container() { "$here/container.sh" "$@"; }
finish() {
  container down || true
  rm -rf "$work"
}
trap finish EXIT
. "$here/library.sh"

etc=/etc/fleet-locationd
# Without kept settings, with which it would run in spite of a mistake.
fails() { # UNIT
  inside systemctl stop "$1"
  inside sh -c 'rm -f /var/lib/fleet-locationd*/kept-settings.toml'
  ! inside systemctl start "$1" 2>/dev/null || fail "$1 starts with a mistake"
  [ "$(property ActiveState "$1")" = failed ] || fail "with a mistake $1 is $(property ActiveState "$1")"
}
runs() { [ "$(property SubState "$1")" = running ]; }
# A failed unit must start after each correction; the pause before it is another one in each round.
corrected() { # UNIT NAME MISTAKE CORRECTION
  local unit=$1 name=$2 mistake=$3 correction=$4 round lost=0
  for round in $(seq "$rounds"); do
    inside sh -c "$mistake"
    fails "$unit"
    sleep "$((round % 4)).$((round * 3 % 10))"
    inside sh -c "$correction"
    until_true 5 runs "$unit" || { lost=$((lost + 1)); inside systemctl start "$unit" || fail "$unit does not start after: $correction"; }
  done
  echo "   $name: $((rounds - lost)) of $rounds"
  [ $lost -eq 0 ] || fail "$name: $lost of $rounds corrections were not noticed"
}

step "corrected settings start a failed service, however they are saved"
install
emulate
credential
settings truck-17
printf 'truck-17\n' | write $etc/vehicle-id
inside sed -i 's|^vehicle_id = .*|vehicle_id = { file = "vehicle-id" }|' $etc/fleet-locationd.toml
inside systemctl start fleet-locationd || fail "systemctl start"
main=$etc/fleet-locationd.toml
wrong="sed -i 's/^interval = .*/interval = 1/' $main"
right="s/^interval = .*/interval = \"1s\"/"
# Both with directories that do not exist, as an administrator may leave them, and with those of the package.
for directories in "as installed" "without conf.d"; do
  [ "$directories" = "as installed" ] || inside rmdir $etc/conf.d
  echo "   $directories:"
  corrected fleet-locationd "by rename" "$wrong" "sed -i '$right' $main"
  corrected fleet-locationd "in place" "$wrong" "sed '$right' $main >/run/corrected && cat /run/corrected >$main"
  corrected fleet-locationd "by a file in conf.d" "$wrong; rm -f $etc/conf.d/own.toml" \
    "mkdir -p $etc/conf.d && printf '[reporting]\ninterval = \"1s\"\n' >$etc/conf.d/own.toml"
  inside sed -i "$right" $main
  corrected fleet-locationd "by removing a file in conf.d" "printf '[reporting]\ninterval = 1\n' >$etc/conf.d/own.toml" \
    "rm $etc/conf.d/own.toml"
  corrected fleet-locationd "by vehicle-id" "echo a/b >$etc/vehicle-id" "echo truck-17 >$etc/vehicle-id"
  corrected fleet-locationd "by vehicle-id, renamed" "echo a/b >$etc/vehicle-id" \
    "echo truck-17 >$etc/.new && mv $etc/.new $etc/vehicle-id"
done
inside systemctl stop fleet-locationd
inside touch $main
sleep 3
[ "$(property ActiveState)" = inactive ] || fail "stopped on purpose, it is started by a change of its settings"

step "the same for an instance, with a directory of its own"
settings van-2 van-2
printf '[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n' |
  write /etc/systemd/system/fleet-locationd@.service.d/credential.conf
inside systemctl daemon-reload
wrong="sed -i 's/^interval = .*/interval = 1/' $etc/van-2.toml"
inside systemctl start fleet-locationd@van-2 || fail "start of van-2"
corrected fleet-locationd@van-2 "by rename" "$wrong" "sed -i '$right' $etc/van-2.toml"
corrected fleet-locationd@van-2 "in place" "$wrong" "sed '$right' $etc/van-2.toml >/run/corrected && cat /run/corrected >$etc/van-2.toml"
corrected fleet-locationd@van-2 "by a new directory of its own" "$wrong; rm -rf $etc/van-2.toml.d" \
  "mkdir $etc/van-2.toml.d && printf '[reporting]\ninterval = \"1s\"\n' >$etc/van-2.toml.d/own.toml"
corrected fleet-locationd@van-2 "by a file in its directory, renamed" "printf '[reporting]\ninterval = 1\n' >$etc/van-2.toml.d/own.toml" \
  "sed -i '$right' $etc/van-2.toml.d/own.toml"
inside systemctl stop fleet-locationd@van-2
inside sed -i "$right" $etc/van-2.toml
inside rm -rf $etc/van-2.toml.d

step "a missing credential: failed, few lines in the journal, and a start when it comes"
# By default a minute.
printf '[Timer]\nOnActiveSec=\nOnActiveSec=2s\nAccuracySec=100ms\n' | write /etc/systemd/system/fleet-locationd-retry.timer.d/test.conf
printf '[Service]\nLoadCredential=token-provider:/run/late/token-provider\n' |
  write /etc/systemd/system/fleet-locationd.service.d/credential.conf
inside systemctl daemon-reload
# One in another directory, and one whose directory is watched.
for file in /run/late/token-provider $etc/late-provider; do
  inside sed -i "s|:/.*|:$file|" /etc/systemd/system/fleet-locationd.service.d/credential.conf
  inside systemctl daemon-reload
  ! inside systemctl start fleet-locationd 2>/dev/null || fail "it starts without its credential"
  [ "$(property ActiveState) $(property ExecMainStatus)" = "failed 243" ] || fail "it is $(property ActiveState), $(property ExecMainStatus)"
  inside systemctl --failed --plain | has fleet-locationd.service || fail "systemctl --failed does not show it"
  before=$(journal | wc -l)
  until_true 20 eval '[ "$(inside journalctl -o cat -u fleet-locationd | grep -c "^Failed to start")" -ge '"$(($(journal | grep -c '^Failed to start') + 2))"' ]' ||
    fail "it is not tried again"
  lines=$((($(journal | wc -l) - before) / 2))
  echo "   $file: $lines lines a try"
  [ "$lines" -le 8 ] || fail "$lines lines a try: $(journal -n 20)"
  printf 'Bearer s3cret-of-the-box' | write "$file" 600
  until_true 10 runs fleet-locationd || fail "it does not start with its credential: $(property ActiveState)"
  inside systemctl stop fleet-locationd
done
# A failure that a retry cannot repair stays.
inside sh -c "sed -i 's/^interval = .*/interval = 1/' $main"
fails fleet-locationd
sleep 4
[ "$(property ActiveState) $(property NRestarts)" = "failed 0" ] || fail "with a mistake it is $(property ActiveState)"
[ "$(journal -n 1000 | grep -c 'reporting.interval: has no unit')" -gt 0 ] || fail "the mistake is not logged"

step "an upgrade that leaves a service without positions says so, and succeeds"
inside dpkg -i /root/fleet-locationd.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "upgrade with a mistake"; }
has "^fleet-locationd: fleet-locationd.service does not run: Ended: $main:.*reporting.interval" "$work/dpkg" || fail "dpkg says: $(cat "$work/dpkg")"
[ "$(inside dpkg-query -W -f '${db:Status-Status}' fleet-locationd)" = installed ] || fail "dpkg is half-configured"
inside systemctl --failed --plain | has fleet-locationd.service || fail "systemctl --failed does not show it"
grep '^fleet-locationd: ' "$work/dpkg" | sed 's/^/   /'
echo "== done in $SECONDS s"
