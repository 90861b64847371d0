#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs those of the given Debian packages that are missing.
set -euo pipefail

missing=()
for package in "$@"; do
  dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "Installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Missing packages, and no sudo: as root run: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A new machine upgrades itself in the background, so locks are waited for, up to ten minutes. DPkg::Lock::Timeout waits only for
# dpkg's lock, not for those of package lists and archives.
apt() {
  local end=$((SECONDS + 600))
  until "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >"$log" 2>&1; do
    if ! grep -q 'Could not get lock' "$log" || [ $SECONDS -ge $end ]; then
      cat "$log" >&2
      echo "apt-get $1 failed; more may be in /var/log/apt/term.log" >&2
      exit 1
    fi
    echo "Waiting: $(grep -m 1 'Could not get lock' "$log")"
    sleep 5
  done
}
apt update
apt install -y --no-install-recommends "${missing[@]}"
