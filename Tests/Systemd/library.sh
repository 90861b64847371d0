# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by tests in a container, which set $work, $packages, and a function `container` that calls container.sh.
#
#   inside COMMAND...    runs a command in the container
#   write PATH [MODE]    writes standard input to a file in it
#   package NAME         the path of our package of this name
# and the functions of Tests/Support/library.sh.

. "$(dirname "${BASH_SOURCE[0]}")/../Support/library.sh"
inside() { container exec "$@"; }
write() {
  cat > "$work/text"
  chmod "${2:-644}" "$work/text"
  container push "$work/text" "$1"
}
package() { ls "$packages/$1"_[0-9]*_"$(dpkg --print-architecture)".deb; }
