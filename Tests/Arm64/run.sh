#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The arm64 packages in a Debian 12 for arm64, emulated by qemu-user: installed by apt, then the daemon delivers updates.
# run.sh DIRECTORY-OF-PACKAGES
#
# Not covered: systemd's rules for the unit (there is no systemd here), memory and speed (those of the emulation).
set -euo pipefail

[ "$(id -u)" -eq 0 ] || exec sudo ARM64_CACHE="${ARM64_CACHE:-}" "$0" "$@"
packages=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
interop=$here/../Interop
cache=${ARM64_CACHE:-/var/cache/fleet-locationd-arm64}/test
base=$cache/root

. "$here/../Support/library.sh"
fail() {
  echo "failed: $*" >&2
  [ ! -s "${work:-}/daemon.log" ] || tail -n 20 "$work/daemon.log" >&2
  exit 1
}

# -- The root file system, once, and the dependencies of the packages

if [ -z "${ARM64_PREPARED:-}" ]; then
  # Until the end of the test: other checkouts have the same root, with their packages.
  mkdir -p "$(dirname "$cache")"
  exec 8>"$cache.lock"
  flock 8
  "$here/../../scripts/arm64/emulate.sh"
  if [ ! -e "$cache/complete" ]; then
    echo "Making a Debian 12 for arm64 in $cache: once, some minutes"
    mirror=$(apt-get indextargets --format '$(SITE)' | grep -E '/debian/?$' | head -n 1) || true
    rm -rf "$cache"
    mkdir -p "$cache"
    mmdebstrap --quiet --variant=minbase --arch=arm64 --skip=cleanup/apt/lists --aptopt='Acquire::Languages "none"' \
      --aptopt='APT::Install-Recommends "false"' bookworm "$base" "${mirror:-http://deb.debian.org/debian}"
    touch "$cache/complete"
  fi
  # Dependencies of the packages are downloaded into the cache of this root, and installed in a temporary overlay.
  rm -f "$base"/root/*.deb
  cp "$(package fleet-locationd arm64)" "$(package fleet-engine-emulator arm64)" "$base/root/"
  cp /etc/resolv.conf "$base/etc/resolv.conf"
  chroot "$base" sh -c 'apt-get install -qq -y --download-only /root/*.deb' >/dev/null
  # From here on, there is no network except the loopback.
  ARM64_PREPARED=yes exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc --net "$0" "$packages"
fi

work=$(mktemp -d)
mount -t tmpfs tmpfs "$work"
mkdir "$work"/{upper,layer,root,bin}
root=$work/root
mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/layer" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
finish() {
  umount -l "$work"
  rmdir "$work"
}
trap finish EXIT
ip link set lo up

clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive)
exec_inside() { exec chroot "$root" "${clean[@]}" "$@"; }
inside() { chroot "$root" "${clean[@]}" "$@"; }
# As in the unit, for a background process like the previous one.
as_service() {
  exec_inside setpriv --reuid=fleet-locationd --regid=fleet-locationd --init-groups --no-new-privs \
    env STATE_DIRECTORY=/var/lib/fleet-locationd RUNTIME_DIRECTORY=/run/fleet-locationd NOTIFY_SOCKET=/run/notify "$@"
}

# -- The packages

step "install: apt finds what the packages depend on"
inside sh -c 'apt-get install -qq -y /root/*.deb' >"$work/apt" 2>&1 || { cat "$work/apt"; fail "apt-get install"; }
[ "$(inside uname -m)" = aarch64 ] || fail "this root is for $(inside uname -m)"
[ "$(inside dpkg-query -W -f '${Architecture} ${Status}' fleet-locationd)" = "arm64 install ok installed" ] || fail "dpkg-query"
inside dpkg --verify fleet-locationd fleet-engine-emulator || fail "dpkg --verify"
inside id -nG fleet-locationd | grep -qw dialout || fail "the user is not in the group dialout"
inside fleet-locationd --version | head -n 1
echo "   $(stat -c %s "$(package fleet-locationd arm64)") bytes to fetch," \
  "$(inside dpkg-query -W -f '${Installed-Size}' fleet-locationd) kB installed, and" \
  "$(grep -c '^Setting up' "$work/apt") packages with it on a Debian of the smallest kind"

step "start: over TLS with an authority of our own, from a serial port; READY with the source open"
"$interop/tls-front.sh" certificates "$work/tls"
install -m 644 "$work/tls/ca.crt" "$root/etc/fleet-locationd/ca.crt"
"$interop/tls-front.sh" serve "$work/tls" good 8711 8710 >"$work/front.log" 2>&1 &
emulate() {
  exec_inside fleet-engine-emulator --port 8710 --record /run/record.jsonl --ready-file /run/emulator --quiet &
  emulator=$!
  until_true 30 test -s "$root/run/emulator" || fail "the emulator does not start"
}
emulate
plug() {
  rm -f "$root/run/gps0"
  inside fleet-locationctl simulate /usr/share/doc/fleet-locationd/examples/demo.gpx --loop --pace 1 --format nmea |
    python3 "$here/receiver.py" "$root/run/gps0" &
  until_true 20 test -e "$root/run/gps0" || fail "no pseudo terminal"
}
plug
settings() { # END-OF-THE-SETTINGS
  cat > "$root/etc/fleet-locationd/fleet-locationd.toml" <<TOML
[vehicle]
provider_id = "test-project"
vehicle_id = "truck-17"
[source]
type = "serial"
device = "/run/gps0"
baud = "auto"
[token]
url = "https://localhost:8711/token/delivery_driver/{vehicle_id}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
ca_file = "ca.crt"
[fleet_engine]
endpoint = "https://localhost:8711"
ca_file = "ca.crt"
[reporting]
interval = "1s"
[backlog]
commit_interval = "1s"
$1
TOML
}
settings ""
inside fleet-locationd --check || fail "fleet-locationd --check"
install -d -o "$(inside id -u fleet-locationd)" -g "$(inside id -g fleet-locationd)" -m 700 "$root"/{run,var/lib}/fleet-locationd
socat -u UNIX-RECV:"$root/run/notify",mode=666 CREATE:"$work/notified" &
start() {
  as_service fleet-locationd 2>>"$work/daemon.log" &
  daemon=$!
}
# Exits with 0 if the last update was accepted, 1 if it was not, and another status if no daemon answers.
online() { inside fleet-locationctl status --json >"$work/status" 2>&1; }
answers() { online || [ $? -eq 1 ]; }
waiting() { online || true; sed 's/.*"backlog":{[^}]*"count":\([0-9]*\).*/\1/' "$work/status"; }
accepted() { grep -c '"accepted":true' "$root/run/record.jsonl"; }
until_true 20 test -S "$root/run/notify"
start
until_true 60 online || fail "not online: $(cat "$work/status")"
until_true 20 eval '[ "$(accepted)" -ge 5 ]' || fail "five updates are not accepted"
until_true 5 grep -q 'READY=1' "$work/notified" || fail "notified systemd: $(cat "$work/notified")"

