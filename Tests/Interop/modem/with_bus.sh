#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The fake ModemManager on its own bus, at DBUS_SYSTEM_BUS_ADDRESS: with_bus.sh CONTROL < SENTENCES
set -euo pipefail

here=$(dirname "$0")
dbus-daemon --config-file="$here/bus.conf" --address="$DBUS_SYSTEM_BUS_ADDRESS" --nofork &
trap 'kill $!' EXIT
for _ in $(seq 100); do [ ! -S "${DBUS_SYSTEM_BUS_ADDRESS#unix:path=}" ] || break; sleep 0.1; done
"$here/fake_modemmanager.py" "$1"
