#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Corrected settings and late credentials start a failed service: corrections.sh DIRECTORY-OF-PACKAGES
# ROUNDS (1) is the number of repetitions of each way to save. SUITE (bookworm) is the Debian release.
set -euo pipefail

[ "$(id -u)" -eq 0 ] || exec sudo SUITE="${SUITE:-}" ROUNDS="${ROUNDS:-}" "$0" "$@"
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
# No settings are stored, with which the daemon would run in spite of a mistake.
fails() { # UNIT
  inside systemctl stop "$1"
  inside sh -c 'rm -f /var/lib/fleet-locationd*/kept-settings.toml'
  ! inside systemctl start "$1" 2>/dev/null || fail "$1 starts with a mistake"
  # The change of the settings may restart the unit once more.
  until_true 10 eval '[ "$(property ActiveState "'"$1"'")" = failed ]' || fail "with a mistake $1 is $(property ActiveState "$1")"
}
runs() { [ "$(property SubState "$1")" = running ]; }
# A failed unit must start after each correction; the pause before it is different in each round.
corrected() { # UNIT NAME MISTAKE CORRECTION
  local unit=$1 name=$2 mistake=$3 correction=$4 round lost=0
  for round in $(seq "$rounds"); do
    inside sh -c "$mistake"
    fails "$unit"
    sleep "$((round % 4)).$((round * 3 % 10))"
    inside sh -c "$correction"
    until_true 10 runs "$unit" || { lost=$((lost + 1)); inside systemctl start "$unit" || fail "$unit does not start after: $correction"; }
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
# With missing directories, as an administrator may leave them, and with those of the package.
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
inside systemctl enable -q --now fleet-locationd@van-2 || fail "start of van-2"
corrected fleet-locationd@van-2 "by rename" "$wrong" "sed -i '$right' $etc/van-2.toml"
corrected fleet-locationd@van-2 "in place" "$wrong" "sed '$right' $etc/van-2.toml >/run/corrected && cat /run/corrected >$etc/van-2.toml"
corrected fleet-locationd@van-2 "by a new directory of its own" "$wrong; rm -rf $etc/van-2.toml.d" \
  "mkdir $etc/van-2.toml.d && printf '[reporting]\ninterval = \"1s\"\n' >$etc/van-2.toml.d/own.toml"
corrected fleet-locationd@van-2 "by a file in its directory, renamed" "printf '[reporting]\ninterval = 1\n' >$etc/van-2.toml.d/own.toml" \
  "sed -i '$right' $etc/van-2.toml.d/own.toml"
inside systemctl disable -q --now fleet-locationd@van-2
inside sed -i "$right" $etc/van-2.toml
inside rm -rf $etc/van-2.toml.d

step "kept settings: used when a file is emptied or cannot be read; a deleted one stops the service, visibly"
settings truck-17
kept() { until_true 15 inside grep -q truck-17 /var/lib/fleet-locationd/kept-settings.toml; }
inside systemctl start fleet-locationd || fail "systemctl start"
kept || fail "the settings are not kept"
inside cp -p $main /root/good.toml
accident() { # NAME COMMAND WORDS
  inside sh -c "$2"
  inside systemctl restart fleet-locationd || fail "$1: the service does not start"
  until_true 15 status_says Online || fail "$1: $(property StatusText)"
  status_says "the last ones that worked are used: $3" || fail "$1: $(property StatusText)"
  journal -n 20 FLEET_EVENT=settingsKept -p err | has "$3" || fail "$1: not in the journal: $(journal -n 8)"
  inside fleet-locationctl metrics | has '^fleet_locationd_config_kept{.*} 1$' || fail "$1: no metric"
  # The same vehicle and the same destination.
  inside fleet-locationctl status | has truck-17 || fail "$1: $(inside fleet-locationctl status)"
  echo "   $1: $(property StatusText | sed 's/.*settings have/settings have/')"
  inside sh -c "chmod 755 $etc; rm -f $main; cp -p /root/good.toml $main"
  inside systemctl restart fleet-locationd || fail "after $1: the service does not start"
  until_true 15 status_says Online && ! status_says 'settings have' || fail "after $1: $(property StatusText)"
}
accident "emptied" ": >$main" "$main: is empty"
accident "zeros of a power cut" "head -c 300 /dev/zero >$main" "$main: is empty"
accident "mode 600" "chmod 600 $main" "$main: cannot be read: Permission denied"
accident "directory 0700" "chmod 700 $etc" "$etc: cannot be read: Permission denied"
accident "unknown key" "echo intervall = 3 >/tmp/key; sed -i '/^.fleet_engine.$/r /tmp/key' $main" "$main:13:1: fleet_engine.intervall"
inside sed -i 's/^vehicle_id = "truck-17"/vehicle_id = "truck-17/' $main
! inside systemctl restart fleet-locationd 2>/dev/null || fail "a damaged line that may name another vehicle"
inside sh -c "rm -f $main; cp -p /root/good.toml $main"
until_true 10 status_says Online || fail "not started by the corrected line: $(property StatusText)"
inside rm $main
until_true 40 status_says "$main no longer exists" || fail "STATUS with a deleted file: $(property StatusText)"
status_says Online || fail "a deleted file stops the running daemon: $(property StatusText)"
echo "   deleted: $(property StatusText | sed 's/.*; //')"
inside systemctl restart fleet-locationd
[ "$(property ActiveState)" = inactive ] || fail "without its settings file it is $(property ActiveState)"
code=0
inside fleet-locationctl status >"$work/answer" 2>&1 || code=$?
[ $code -eq 69 ] && grep -q "is not started, because its settings file $main does not exist" "$work/answer" || fail "status: $code: $(cat "$work/answer")"
inside dpkg -i /root/fleet-locationd.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "upgrade without settings"; }
has "^fleet-locationd: fleet-locationd.service is not running: its settings file $main does not exist" "$work/dpkg" || fail "dpkg says: $(cat "$work/dpkg")"
inside cp -p /root/good.toml $main
inside systemctl restart fleet-locationd || fail "with settings again"