step "fleet-locationctl: status, doctor, metrics, token; other users are rejected"
inside fleet-locationctl status | sed 's/^/   /'
inside fleet-locationctl doctor >"$work/doctor" || { cat "$work/doctor"; fail "doctor"; }
sed 's/^/   /' "$work/doctor"
inside fleet-locationctl metrics | grep '_total' >/dev/null || fail "metrics"
inside fleet-locationctl token >"$work/token" || { cat "$work/token"; fail "token"; }
code=0
inside setpriv --reuid=65534 --regid=65534 --clear-groups fleet-locationctl status >/dev/null 2>&1 || code=$?
[ "$code" -eq 77 ] || fail "status as another user: exit $code"

step "power cut: queued positions survive it, and are delivered"
kill "$emulator"
until_true 30 eval '[ "$(waiting)" -ge 5 ]' || fail "queued: $(waiting)"
sleep 3
before=$(waiting)
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
start
until_true 60 answers || fail "no response after kill -9"
# The file is read after the first request, or after three seconds.
restored() { sed -n 's/^\([0-9]*\) positions\? of an earlier run found on disk.*/\1/p' "$work/daemon.log"; }
until_true 30 eval '[ -n "$(restored)" ]' || fail "no position of the earlier run is found"
after=$(restored)
[ "${after:-0}" -ge "$((before - 3))" ] || fail "of $before queued positions $after are left"
emulate
until_true 60 eval 'online && [ "$(waiting)" -le 1 ]' || fail "the backlog does not drain: $(cat "$work/status")"
grep -q 'pastLocations' "$root/run/record.jsonl" || fail "no past position has arrived"
echo "   $before queued, $after after kill -9, $(accepted) updates accepted in all"

step "reload, stop: exit codes"
settings '[log]
level = "debug"'
inside fleet-locationctl reload || fail "reload"
kill -TERM "$daemon"
code=0
wait "$daemon" || code=$?
[ "$code" -eq 0 ] || fail "after SIGTERM it ended with $code"
# The daemon uses the last settings that worked, if they are stored.
settings '[reporting]'
start
until_true 60 online || fail "not online with the kept settings: $(cat "$work/status")"
kill -TERM "$daemon"
wait "$daemon" || fail "after SIGTERM with the kept settings it ended with $?"
rm "$root/var/lib/fleet-locationd/kept-settings.toml"
code=0
as_service fleet-locationd 2>"$work/mistake" & wait $! || code=$?
[ "$code" -eq 78 ] || fail "with a mistake in its settings it ended with $code: $(cat "$work/mistake")"

step "the same bytes as on amd64: drives and recordings"
# The tests are outside the root, and use its libraries.
for program in fleet-locationd fleet-locationctl; do ln -s "$root/usr/bin/$program" "$work/bin/"; done
export QEMU_LD_PREFIX=$root
"$interop/simulate-command.sh" "$work/bin/fleet-locationctl"
"$interop/fixes-command.sh" "$work/bin/fleet-locationctl"
echo "== done in $SECONDS s"
