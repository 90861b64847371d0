#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests Packages, and Health and automatic rollback, of docs/fleet.md: a signed repository, two boxes, staged upgrades, a bad version.
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=unattended-upgrades,gpgv,curl,ca-certificates
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet
export GNUPGHOME=$work/gnupg
mkdir -m 700 "$GNUPGHOME"

# Without a terminal for a passphrase, which a real key has.
make_key() { # NAME: prints the fingerprint
  gpg --batch --quiet --passphrase '' --quick-generate-key "$1" ed25519 sign 1y 2>/dev/null
  gpg --list-keys --with-colons "$1" | awk -F: '/^fpr/ { print $10; exit }'
}
repo() { reprepro --silent --silent --basedir "$work/www/debian" "$@"; }
# Changes only the version, and applies the third argument to the unpacked package.
repack() { # VERSION [COMMAND]
  rm -rf "$work/package"
  dpkg-deb -R "$(package fleet-locationd)" "$work/package"
  sed -i "s/^Version: .*/Version: $1/" "$work/package/DEBIAN/control"
  (cd "$work/package" && eval "${2:-true}")
  dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/package" "$work/$1.deb" >/dev/null
}
installed() { inside dpkg-query -W -f '${Version}' fleet-locationd 2>/dev/null; }
is_installed() { [ "$(installed)" = "$1" ]; }
online() { [[ $(inside systemctl show -P StatusText fleet-locationd) == Online* ]]; }
# The lists are downloaded from scratch: two exports of the repository within one second have the same time.
update_lists() {
  inside sh -c 'rm -rf /var/lib/apt/lists/* && apt-get -qq update -o APT::Update::Error-Mode=any' >"$work/apt" 2>&1
}
upgrade() { # as apt-daily.timer and apt-daily-upgrade.timer do
  update_lists || fail "apt-get update: $(cat "$work/apt")"
  inside unattended-upgrade --debug >"$work/upgrade" 2>&1 || fail "unattended-upgrade: $(cat "$work/upgrade")"
}
stage() { # PERCENT: as on the page
  echo "fleet-locationd Phased-Update-Percentage $1" > "$work/www/debian/conf/stable.override"
  repo --export=never copy stable canary fleet-locationd
  repo reoverride stable
}

first=$(dpkg-deb -f "$(package fleet-locationd)" Version)
good=$first+good bad=$first+good2bad half=$first+good2half fixed=$first+good3

step "a repository of two channels, signed"
key=$(make_key 'Fleet packages <packages@example.com>')
mkdir -p "$work/www/debian"
cp -r "$recipes/repository/conf" "$work/www/debian/"
sed -i "s/FINGERPRINT/$key/" "$work/www/debian/conf/distributions"
repo includedeb canary "$(package fleet-locationd)"
stage 100
gpg --armor --export "$key" > "$work/fleet.asc"
web=$((port + 1))
(cd "$work/www" && exec python3 -m http.server --bind 127.0.0.1 "$web" >"$work/http.log" 2>&1) &
background+=($!)
emulate
echo "   $(du -h "$(package fleet-locationd)" | cut -f1) a package"

step "two boxes install from it by apt, one of each channel, and deliver"
for name in canary stable; do
  use $name
  inside sh -c "rm /etc/apt/sources.list; echo $name > /etc/hostname; hostname $name; mkdir -p /etc/apt/keyrings"
  container push "$work/fleet.asc" /etc/apt/keyrings/fleet.asc
  sed -e "s|https://packages.example.com|http://127.0.0.1:$web|" -e "s/^Suites: .*/Suites: $name/" "$recipes/apt/fleet.sources" |
    write /etc/apt/sources.list.d/fleet.sources
  container push "$recipes/apt/52fleet-upgrades" /etc/apt/apt.conf.d/52fleet-upgrades
  # In place of python3-gi: the box has a metered network, for which unattended-upgrades asks.
  printf 'class NetworkMonitor:\n    get_default = staticmethod(lambda: None)\n    get_network_metered = staticmethod(lambda monitor: True)\n' |
    write /usr/lib/python3/dist-packages/gi/repository/Gio.py
  settings '{ hostname = true }'
  update_lists || fail "apt-get update: $(cat "$work/apt")"
  inside apt-get -qq install -y fleet-locationd >"$work/apt" 2>&1 || fail "apt-get install: $(cat "$work/apt")"
  until_true 20 online || fail "$name is not online"
  until_true 10 accepted $name || fail "the emulator has seen no update of $name"
