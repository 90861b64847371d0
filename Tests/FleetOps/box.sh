# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by a test that needs boxes: containers with a real systemd, as of Tests/Systemd. The test sets CONTAINER_EXTRA before its
# first box, and $packages to the directory of our packages. All boxes have the loopback of this machine.
#
#   use NAME                 the box that the next commands mean; boots it if it does not run; all end with the test
#   inside COMMAND...        runs a command in it
#   write PATH [MODE]        writes standard input to a file in it
#   install_package NAME...  installs packages of ours with dpkg
#   until_true SECONDS COMMAND...
#   step TEXT, fail TEXT

systemd_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")/../Systemd" && pwd)
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
# Another for each run, so that two may run at once.
port=$((20000 + $$ % 20000))
boxes=()

container() { CONTAINER_NAME=fleet-$box-$$ "$systemd_tests/container.sh" "$@"; }
finish() {
  local box
  for box in "${boxes[@]}"; do container down || true; done
  rm -rf "$work"
}
trap finish EXIT

use() {
  box=$1
  [[ " ${boxes[*]} " != *" $box "* ]] || return 0
  boxes+=("$box")
  container boot
}
inside() { container exec "$@"; }
write() {
  cat > "$work/text"
  chmod "${2:-644}" "$work/text"
  container push "$work/text" "$1"
}
package() { ls "$packages/$1"_[0-9]*_"$(dpkg --print-architecture)".deb; }
install_package() {
  local name files=()
  for name in "$@"; do
    container push "$(package "$name")" "/root/$name.deb"
    files+=("/root/$name.deb")
  done
  inside dpkg -i "${files[@]}" >"$work/dpkg" 2>&1 || fail "dpkg: $(cat "$work/dpkg")"
}
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}
step() { printf '== %s\n' "$1"; }
fail() {
  inside journalctl -n 60 --no-pager -o short-monotonic >&2 || true
  echo "failed: $*" >&2
  exit 1
}
