#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The receiver of a modem behind a ModemManager on its own bus: modem.sh BINDIR. The modem is switched on and, at the end,
# off again; it freezes, is unplugged, has no SIM, is locked, is used by another program, and polkit refuses.
set -euo pipefail

bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/library.sh"
# The daemon's counters.
fixes() { "$bin/fleet-locationctl" metrics --socket "$work/run/control.sock" | awk '/^fleet_locationd_fixes_total/ { print $2 }'; }
has_fixes() { [ "$(fixes)" -ge "$1" ]; }
reports() {
  local before
  before=$(fixes)
  [ -n "$before" ] || fail "no metrics"
  until_true 20 has_fixes $((before + 1)) || fail "no positions $1"
}
modem() { echo "$*" > "$work/modem"; }

# calls: the number of calls of ModemManager since its start.
calls() {
  local before
  before=$(grep -c "^calls" "$work/modemmanager.log" || true)
  modem calls
  until_true 5 is_counted "$before" || fail "the fake ModemManager does not count"
  awk '/^calls/ { last = $2 } END { print last }' "$work/modemmanager.log"
}
is_counted() { [ "$(grep -c "^calls" "$work/modemmanager.log")" -gt "$1" ]; }

export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
start_bus() {
  dbus-daemon --config-file="$here/modem/bus.conf" --address="$DBUS_SYSTEM_BUS_ADDRESS" --nofork 2>"$work/bus.log" &
  bus=$!
  until_true 5 test -S "$work/bus" || fail "the bus does not start"
}
start_bus
emulate
cat > "$work/settings.toml" <<TOML
[vehicle]
provider_id = "interop"
vehicle_id = "truck"
[source]
type = "modemmanager"
imei = "354479080000017"
silence_timeout = "2s"
[token]
url = "$url/token/delivery_driver/{vehicle_id}"
expiration_key = "expiration_timestamp_ms"
expiration_format = "epoch-ms"
[fleet_engine]
endpoint = "$url"
[reporting]
interval = "0s"
TOML
mkdir "$work/run"
: > "$work/daemon.log"
RUNTIME_DIRECTORY=$work/run "$bin/fleet-locationd" --config "$work/settings.toml" 2>"$work/daemon.log" &
daemon=$!
said "ModemManager is not running"

start_modemmanager() {
  rm -f "$work/modem"
  "$bin/fleet-locationctl" simulate "$here/../../config/examples/town.gpx" --format nmea --pace 1 --loop |
    "$here/modem/fake_modemmanager.py" "$work/modem" >>"$work/modemmanager.log" 2>&1 &
  until_true 10 test -p "$work/modem" || fail "the fake ModemManager does not start"
}
start_modemmanager
reports "from the modem"
grep -q "^setup 7 signals 0$" "$work/modemmanager.log" || fail "the receiver is not switched on, with what was on before"
[ "$(awk '/^Threads/ { print $2 }' "/proc/$daemon/status")" -eq 1 ] || fail "the daemon has more than one thread"
"$bin/fleet-locationctl" doctor --config "$work/settings.toml" --socket "$work/run/control.sock" > "$work/doctor" || true
grep -q "pass  modem 0, Quectel EC25, and its receiver is on" "$work/doctor" || { cat "$work/doctor"; fail "doctor"; }
grep -q "pass  a fix: 3D" "$work/doctor" || { cat "$work/doctor"; fail "doctor has no fix"; }

asks_each_second() {
  local before start=$SECONDS
  before=$(calls)
  sleep 5
  asked=$(($(calls) - before))
  elapsed=$((SECONDS - start))
  [ "$asked" -ge 4 ] && [ "$asked" -le $((elapsed + 2)) ]
}
# A process that stalls may lose a call, or repeat one.
asks_each_second || asks_each_second || asks_each_second || fail "ModemManager was asked $asked times in $elapsed s"

modem freeze
said "has frozen: ModemManager has repeated the same sentences"
modem go
reports "after it was frozen"
modem unplug
said "ModemManager has no modem"
before=$(calls)
sleep 3
[ "$(calls)" -eq "$before" ] || fail "ModemManager is asked while there is no modem"
modem plug
reports "of the modem that was plugged in again"
modem sim no
said "has no SIM, and ModemManager before 1.24 reports no positions without one"
modem sim pin
said "is locked: without the PIN of its SIM"
modem sim ok
reports "after the SIM was unlocked"
modem unmanaged on
said 'another program has enabled gps-unmanaged .*device = "/dev/ttyUSB1"'
modem allow setup no
modem unmanaged off
said "is off, and this user may not switch it on; switch it on: sudo fleet-locationctl modem enable"
if "$bin/fleet-locationctl" modem enable --config "$work/settings.toml" 2>"$work/refusal"; then fail "enable may not"; fi
grep -q "this user may not switch on the receiver" "$work/refusal" || fail "enable does not say why"
modem allow setup yes
# With a modem in front that is absent.
sed 's/^\[source\]/[[source]]\ntype = "modemmanager"\nimei = "490154203237518"\n\n[[source]]/' "$work/settings.toml" >"$work/two.toml"
status=0
"$bin/fleet-locationctl" modem enable --wait 1 --config "$work/two.toml" >"$work/enabled" 2>"$work/refusal" || status=$?
grep -q "is on now" "$work/enabled" || fail "enable: $(cat "$work/enabled" "$work/refusal")"
[ "$status" -eq 69 ] || fail "enable with an absent modem: exit status $status"
reports "after root has switched the receiver on"
modem allow location no
said "does not let this user read positions; grant it org.freedesktop.ModemManager1.Location with polkit"
modem allow location yes
modem off
reports "after the receiver was switched off by another program"
modem quit
said "ModemManager is not running"
start_modemmanager
reports "of the ModemManager that was started again"
# The real ModemManager exits with its bus; the fake one is stopped before that, because its control file is removed.
modem quit
said "ModemManager is not running"
kill "$bus"
said "the message bus has closed the connection"
rm -f "$work/bus"
start_bus
start_modemmanager
reports "after the bus was started again"
kill "$daemon"
wait "$daemon" || fail "the daemon does not end well"
[ "$(grep -c updateMask "$work/requests.jsonl")" -ge 3 ] || fail "Fleet Engine has got no positions"
# The daemon waits only a second for the reply.
is_off() { [ "$(tail -n 1 "$work/modemmanager.log")" = "setup 1 signals 0" ]; }
until_true 5 is_off || fail "the receiver is not switched off at the end"
echo "modem: switched on and off, frozen, unplugged, without SIM, locked, taken, refused; the daemon came back each time"