done

step "an index of another key, and a changed package, are refused"
other=$(make_key 'Somebody else <else@example.com>')
cp -r "$work/www/debian" "$work/www/foreign"
sed -i "s/$key/$other/" "$work/www/foreign/conf/distributions"
reprepro --silent --silent --basedir "$work/www/foreign" export
inside sed -i 's|/debian|/foreign|' /etc/apt/sources.list.d/fleet.sources
! update_lists && grep -qE 'NO_PUBKEY|Missing key' "$work/apt" ||
  fail "an index that another key has signed: $(cat "$work/apt")"
inside sed -i 's|/foreign|/debian|' /etc/apt/sources.list.d/fleet.sources
rm -rf "$work/www/foreign"
update_lists || fail "apt-get update: $(cat "$work/apt")"
pool=$(find "$work/www/debian/pool" -name 'fleet-locationd_*.deb')
cp "$pool" "$work/kept.deb"
printf x | dd of="$pool" bs=1 seek=2000 conv=notrunc status=none
! inside sh -c 'cd /tmp && apt-get -o APT::Sandbox::User=root download fleet-locationd' >"$work/apt" 2>&1 || fail "a changed package is downloaded"
grep -q 'Hash Sum mismatch' "$work/apt" || fail "a changed package: $(cat "$work/apt")"
cp "$work/kept.deb" "$pool"

step "a version in canary: the box of that channel is upgraded, the other is not"
repack "$good"
repo includedeb canary "$work/$good.deb"
for name in canary stable; do use $name && upgrade; done
use canary
is_installed "$good" || fail "canary has $(installed): $(cat "$work/upgrade")"
until_true 20 online || fail "canary is not online with $good"
use stable
is_installed "$first" || fail "stable has $(installed)"

# Prints the machine ID of the first box of a thousand for which apt chooses this version.
first_box_with() { # VERSION
  inside sh -c 'for box in $(seq 1000); do
    id=$(echo $box | md5sum | cut -c1-32)
    ! apt-cache -o APT::Machine-ID=$id policy fleet-locationd | grep -qxF "  Candidate: $1" || { echo $id; break; }; done' sh "$1"
}
step "promoted in stages: one box of 101 at 0 %, about half of the boxes at 50 %, all at 100 %"
stage 0
update_lists || fail "apt-get update: $(cat "$work/apt")"
# apt draws a number from 0 to 100, and excludes the box if it is greater than the percentage.
[ -n "$(first_box_with "$good")" ] || fail "at 0 % none of a thousand boxes is offered $good"
# The box under test has the ID of one that is excluded, because one of 101 is not.
printf 'APT::Machine-ID "%s";\n' "$(first_box_with "$first")" | write /etc/apt/apt.conf.d/53machine-id
upgrade
is_installed "$first" || fail "at 0 % stable has $(installed)"
stage 50
update_lists || fail "apt-get update: $(cat "$work/apt")"
# The candidates of forty other boxes.
inside sh -c 'for box in $(seq 40); do
  apt-cache -o APT::Machine-ID=$(echo $box | md5sum | cut -c1-32) policy fleet-locationd | sed -n "s/.*Candidate: //p"; done' >"$work/candidates"
offered=$(grep -cx "$good" "$work/candidates") || true
[ "$offered" -ge 10 ] && [ "$offered" -le 30 ] || fail "at 50 % $offered of 40 boxes are offered $good"
stage 100
upgrade
is_installed "$good" || fail "at 100 % stable has $(installed): $(cat "$work/upgrade")"
until_true 20 online || fail "stable is not online with $good"
echo "   at 50 % $offered of 40 boxes"