step "credentials: what is wrong with one is named"
is_settled() { [ "$(property ActiveState)" != activating ]; }
names() { # WORDS COMMAND...
  # The timer of fleet-locationd-retry may just start a failed unit.
  until_true 10 is_settled || fail "it is $(property ActiveState), $(property SubState)"
  inside "${@:2}" >"$work/answer" 2>&1 || true
  grep -q "$1" "$work/answer" || fail "${*:2} does not say \"$1\": $(cat "$work/answer")"
  ! grep 's3cret\|an0ther-one' "$work/answer" || fail "${*:2} shows the secret"
}
secret() { # TEXT
  printf "$1" | write $etc/token-provider 600
  inside systemctl restart fleet-locationd || fail "a start with another credential"
}
inside chmod 644 $etc/token-provider
names "$etc/token-provider holds a credential, and every user of this machine can read it" fleet-locationctl doctor
names "$etc/token-provider holds a credential, and every user of this machine can read it" fleet-locationd --check
secret '"Bearer s3cret-of-the-box"'
names 'token.headers.Authorization: credential token-provider: the secret is in quotes' fleet-locationctl doctor
names 'token.headers.Authorization: credential token-provider: the secret is in quotes' fleet-locationd --check
secret 'Authorization: Bearer s3cret-of-the-box'
names 'the secret begins with the name of the header' fleet-locationctl doctor
names 'the secret begins with the name of the header' fleet-locationd --check
secret '\357\273\277Bearer s3cret-of-the-box\n'
until_true 15 status_says Online || fail "with a byte order mark: $(property StatusText)"
inside fleet-locationctl doctor >"$work/answer" || fail "doctor: $(cat "$work/answer")"
encrypted() { # FILE
  printf "[Service]\nLoadCredential=\nLoadCredentialEncrypted=token-provider:$1\n" |
    write /etc/systemd/system/fleet-locationd.service.d/credential.conf
  inside systemctl daemon-reload
  inside systemctl restart fleet-locationd 2>/dev/null || true
}
encrypted $etc/token-provider
names "243/CREDENTIALS: the file of the credential token-provider is not encrypted: $etc/token-provider" fleet-locationctl doctor
names "the file of the credential token-provider is not encrypted: $etc/token-provider" fleet-locationd --check
inside systemd-creds encrypt --with-key=host --name=token-provider $etc/token-provider /root/cred 2>/dev/null || fail "systemd-creds"
encrypted /root/cred
until_true 15 status_says Online || fail "with an encrypted credential: $(property StatusText)"
inside systemctl reload fleet-locationd || fail "reload with the same encrypted credential"
# Another value: only a restart provides it.
printf 'Bearer an0ther-one' | write /root/renewed 600
inside systemd-creds encrypt --with-key=host --name=token-provider /root/renewed /root/cred 2>/dev/null || fail "systemd-creds"
changed='credential token-provider has changed since the service was started'
! inside systemctl reload fleet-locationd 2>/dev/null || fail "a reload succeeds, and the old encrypted credential stays"
journal -n 8 | has "$changed.*a restart is needed: systemctl restart fleet-locationd.service" || fail "reload: $(journal -n 8)"
names "$changed" fleet-locationctl reload
names "$changed" fleet-locationctl doctor
names "$changed" fleet-locationd --check
until_true 5 eval '[ -z "$(inside systemctl list-units --all --no-legend "fleet-locationctl-*")" ]' ||
  fail "left over: $(inside systemctl list-units --all 'fleet-locationctl-*')"
