#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the units with systemd-analyze: `verify` reports mistakes on stderr and exits with 0, so any output is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in fleet-locationd fleet-locationctl; do install -m 0755 /dev/null "$work/$program"; done
judge() { # UNIT
  sed -i "s|/usr/bin/fleet-|$work/fleet-|" "$1"
  complaints=$(systemd-analyze verify "$1" 2>&1 | grep -v "^$" || true)
  if [ -n "$complaints" ]; then
    printf 'systemd-analyze verify complains:\n%s\n' "$complaints" >&2
    exit 1
  fi
  systemd-analyze security --offline=true --threshold=15 --no-pager "$1" | tail -n 1
}
cp systemd/fleet-locationd.service "$work/"
judge "$work/fleet-locationd.service"
scripts/template-unit.sh > "$work/fleet-locationd@truck.service"
judge "$work/fleet-locationd@truck.service"
# A class of devices that does not exist when the unit starts is left out of its device rules: the module is loaded first.
while read -r class; do
  case $class in
    ttyUSB) module=usbserial ;;
    ttyACM) module=cdc_acm ;;
    # Ports of the board exist since the boot.
    ttyS | ttyAMA | ttymxc) continue ;;
    *) module=$class ;;
  esac
  for key in Wants After; do
    grep -q "^$key=.*modprobe@$module\.service" systemd/fleet-locationd.service ||
      { echo "fleet-locationd.service allows char-$class, and has no $key=modprobe@$module.service" >&2; exit 1; }
  done
done < <(sed -n 's/^DeviceAllow=char-\([^ ]*\) .*/\1/p' systemd/fleet-locationd.service)
cp systemd/fleet-locationd-{settings,failed,retry,retry-due}.* "$work/"
cp systemd/fleet-locationd-settings@.path "$work/fleet-locationd-settings@truck.toml.d.path"
complaints=$(systemd-analyze verify "$work"/fleet-locationd-{settings,failed,retry,retry-due}.* \
  "$work/fleet-locationd-settings@truck.toml.d.path" 2>&1 | grep -v "^$" || true)
[ -z "$complaints" ] || { printf 'systemd-analyze verify complains:\n%s\n' "$complaints" >&2; exit 1; }
# The examples for the ignition, each in the place of the unit that it becomes.
for off in packaging/power/off-*.service; do
  rm -rf "$work/power"
  mkdir "$work/power"
  cp packaging/power/fleet-ignition* "$work/power/"
  cp "$off" "$work/power/fleet-ignition-off.service"
  sed -i "s|/usr/bin/fleet-|$work/fleet-|" "$work"/power/*
  complaints=$(systemd-analyze verify "$work"/power/* 2>&1 | grep -v "^$" || true)
  [ -z "$complaints" ] || { printf 'systemd-analyze verify complains of %s:\n%s\n' "$off" "$complaints" >&2; exit 1; }
done
cp packaging/fleet/copy/fleet-copy@.service "$work/fleet-copy@positions.service"
complaints=$(systemd-analyze verify "$work/fleet-copy@positions.service" 2>&1 | grep -v "^$" || true)
[ -z "$complaints" ] || { printf 'systemd-analyze verify complains:\n%s\n' "$complaints" >&2; exit 1; }
# Checks the message catalog with journalctl.
mkdir -p "$work/root/usr/lib/systemd/catalog" "$work/root/var/lib/systemd/catalog"
cp systemd/fleet-locationd.catalog "$work/root/usr/lib/systemd/catalog/"
journalctl --root="$work/root" --update-catalog
events=$(grep -c '^-- ' systemd/fleet-locationd.catalog)
[ "$(journalctl --root="$work/root" --list-catalog | grep -c fleet-locationd)" -eq "$events" ] ||
  { echo "journalctl does not find all $events events in the message catalog" >&2; exit 1; }
