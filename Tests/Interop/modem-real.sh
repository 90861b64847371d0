#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real ModemManager, on its own bus, with a simulated modem: modem-real.sh BINDIR. Its test interface creates modems
# from sockets, which have no receiver; so this tests the messages about a modem, and about a missing one.
# MODEMMANAGER is the program (/usr/sbin/ModemManager), MODEMMANAGER_PLUGINS its directory of plugins.
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
program=${MODEMMANAGER:-/usr/sbin/ModemManager}
plugins=${MODEMMANAGER_PLUGINS:-/usr/lib/$(uname -m)-linux-gnu/ModemManager}
if [ ! -x "$program" ]; then
  echo "there is no $program (make setup-test installs it)" >&2
  exit 1
fi
. "$here/library.sh"

dbus-daemon --config-file="$here/modem/bus.conf" --nofork --print-address=3 3>"$work/bus" 2>/dev/null &
until_true 5 test -s "$work/bus" || fail "the bus does not start"
DBUS_SYSTEM_BUS_ADDRESS=$(head -n 1 "$work/bus")
export DBUS_SYSTEM_BUS_ADDRESS
cat > "$work/settings.toml" <<TOML
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "modemmanager"
device = "/virtual/fleet"
[token]
url = "http://127.0.0.1:9/{vehicle_id}"
TOML
"$bin/fleet-locationd" --config "$work/settings.toml" 2>"$work/daemon.log" &
said "ModemManager is not running"

# manager SIM: with a modem whose SIM is in this state.
manager() {
  "$here/modem/at_modem.py" "fleet-$$" "$1" &
  port=$!
  until_true 5 grep -q "fleet-$$" /proc/net/unix || fail "the modem does not listen"
  DBUS_SESSION_BUS_ADDRESS=$DBUS_SYSTEM_BUS_ADDRESS "$program" --test-session --test-enable --test-no-udev --no-auto-scan \
    --test-plugin-dir="$plugins" >"$work/modemmanager.log" 2>&1 &
  manager=$!
  said "ModemManager has no modem"
  dbus-send --bus="$DBUS_SYSTEM_BUS_ADDRESS" --print-reply --dest=org.freedesktop.ModemManager1 /org/freedesktop/ModemManager1 \
    org.freedesktop.ModemManager1.Test.SetProfile string:fleet string:generic "array:string:abstract:fleet-$$" >/dev/null
}
end() {
  kill "$manager" "$port"
  wait "$manager" "$port" 2>/dev/null || true
  said "ModemManager is not running"
}
manager READY
said "modem 0, Quectel EC25 has no receiver that ModemManager knows"
end
manager "SIM PIN"
said "modem 0, Quectel EC25 is locked: without the PIN of its SIM"
end
manager ""
said "modem 0, Quectel EC25 has no SIM, and ModemManager before 1.24"
end
echo "the real ModemManager: $(timeout 5 "$program" --version | head -n 1), found, with a modem that is ready, locked and without a SIM, and gone"