# The key of another machine.
inside mv /var/lib/systemd/credential.secret /root/
encrypted /root/cred
names '243/CREDENTIALS: the credential token-provider cannot be decrypted: /root/cred was encrypted on another machine' fleet-locationctl doctor
names 'the credential token-provider cannot be decrypted' fleet-locationd --check
inside systemctl stop fleet-locationd
inside systemctl reset-failed fleet-locationd
credential

step "without certificate authorities the message names the package"
bundle=/etc/ssl/certs/ca-certificates.crt
inside test -s $bundle || fail "the package has not brought ca-certificates"
inside sh -c "mv /etc/ssl/certs /root/; mkdir /etc/ssl/certs; sed -i 's|^url = \"http://|url = \"https://|' $main"
inside rm -rf /run/fleet-locationd/token
inside systemctl restart fleet-locationd || fail "restart without certificate authorities"
until_true 15 status_says 'install the package ca-certificates' || fail "STATUS: $(property StatusText)"
echo "   $(property StatusText | sed 's/; last update.*//')"
inside sh -c "rmdir /etc/ssl/certs; mv /root/certs /etc/ssl/; sed -i 's|^url = \"https://|url = \"http://|' $main"
inside systemctl stop fleet-locationd

step "doctor makes nothing for an instance that does not exist"
before=$(inside sh -c 'ls -d /var/lib/fleet-locationd* /run/fleet-locationd* 2>/dev/null' || true)
names 'ghost.toml: does not exist' fleet-locationctl doctor --instance ghost
[ "$(inside sh -c 'ls -d /var/lib/fleet-locationd* /run/fleet-locationd* 2>/dev/null' || true)" = "$before" ] ||
  fail "doctor has made $(inside ls -d /var/lib/fleet-locationd* /run/fleet-locationd*)"

step "a missing credential: failed, few lines in the journal, and a start when it comes"
# The default is a minute.
wait_between_tries() { # DURATION
  printf '[Timer]\nOnActiveSec=\nOnActiveSec=%s\nAccuracySec=10ms\n' "$1" | write /etc/systemd/system/fleet-locationd-retry.timer.d/test.conf
  inside systemctl daemon-reload
}
tries() { journal | grep -c '^Failed to start'; }
wait_between_tries 2s
printf '[Service]\nLoadCredential=token-provider:/run/late/token-provider\n' |
  write /etc/systemd/system/fleet-locationd.service.d/credential.conf
