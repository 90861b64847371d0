# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by bash tests.
#
#   step TEXT                       prints a heading
#   until_true SECONDS COMMAND...   repeats a command until it succeeds, and fails after this time and 5 s for processes
#                                   that stall
#   free_port [FIRST]               prints one of 10,000 ports at which nothing listens, below those that the kernel gives
#                                   to connections
#   package NAME [ARCHITECTURE]     prints the path of our package of this version, in the directory $packages

changelog=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../packaging/debian" && pwd)/changelog
step() { printf '== %s\n' "$1"; }
until_true() {
  local end=$((SECONDS + $1 + 5))
  shift
  until "$@"; do
    # Once more after the end: this process may have stalled since it last tried.
    [ $end -gt 0 ] || return 1
    [ $SECONDS -lt $end ] || end=0
    sleep 0.1
  done
}
free_port() {
  local port
  while port=$((${1:-20000} + RANDOM % 10000)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo $port
}
package() {
  ls "$packages/$1_$(dpkg-parsechangelog -l "$changelog" -S Version)_${2:-$(dpkg --print-architecture)}.deb"
}
