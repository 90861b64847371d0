# SPDX-License-Identifier: Apache-2.0
# Functions for tests in a machine. A test begins with: source "$(dirname "$0")/../library.sh"
# shellcheck shell=bash
set -Eeuo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
machine=$top/Tests/Machine/machine.sh
export MACHINE_BIN=${MACHINE_BIN:-$top/.build/release}
# An emulated processor is several times slower.
factor=1
[ "${MACHINE_ARCH:-amd64}" = amd64 ] || factor=5

guest() { "$machine" run "$@"; }

step() { echo "- $*"; }

fail() {
  trap - ERR
  echo "failed: $*" >&2
  guest 'systemctl --no-pager status fleet-locationd; journalctl -b -u fleet-locationd -u emulator -o short-precise --no-pager |
    tail -40; ls -l /dev/serial/by-id; ! [ -e /tmp/doctor ] || cat /tmp/doctor' >&2 || true
  exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR

# The programs, the unit and its user, as installed by `make install`, or from the packages for another architecture; the local
# Fleet Engine as a service beside them.
install_programs() {
  local stage name version
  if [ "${MACHINE_ARCH:-amd64}" != amd64 ]; then
    version=$(dpkg-parsechangelog -l "$top/packaging/debian/changelog" -S Version)
    for name in fleet-locationd fleet-engine-emulator; do
      "$machine" copy "$top/build/${name}_${version}_$MACHINE_ARCH.deb" "/root/$name.deb"
    done
    guest 'dpkg -i /root/fleet-*.deb >/root/dpkg.log 2>&1' || fail "dpkg -i: $(guest 'cat /root/dpkg.log')"
  else
    stage=$(mktemp -d)
    # The root of the archive becomes the root of the machine.
    chmod 0755 "$stage"
    make -s -C "$top" install DESTDIR="$stage" BIN="$MACHINE_BIN"
    install -m 0755 "$MACHINE_BIN/fleet-engine-emulator" "$stage/usr/bin/"
    strip "$stage"/usr/bin/fleet-*
    tar -C "$stage" -cf - . | guest 'tar -C / -xmf - --no-same-owner'
    rm -rf "$stage"
    guest 'systemd-sysusers 2>/dev/null && systemd-tmpfiles --create fleet-locationd.conf && systemctl daemon-reload'
  fi
  guest 'systemd-run --quiet --unit=emulator fleet-engine-emulator --port 8080
    until curl -s -o /dev/null http://127.0.0.1:8080/; do sleep 0.1; done'
}

# write_settings < SOURCES: settings with these sources, for the Fleet Engine in the machine
write_settings() {
  {
    cat <<'END'
[vehicle]
provider_id = "machine"
vehicle_id = "truck"
[token]
url = "http://127.0.0.1:8080/token/delivery_driver/{vehicle_id}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "http://127.0.0.1:8080"
[reporting]
interval = "5s"
END
    cat
  } | guest 'mkdir -p /etc/fleet-locationd && cat > /etc/fleet-locationd/fleet-locationd.toml'
}

# wait_for SECONDS WHAT COMMAND: waits in the machine until the command succeeds, and prints how long that took there
wait_for() {
  local limit=$(($1 * factor)) what=$2 command=$3 took
  # shellcheck disable=SC2016
  took=$(guest bash -s <<END
begin=\$(date +%s%N)
until { $command; } >/dev/null 2>&1; do
  [ \$(((\$(date +%s%N) - begin) / 1000000000)) -lt $limit ] || exit 1
  sleep 0.05
done
echo \$(((\$(date +%s%N) - begin) / 100000000))
END
  ) || fail "$what: not within $limit s"
  echo "    $what: after $((took / 10)).$((took % 10)) s"
}

# Without an exit status of 1 while the vehicle is not online.
accepted() { guest "fleet-locationctl status --json || true" | sed -n 's/.*"accepted":\([0-9]*\).*/\1/p'; }

# wait_for_updates SECONDS WHAT: waits until one more update than now is accepted
wait_for_updates() {
  local before
  before=$(accepted)
  wait_for "$1" "$2" "[ \$(fleet-locationctl status --json | sed -n 's/.*\"accepted\":\\([0-9]*\\).*/\\1/p') -gt ${before:-0} ]"
}

expect() { # WHAT COMMAND
  guest "$2" >/dev/null || fail "$1"
  echo "    $1"
}