inside systemctl daemon-reload
# One file is in another directory, and one in a watched directory.
for file in /run/late/token-provider $etc/late-provider; do
  inside sed -i "s|:/.*|:$file|" /etc/systemd/system/fleet-locationd.service.d/credential.conf
  inside systemctl daemon-reload
  ! inside systemctl start fleet-locationd 2>/dev/null || fail "it starts without its credential"
  ends_with 243
  until_true 10 eval 'inside systemctl --failed --plain | has fleet-locationd.service' || fail "systemctl --failed does not show it"
  first=$(tries)
  until_true 20 eval '[ "$(tries)" -ge '"$((first + 2))"' ]' || fail "it is not tried again"
  lines=$(journal | awk -v first="$first" '/^Failed to start/ { if (++tries == first) start = NR; end = NR }
    END { print int((end - start) / (tries - first)) }')
  echo "   $file: $lines lines a try"
  [ "$lines" -le 8 ] || fail "$lines lines a try: $(journal -n 20)"
  printf 'Bearer s3cret-of-the-box' | write "$file" 600
  until_true 10 runs fleet-locationd || fail "it does not start with its credential: $(property ActiveState)"
  inside systemctl stop fleet-locationd
done
# A daemon that fails while the timer's service is still running must be started again.
wait_between_tries 100ms
inside rm "$file"
! inside systemctl start fleet-locationd 2>/dev/null || fail "it starts without its credential"
before=$(tries)
for number in $(seq 10 10 100); do
  until_true 30 eval '[ $(($(tries) - before)) -ge $number ]' ||
    fail "it was tried again $(($(tries) - before)) times, and then no more"
done
wait_between_tries 2s
printf 'Bearer s3cret-of-the-box' | write "$file" 600
until_true 10 runs fleet-locationd || fail "it does not start with its credential: $(property ActiveState)"
# The same if the program does not exist.
printf '[Service]\nExecStart=\nExecStart=/nowhere/at/all\n' | write /etc/systemd/system/fleet-locationd.service.d/program.conf
inside systemctl daemon-reload
! inside systemctl restart fleet-locationd 2>/dev/null || fail "it starts without its program"
ends_with 203
inside rm /etc/systemd/system/fleet-locationd.service.d/program.conf
inside systemctl daemon-reload
until_true 20 runs fleet-locationd || fail "it is not tried again with its program: $(property ActiveState)"
# A unit stays failed if a retry cannot help.
inside sh -c "sed -i 's/^interval = .*/interval = 1/' $main"
fails fleet-locationd
sleep 4
until_true 5 eval '[ "$(property ActiveState) $(property NRestarts)" = "failed 0" ]' ||
  fail "with a mistake it is $(property ActiveState)"
[ "$(journal -n 1000 | grep -c 'reporting.interval: has no unit')" -gt 0 ] || fail "the mistake is not logged"

step "an upgrade that leaves a service without positions says so, and succeeds"
inside dpkg -i /root/fleet-locationd.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "upgrade with a mistake"; }
has "^fleet-locationd: fleet-locationd.service is not running: Ended: $main:.*reporting.interval" "$work/dpkg" || fail "dpkg says: $(cat "$work/dpkg")"
[ "$(inside dpkg-query -W -f '${db:Status-Status}' fleet-locationd)" = installed ] || fail "dpkg is half-configured"
inside systemctl --failed --plain | has fleet-locationd.service || fail "systemctl --failed does not show it"
grep '^fleet-locationd: ' "$work/dpkg" | sed 's/^/   /'

step "a failed service that is disabled stays stopped; enabled or wanted by another unit it starts by itself"
stays_stopped() { # CAUSE
  sleep 6
  [ "$(property ActiveState)" != active ] || fail "a disabled service is started by $1"
}
lacks_credential() { # COMMAND...: that starts it
  inside rm -f "$file"
  ! inside systemctl "$@" 2>/dev/null || fail "it starts without its credential"
  ends_with 243
}
wait_between_tries 3s
# Not in a watched directory.
file=/run/late/token-provider
inside sed -i "s|:/.*|:$file|" /etc/systemd/system/fleet-locationd.service.d/credential.conf
inside systemctl daemon-reload
ends_with 78
inside systemctl disable -q --now fleet-locationd
inside sed -i "$right" $main
stays_stopped "corrected settings"
lacks_credential start fleet-locationd
printf 'Bearer s3cret-of-the-box' | write "$file" 600
stays_stopped "its credential, after a start by hand"
lacks_credential enable -q --now fleet-locationd
inside systemctl disable -q --now fleet-locationd
printf 'Bearer s3cret-of-the-box' | write "$file" 600
stays_stopped "its credential"
# As on an image with a target of its own.
printf '[Unit]\nWants=fleet-locationd.service\n' | write /etc/systemd/system/multi-user.target.d/vehicle.conf
inside systemctl daemon-reload
lacks_credential start fleet-locationd
printf 'Bearer s3cret-of-the-box' | write "$file" 600
until_true 10 runs fleet-locationd || fail "wanted by another unit, it does not start by itself: $(property ActiveState)"
inside rm -r /etc/systemd/system/multi-user.target.d
inside systemctl daemon-reload
inside systemctl stop fleet-locationd
lacks_credential enable -q --now fleet-locationd
printf 'Bearer s3cret-of-the-box' | write "$file" 600
until_true 10 runs fleet-locationd || fail "enabled again, it does not start by itself: $(property ActiveState)"
# To stop a failed service that stays enabled.
lacks_credential restart fleet-locationd
# While it is being started again, this has no effect.
is_reset() {
  local unit
  inside systemctl reset-failed fleet-locationd
  for unit in fleet-locationd fleet-locationd-retry-due fleet-locationd-retry; do
    [ "$(property ActiveState $unit)" = inactive ] || return 1
  done
}
until_true 10 is_reset || fail "reset-failed has no effect: $(property ActiveState)"
printf 'Bearer s3cret-of-the-box' | write "$file" 600
stays_stopped "its credential, although its failure was reset"
echo "== done in $SECONDS s"
