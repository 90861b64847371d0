#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Drives simulated vehicles against the local Fleet Engine and shows what arrives: demo.sh --check | demo.sh BINDIR
# Options are environment variables; --check validates them:
#   DEMO_ROUTE     a GPX or GeoJSON file (config/examples/town.gpx)
#   DEMO_VEHICLES  number of vehicles, spread along it (1)
#   DEMO_SERVICE   deliveries or trips; default: deliveries, and trips for every second vehicle
#   DEMO_SPEEDUP   time lapse (1)
#   DEMO_SECONDS   duration; default: until Ctrl-C
#   DEMO_SOURCE    tcp or udp: the drive as NMEA sentences over the network; modem: from a simulated modem, with a simulated
#                  ModemManager on a bus of its own; default: the daemon simulates the drive
#   DEMO_TILES     map tiles, as for --tiles of fleet-engine-emulator, and DEMO_ATTRIBUTION, their copyright notice
# Exits 0 only if updates were accepted, over HTTP/2 where there is nghttpx, and every daemon ran to the end.
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
route=${DEMO_ROUTE:-$top/config/examples/town.gpx}
vehicles=${DEMO_VEHICLES:-1}
chosen=${DEMO_SERVICE:-}
speedup=${DEMO_SPEEDUP:-1}
duration=${DEMO_SECONDS:-}
kind=${DEMO_SOURCE:-simulated}

mistake() {
  echo "demo: $1" >&2
  exit 2
}

# A whole number without a leading zero, and not so long that arithmetic fails.
is_number() { [[ $1 =~ ^[1-9][0-9]{0,6}$ ]] && [ "$1" -le "$2" ]; }

is_number "$vehicles" 100 || mistake "VEHICLES=$vehicles: a whole number from 1 to 100 is expected"
[[ $chosen =~ ^(|deliveries|trips)$ ]] || mistake "SERVICE=$chosen: deliveries or trips is expected, or nothing"
[ -z "$duration" ] || is_number "$duration" 864000 || mistake "SECONDS=$duration: a whole number from 1 to 864000 is expected"
[[ $speedup =~ ^(0|[1-9][0-9]?)(\.[0-9]{1,3})?$ ]] && awk -v n="$speedup" 'BEGIN { exit !(n >= 0.1 && n <= 20) }' ||
  mistake "SPEEDUP=$speedup: a number from 0.1 to 20 is expected, as in SPEEDUP=4"
case $kind in
  simulated) ;;
  tcp | udp) command -v socat >/dev/null || mistake "SOURCE=$kind needs socat: sudo apt install socat" ;;
  modem)
    command -v dbus-daemon >/dev/null && /usr/bin/python3 -c 'import dbus, gi' 2>/dev/null ||
      mistake "SOURCE=modem needs dbus-daemon and two of Python's modules: sudo apt install dbus-daemon python3-dbus python3-gi"
    ;;
  *) mistake "SOURCE=$kind: tcp, udp or modem is expected" ;;
esac
[ "$kind" = simulated ] || { [ "$vehicles" -eq 1 ] && [ "$speedup" = 1 ]; } ||
  mistake "SOURCE=$kind is for one vehicle at its own speed: a receiver's clock goes no faster"
[ -f "$route" ] || mistake "ROUTE=$route: there is no such file; a GPX or GeoJSON file is expected, as config/examples/town.gpx"
[ -r "$route" ] || mistake "ROUTE=$route: the file may not be read"
[ -z "${DEMO_TILES:-}" ] || [ -n "${DEMO_ATTRIBUTION:-}" ] ||
  mistake "TILES needs ATTRIBUTION, the names of those who made the pictures"
[ "${1:-}" != --check ] || exit 0

bin=$(cd "$1" && pwd)
route=$(realpath "$route")
if [ "$vehicles" -eq 1 ]; then
  "$bin/fleet-locationctl" simulate "$route" --duration 1s >/dev/null
else
  # There is one RMC sentence per second, so their number is the duration; an endless drive is cut off after a day.
  length=$("$bin/fleet-locationctl" simulate "$route" --format nmea --duration 24h | grep -c RMC)
fi

work=$(mktemp -d -t fleet-demo.XXXXXX)
emulator=''
front=''
clock=''
daemons=()
receiver=''
names=()
failed=''