step "of the packages that are kept, those that the repository no longer offers are deleted"
archived() { inside test -e "/var/cache/apt/archives/fleet-locationd_$1_$(dpkg --print-architecture).deb"; }
archived "$good" || fail "the package of $good is not kept"
inside touch "/var/cache/apt/archives/fleet-locationd_0_$(dpkg --print-architecture).deb"
# As apt-daily-upgrade.service does.
inside /usr/lib/apt/apt.systemd.daily install >"$work/apt" 2>&1 || fail "apt.systemd.daily: $(cat "$work/apt")"
! archived 0 || fail "a package that the repository does not offer stays: $(cat "$work/apt")"
archived "$good" || fail "the package of $good is deleted"

step "key rotation: signed by both keys, the repository is good for boxes with either"
sed -i "s/$key/$key $other/" "$work/www/debian/conf/distributions"
repo export
update_lists || fail "a box with the old key refuses: $(cat "$work/apt")"
gpg --armor --export "$other" | write /etc/apt/keyrings/fleet.asc
update_lists || fail "a box with the new key refuses: $(cat "$work/apt")"

step "status --healthy and systemd's boot assessment"
inside fleet-locationctl status --healthy >"$work/health" || fail "$(cat "$work/health")"
echo "   $(cat "$work/health")"
container push "$recipes/fleet-locationd-healthy.service" /etc/systemd/system/fleet-locationd-healthy.service
complaints=$(inside systemd-analyze verify fleet-locationd-healthy.service 2>&1) || true
[ -z "$complaints" ] || fail "systemd-analyze verify: $complaints"
inside systemctl -q enable fleet-locationd-healthy
inside systemctl start boot-complete.target || fail "boot-complete.target is not reached"
inside systemctl stop boot-complete.target fleet-locationd-healthy fleet-locationd
printf '[Service]\nTimeoutStartSec=2s\n' | write /etc/systemd/system/fleet-locationd-healthy.service.d/test.conf
inside systemctl daemon-reload
! inside systemctl start boot-complete.target 2>/dev/null || fail "boot-complete.target is reached without a daemon"
! inside systemctl is-active -q boot-complete.target || fail "boot-complete.target is active without a daemon"
inside systemctl start fleet-locationd

