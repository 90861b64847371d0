#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# systemd's own judgement of the unit: `verify` complains on stderr and exits 0, so any word of it is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s|/usr/bin/fleet-locationd|$work/fleet-locationd|" systemd/fleet-locationd.service > "$work/fleet-locationd.service"
install -m 0755 /dev/null "$work/fleet-locationd"
complaints=$(systemd-analyze verify "$work/fleet-locationd.service" 2>&1 | grep -v "^$" || true)
if [ -n "$complaints" ]; then
  printf 'systemd-analyze verify complains:\n%s\n' "$complaints" >&2
  exit 1
fi
systemd-analyze security --offline=true --threshold=15 --no-pager "$work/fleet-locationd.service" | tail -n 1
