# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests in a container, which set $work, $packages, and a function `container` that calls container.sh.
#
#   inside COMMAND...    runs a command in the container
#   write PATH [MODE]    writes standard input to a file in it
#   install              boots the container and installs our packages
#   settings VEHICLE [INSTANCE [SERVICE]]    writes settings that name the emulator
#   emulate              starts the emulator at $port, and waits until it answers
#   credential           writes the credential of the token provider, and the drop-in of fleet-locationd.service that names it
#   property NAME [UNIT], status_says TEXT [UNIT], journal [OPTION...]    of fleet-locationd.service, or of UNIT
#   ends_with STATUS [UNIT]    fails unless the unit fails with this exit status; a change of its settings may just have restarted it
# and the functions of Tests/Support/library.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../Support/library.sh"
inside() { container exec "$@"; }
write() {
  cat > "$work/text"
  chmod "${2:-644}" "$work/text"
  container push "$work/text" "$1"
}
# Reads to the end, unlike grep -q, which makes a writer fail with EPIPE.
has() { grep "$@" >/dev/null; }
fail() {
  container exec journalctl -u 'fleet-locationd*' -n 40 --no-pager -o short-monotonic >&2 || true
  echo "failed: $*" >&2
  exit 1
}
property() { inside systemctl show -P "$1" "${2:-fleet-locationd}"; }
status_says() { [[ $(property StatusText "${2:-fleet-locationd}") == *$1* ]]; }
has_ended_with() { [ "$(property ActiveState "${2:-}") $(property ExecMainStatus "${2:-}")" = "failed $1" ]; }
ends_with() {
  until_true 10 has_ended_with "$@" || fail "it is $(property ActiveState "${2:-}"), $(property ExecMainStatus "${2:-}"), not failed, $1"
}
journal() {
  # What has been logged may not be in the file yet.
  inside journalctl --sync
  inside journalctl -u fleet-locationd -o cat "$@"
}

# Other tests run at once, and this port is often free for a while.
port=$(free_port 10000)
settings() { # VEHICLE [INSTANCE [SERVICE]]
  local path=delivery_driver form=lmfs
  [ "${3:-deliveries}" = deliveries ] || path=driver form=rides-stub
  write "/etc/fleet-locationd/${2:-fleet-locationd}.toml" <<END
[vehicle]
provider_id = "test-project"
vehicle_id = "$1"
service = "${3:-deliveries}"
[source]
type = "simulated"
route = "/usr/share/doc/fleet-locationd/examples/demo.gpx"
[token]
url = "http://127.0.0.1:$port/token/$path/{vehicle_id}"
response = "$form"
headers = { Authorization = { credential = "token-provider" } }
[fleet_engine]
endpoint = "http://127.0.0.1:$port"
[reporting]
interval = "1s"
END
}

emulate() {
  inside systemd-run -q --unit=emulator fleet-engine-emulator --port "$port" --token-authorization "Bearer s3cret-of-the-box" \
    --record /run/record.jsonl
  until_true 20 curl -sf -o "$work/stats" "http://127.0.0.1:$port/debug/stats" || fail "the emulator does not answer"
}

install() {
  container boot
  inside ip link set lo up 2>/dev/null || true
  local name
  for name in fleet-locationd fleet-engine-emulator; do
    container push "$(package $name)" "/root/$name.deb"
  done
  inside dpkg -i /root/fleet-locationd.deb /root/fleet-engine-emulator.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "dpkg -i"; }
}
credential() {
  printf 'Bearer s3cret-of-the-box' | write /etc/fleet-locationd/token-provider 600
  printf '[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n' |
    write /etc/systemd/system/fleet-locationd.service.d/credential.conf
  inside systemctl daemon-reload
}