# CPU and memory of all daemons, from /proc.
cost() {
  local pid ticks=0 own=0 count=0 stat
  for pid in "${daemons[@]}"; do
    stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
    # After the name in brackets; user and system time are fields 14 and 15.
    read -r -a stat <<<"${stat##*) }"
    ticks=$((ticks + stat[11] + stat[12]))
    own=$((own + $(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status" 2>/dev/null || echo 0)))
    count=$((count + 1))
  done
  [ "$count" -gt 1 ] || return 0
  awk -v n="$count" -v cpu="$ticks" -v hz="$(getconf CLK_TCK)" -v kb="$own" -v s="$(($(date +%s) - begun))" 'BEGIN {
    printf "%d daemons in %d s: %.1f s of CPU and %.0f MB of memory of their own, together\n", n, s, cpu / hz, kb * 1.024 / 1000 }'
}

# If nghttpx is available, updates must use HTTP/2, according to the daemons.
went_over_http2() {
  local index answer spoken=''
  for index in "${!daemons[@]}"; do
    answer=$("$bin/fleet-locationctl" status --json --socket "$work/${names[$index]}/control.sock" 2>/dev/null) || true
    [[ $answer =~ \"transport\":\"([^\"]*)\" ]] || continue
    spoken=${BASH_REMATCH[1]//\\/}
    [ "$spoken" = HTTP/2 ] || { echo "demo: updates of ${names[$index]} used $spoken, not HTTP/2" >&2; return 1; }
  done
  [ -n "$spoken" ] || { echo "demo: no update used HTTP/2" >&2; return 1; }
}

finish() {
  local code=$?
  # Whatever fails from here on, what was started must end: the reader of the output may be gone.
  set +e
  trap '' INT TERM HUP PIPE
  [ -z "$front" ] || [ -n "$failed" ] || [ "${#daemons[@]}" -eq 0 ] || went_over_http2 || code=1
  [ "${#daemons[@]}" -lt 2 ] || [ -n "$failed" ] || cost
  # The daemons first, because they send pending positions before they exit.
  [ "${#daemons[@]}" -eq 0 ] || kill "${daemons[@]}" 2>/dev/null || true
  for pid in ${daemons[@]+"${daemons[@]}"}; do wait "$pid" 2>/dev/null || true; done
  [ -z "$clock" ] || kill "$clock" 2>/dev/null || true
  # A process group: the drive and socat.
  [ -z "$receiver" ] || kill -- "-$receiver" 2>/dev/null || true
  if [ -n "$emulator" ]; then
    kill "$emulator" 2>/dev/null || true
    wait "$emulator" 2>/dev/null || code=$?
  fi
  if [ -n "$front" ]; then
    kill "$front" 2>/dev/null || true
    wait "$front" 2>/dev/null || true
  fi
  if [ -n "$failed" ]; then
    echo "demo: the daemon of $failed has ended unexpectedly" >&2
    [ ! -f "$work/$failed/log" ] || tail -n 5 "$work/$failed/log" >&2
    code=1
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 0' INT TERM

# Fleet Engine requires 5 s between updates; a faster drive is shown in the same detail, with up to one update per second.
interval=$(awk -v n="$speedup" 'BEGIN { ms = 5000 / n; printf "%dms", (ms > 5000 ? 5000 : ms < 1000 ? 1000 : ms) }')
if [ "$interval" = 5000ms ]; then remarks=''; else remarks=--any-interval; fi

# All in their own sessions, so that Ctrl-C reaches only this script, which ends them in order.
pictures=()
[ -z "${DEMO_TILES:-}" ] || pictures=(--tiles "$DEMO_TILES" --attribution "$DEMO_ATTRIBUTION")
# shellcheck disable=SC2086
setsid "$bin/fleet-engine-emulator" --port 0 --ready-file "$work/url" --require-updates 1 --route "$route" $remarks \
  ${pictures[@]+"${pictures[@]}"} &
emulator=$!
for _ in $(seq 600); do
  [ -s "$work/url" ] && break
  kill -0 "$emulator" 2>/dev/null || exit 1
  sleep 0.05
done
url=$(cat "$work/url")

# TLS and HTTP/2 as in production, if nghttpx can be put in front of the emulator.
endpoint=$url
trust=''
transport='plain HTTP/1.1 (with nghttpx, of nghttp2-proxy, it would be HTTP/2 over TLS)'
if command -v nghttpx >/dev/null && command -v openssl >/dev/null; then
  "$top/Tests/Interop/tls-front.sh" certificates "$work/tls"
  front_port=$((20000 + RANDOM % 6000))
  while (: <"/dev/tcp/127.0.0.1/$front_port") 2>/dev/null; do front_port=$((20000 + RANDOM % 6000)); done
  setsid "$top/Tests/Interop/tls-front.sh" serve "$work/tls" good "$front_port" "${url##*:}" 2>/dev/null &
  front=$!
  for _ in $(seq 600); do
    kill -0 "$front" 2>/dev/null || { front=''; break; }
    if (: <"/dev/tcp/127.0.0.1/$front_port") 2>/dev/null; then
      endpoint=https://localhost:$front_port
      trust="ca_file = \"$work/tls/ca.crt\""
      transport='HTTP/2 over TLS, through nghttpx'
      break
    fi
    sleep 0.05
  done
fi

quoted=$(sed 's/[\\"]/\\&/g' <<<"$route")

# The service of a vehicle, by its number.
service_of() {
  if [ -n "$chosen" ]; then echo "$chosen"; elif (($1 % 2)); then echo deliveries; else echo trips; fi
}

name_of() {
  local kind=truck
  [ "$(service_of "$1")" = deliveries ] || kind=taxi
  if [ "$vehicles" -eq 1 ]; then echo "$kind-17"; else printf "$kind-%0*d\n" "${#vehicles}" "$1"; fi
}

drive() {
  local number=$1 name service path form head_start=0
  name=$(name_of "$number")
  service=$(service_of "$number")
  if [ "$service" = trips ]; then path=driver form=rides-stub; else path=delivery_driver form=lmfs; fi
  # Spread over the duration of the drive, not its length, so that some vehicles are at a stop.
  [ "$vehicles" -eq 1 ] || head_start=$((length * (number - 1) / vehicles))
  mkdir "$work/$name" "$work/$name/state"
  local source
  case $kind in
    tcp) source=$(printf 'type = "nmea-tcp"\naddress = "127.0.0.1:%s"' "$nmea_port") ;;
    udp) source=$(printf 'type = "nmea-udp"\nlisten = "127.0.0.1:%s"' "$nmea_port") ;;
    modem) source='type = "modemmanager"' ;;
    *)
      source=$(printf 'type = "simulated"\nroute = "%s"\npace = %s\nhead_start = "%ss"\nseed = %s' \
        "$quoted" "$speedup" "$head_start" "$number")
      ;;
  esac
  cat > "$work/$name/settings.toml" <<END
[vehicle]
provider_id = "demo-project"
vehicle_id = "$name"
service = "$service"

[source]
$source

[token]
url = "$url/token/$path/{vehicle_id}"
response = "$form"

[fleet_engine]
endpoint = "$endpoint"
$trust

[reporting]
interval = "$interval"
stop_timeout = "6s"
END
  local -x RUNTIME_DIRECTORY=$work/$name STATE_DIRECTORY=$work/$name/state
  if [ "$vehicles" -eq 1 ]; then
    setsid "$bin/fleet-locationd" --config "$work/$name/settings.toml" &
  else
    setsid "$bin/fleet-locationd" --config "$work/$name/settings.toml" 2>"$work/$name/log" &
  fi
  daemons+=($!)
  names+=("$name")
}

first=$(name_of 1)
if [ "$vehicles" -eq 1 ]; then subject="a vehicle drives"; else subject="$vehicles vehicles drive"; fi
[ "$speedup" = 1 ] || subject+=" at $speedup times the speed"
if [ -n "$duration" ]; then until="For $duration s"; else until="Until Ctrl-C"; fi
control=$bin/fleet-locationctl
cat <<END

  Live map      $url/
  Transport     $transport
  Live status   ${control#"$PWD"/} status --watch --socket $work/$first/control.sock
  Pause         ${control#"$PWD"/} pause --socket $work/$(name_of "$vehicles")/control.sock; then resume

$until $subject, and the local Fleet Engine shows each position that it accepts:
END

# The receiver is a process group of its own, so that it ends as a whole.
sentences() { # COMMAND...: reads the sentences of the drive.
  # shellcheck disable=SC2016 # for the other shell
  setsid bash -c '"$0" simulate "$1" --loop --pace 1 --format nmea | "${@:2}"' "$bin/fleet-locationctl" "$route" "$@" &
  receiver=$!
}
# Below the ports that the kernel gives to connections.
while nmea_port=$((26000 + RANDOM % 4000)) && (: <"/dev/tcp/127.0.0.1/$nmea_port") 2>/dev/null; do :; done
case $kind in
  tcp) sentences socat -u - "TCP-LISTEN:$nmea_port,bind=127.0.0.1,reuseaddr" ;;
  udp) sentences socat -u - "UDP-SENDTO:127.0.0.1:$nmea_port" ;;
  modem)
    export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
    sentences "$top/Tests/Interop/modem/with_bus.sh" "$work/modem" 2>"$work/modemmanager.log" >&2
    for _ in $(seq 100); do [ ! -p "$work/modem" ] || break; sleep 0.1; done
    [ -p "$work/modem" ] || { cat "$work/modemmanager.log" >&2; mistake "the simulated ModemManager does not start"; }
    echo "The modem's receiver  echo freeze > $work/modem; then go, unplug, plug, sim no, sim ok, unmanaged on, unmanaged off"
    ;;
esac

begun=$(date +%s)
for number in $(seq "$vehicles"); do drive "$number"; done
sleep "${duration:-infinity}" &
clock=$!
# Ends early if a daemon or the emulator ends.
ended=''
wait -n -p ended "$clock" "$emulator" "${daemons[@]}" || true
for index in "${!daemons[@]}"; do
  [ "${daemons[$index]}" != "$ended" ] || failed=${names[$index]}
done