step "a version that runs and delivers nothing is rolled back, by itself and once"
use canary
for file in "$recipes"/rollback/*.{service,timer}; do container push "$file" "/etc/systemd/system/${file##*/}"; done
inside mkdir -p /usr/local/sbin
container push "$recipes/rollback/fleet-locationd-rollback" /usr/local/sbin/fleet-locationd-rollback
rollback_settings() { # PORT that has to answer
  printf 'ROLLBACK_AFTER=15\nROLLBACK_PROBES=http://127.0.0.1:%s/ http://127.0.0.1:%s/\n' "$web" "$1" | write /etc/default/fleet-locationd-rollback
}
# Port 1 is closed.
rollback_settings 1
complaints=$(inside systemd-analyze verify fleet-locationd-rollback.timer 2>&1) || true
[ -z "$complaints" ] || fail "systemd-analyze verify: $complaints"
# Seconds instead of minutes.
printf '[Timer]\nOnUnitInactiveSec=1s\nOnBootSec=1s\nAccuracySec=1ms\n' | write /etc/systemd/system/fleet-locationd-rollback.timer.d/test.conf
# Each check is logged in the journal, so that the test can count them.
printf '[Unit]\nStartLimitIntervalSec=0\n[Service]\nLogLevelMax=info\n' | write /etc/systemd/system/fleet-locationd-rollback.service.d/test.conf
inside systemctl daemon-reload
# The cache is emptied, so that the package comes from the repository.
inside apt-get clean
inside systemctl -q enable --now fleet-locationd-rollback.timer
journal() { inside journalctl -u fleet-locationd-rollback -o cat --no-pager; }
reference() { [ "$(inside cat /var/lib/fleet-locationd-rollback/reference 2>/dev/null)" = "$1" ]; }
has_package() { inside test -e "/var/lib/fleet-locationd-rollback/$1.deb"; }
until_true 30 reference "$good" || fail "$good is not the reference"
until_true 10 has_package "$good" || fail "the package of $good is not kept"
repack "$bad" "sed -i '/^\[Service\]/a IPAddressDeny=any' lib/systemd/system/fleet-locationd.service"
repo includedeb canary "$work/$bad.deb"
upgrade
is_installed "$bad" || fail "canary has $(installed): $(cat "$work/upgrade")"
# Only one of the two addresses responds, so the failure is not attributed to the version.
checks() { journal | grep -c '^Finished'; }
count=$(checks)
has_checked() { [ "$(checks)" -ge $((count + 20)) ]; }
until_true 90 has_checked || fail "$(checks) checks"
is_installed "$bad" || fail "rolled back although the network is down: $(journal)"
# dpkg is killed while it configures another package, as by a power cut: apt-get then refuses.
mkdir -p "$work/cut/DEBIAN"
printf 'Package: cut\nVersion: 1\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n' > "$work/cut/DEBIAN/control"
printf '#!/bin/sh\n[ -e /run/was-cut ] || { touch /run/was-cut; kill -KILL $PPID; }\n' > "$work/cut/DEBIAN/postinst"
chmod 755 "$work/cut/DEBIAN/postinst"
dpkg-deb --root-owner-group -b "$work/cut" "$work/cut.deb" >/dev/null
container push "$work/cut.deb" /root/cut.deb
! inside dpkg -i /root/cut.deb >"$work/dpkg" 2>&1 || fail "dpkg was not interrupted: $(cat "$work/dpkg")"
! inside apt-get check >"$work/apt" 2>&1 && grep -q 'dpkg was interrupted' "$work/apt" || fail "apt-get: $(cat "$work/apt")"
rollback_settings "$port"
until_true 120 is_installed "$good" || fail "no rollback"
until_true 20 online || fail "not online after the rollback"
says_done() { journal | grep "$good is installed again; $bad is pinned" >/dev/null; }
until_true 20 says_done || fail "the journal: $(journal)"
journal | grep 'rolling back to' | sed 's/^/   /'
upgrade
is_installed "$good" || fail "the bad version is installed again: $(installed)"

step "the power is cut while dpkg replaces the files: the reference is installed again"
repack "$half" "printf '#!/bin/sh\\nkill -KILL \$PPID\\n' > DEBIAN/preinst; chmod 755 DEBIAN/preinst"
container push "$work/$half.deb" /root/half.deb
inside systemctl stop fleet-locationd-rollback.timer
! inside dpkg -i /root/half.deb >"$work/dpkg" 2>&1 || fail "dpkg was not interrupted: $(cat "$work/dpkg")"
! inside apt-get check >"$work/apt" 2>&1 || fail "apt-get check: $(cat "$work/apt")"
inside systemctl start fleet-locationd-rollback.timer
says_repaired() { journal | grep "$good is installed again$" >/dev/null; }
until_true 60 says_repaired || fail "the journal: $(journal | tail -n 5)"
inside apt-get check >"$work/apt" 2>&1 && is_installed "$good" || fail "$(installed) is installed: $(cat "$work/apt")"
until_true 20 online || fail "not online after the power cut"

step "the next version is installed, and is the new reference"
repack "$fixed"
repo includedeb canary "$work/$fixed.deb"
upgrade
is_installed "$fixed" || fail "canary has $(installed): $(cat "$work/upgrade")"
until_true 60 reference "$fixed" || fail "$fixed is not the reference"
until_true 10 has_package "$fixed" || fail "the package of $fixed is not kept"
! has_package "$good" || fail "the package of $good stays"
