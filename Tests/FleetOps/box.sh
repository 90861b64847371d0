# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests that need boxes: containers with a real systemd, as in Tests/Systemd. The test sets CONTAINER_EXTRA before its
# first box, and $packages to the directory of our packages. All boxes share the loopback of this machine.
#
#   use NAME                 selects the box for the following commands; boots it if it does not run; all are stopped at the end
#   install_package NAME...  installs our packages with dpkg
#   emulate [OPTION...]      starts the emulator on this machine, at $port, which also issues tokens; it ends with the test
#   settings VEHICLE-ID      writes settings of a simulated drive to the box, in TOML, for the emulator
#   accepted VEHICLE         succeeds if the emulator has accepted an update of the vehicle
#   fail TEXT                ends the test, and prints the end of the journal
# and the functions of Tests/Systemd/library.sh, for that box.

systemd_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/../Systemd" && pwd)
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
boxes=()
# Processes on this machine that end with the test.
background=()
. "$systemd_tests/library.sh"

container() { CONTAINER_NAME=fleet-$box-$$ "$systemd_tests/container.sh" "$@"; }
finish() {
  local box
  for box in "${boxes[@]}"; do container down || true; done
  [ ${#background[@]} -eq 0 ] || kill "${background[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

use() {
  box=$1
  [[ " ${boxes[*]} " != *" $box "* ]] || return 0
  boxes+=("$box")
  container boot
}
install_package() {
  local name files=()
  for name in "$@"; do
    container push "$(package "$name")" "/root/$name.deb"
    files+=("/root/$name.deb")
  done
  inside dpkg -i "${files[@]}" >"$work/dpkg" 2>&1 || fail "dpkg: $(cat "$work/dpkg")"
}
emulate() {
  dpkg-deb -x "$(package fleet-engine-emulator)" "$work/emulator"
  "$work/emulator/usr/bin/fleet-engine-emulator" --port "$port" --record "$work/record.jsonl" "$@" >"$work/emulator.log" 2>&1 &
  background+=($!)
}
settings() {
  write /etc/fleet-locationd/fleet-locationd.toml <<END
[vehicle]
provider_id = "test-project"
vehicle_id = $1
[source]
type = "simulated"
route = "/usr/share/doc/fleet-locationd/examples/demo.gpx"
[token]
url = "http://127.0.0.1:$port/token/delivery_driver/{vehicle_id}"
response = "lmfs"
[fleet_engine]
endpoint = "http://127.0.0.1:$port"
[reporting]
interval = "1s"
heartbeat = "5s"
END
}
accepted() { grep -q "deliveryVehicles/$1[?\"].*updateMask" "$work/record.jsonl"; }
fail() {
  inside journalctl -n 60 --no-pager -o short-monotonic >&2 || true
  echo "failed: $*" >&2
  exit 1
}
