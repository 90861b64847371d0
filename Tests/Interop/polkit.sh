#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The package's rule, tested with a real polkitd on its own bus: of all actions that ModemManager knows, it allows the service's user
# only to read positions, and other users none. Needs root for its own mount namespace.
set -euo pipefail

here=$(realpath "$(dirname "$0")")
if [ -z "${IN_NAMESPACE:-}" ]; then
  if [ ! -x /usr/lib/polkit-1/polkitd ] || [ ! -e /usr/share/polkit-1/actions/org.freedesktop.ModemManager1.policy ]; then
    echo "there is no polkitd, or no ModemManager (make setup-test installs both)" >&2
    exit 1
  fi
  if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
    echo "NOT RUN: a mount namespace needs root"
    exit 0
  fi
  IN_NAMESPACE=1 exec unshare -m "$here/polkit.sh"
fi

. "$here/library.sh"
chmod 0755 "$work"
# polkitd looks up names, and the service's user does not exist on this machine.
user=64321
{ cat /etc/passwd; echo "fleet-locationd:x:$user:$user::/nonexistent:/usr/sbin/nologin"; } > "$work/passwd"
mount --bind "$work/passwd" /etc/passwd
mount --bind "$here/../../packaging/polkit" /usr/share/polkit-1/rules.d

export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
dbus-daemon --config-file="$here/modem/bus.conf" --address="$DBUS_SYSTEM_BUS_ADDRESS" --nofork 2>"$work/bus.log" &
until_true 5 test -S "$work/bus" || fail "the bus does not start"
/usr/lib/polkit-1/polkitd >>"$work/bus.log" 2>&1 &
answers() { pkaction >/dev/null 2>&1; }
until_true 5 answers || fail "polkitd does not start"
actions=$(pkaction | grep '^org.freedesktop.ModemManager1.')
setpriv --reuid "$user" --regid "$user" --clear-groups sleep infinity &
service=$!
setpriv --reuid 65534 --regid 65534 --clear-groups sleep infinity &
other=$!
# setpriv runs as root at first.
are_users() { [ "$(stat -c %u "/proc/$service")-$(stat -c %u "/proc/$other")" = "$user-65534" ]; }
until_true 5 are_users || fail "setpriv does not change the users"

may() { pkcheck --action-id "$1" --process "$2" >/dev/null 2>&1; }
# 1 to 3: not authorized, authentication impossible or dismissed. Any other status is an error.
may_not() {
  local status=0
  may "$1" "$2" || status=$?
  [ $status -ge 1 ] && [ $status -le 3 ]
}
right=org.freedesktop.ModemManager1.Location
may "$right" "$service" || fail "the service may not read positions"
wider=0
for action in $actions; do
  may_not "$action" "$other" || fail "another user may $action"
  [ "$action" = "$right" ] && continue
  may_not "$action" "$service" || fail "the service may $action as well"
  wider=$((wider + 1))
done
may "$right" "$service" || fail "the service may no longer read positions"
[[ $actions == *Device.Control* ]] || fail "ModemManager's rights have other names"
echo "polkit: the service's user may read positions, has none of ModemManager's $wider other rights, and other users have none"
