#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests with other projects' code: run.sh BINDIR [programs | receivers | trials], with the release builds of the programs there.
# All three mostly wait, so they can run concurrently.
set -euo pipefail

bin=$1
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../.venv/bin/python

. "$here/../Support/library.sh"
# Ten times the duration of the longest test on two cores.
limit=600
judge() { # TEXT COMMAND...
  local status=0 signal=TERM
  # After this time, a test kills its processes.
  [[ $2 != *python* ]] || signal=INT
  step "$1"
  timeout --foreground --signal=$signal --kill-after=30 $limit "${@:2}" || status=$?
  [[ $status != 124 && $status != 137 ]] || echo "failed: not over after $limit s" >&2
  [ $status -eq 0 ] || exit $status
}
programs() {
  judge "Google's client library can refuse" \
    "$python" "$here/google_client_judge.py" --self-test
  judge "Google's client drives the emulator" \
    "$python" "$here/emulator_by_google_client.py" "$bin/fleet-engine-emulator"
  judge "Google's auth library verifies the tokens of token-server" \
    "$python" "$here/token_server_by_google_auth.py" "$bin/fleet-engine-emulator"
  judge "The first hour with Fleet Engine, and each of its assumptions broken once" \
    python3 "$here/first_hour.py" "$bin"
  judge "Vehicles that Fleet Engine knows and no box reports" \
    "$python" "$here/fleet_vehicles.py" "$bin/fleet-engine-emulator"
  judge "Google's client libraries read what daemons of both services send" \
    "$here/daemon-by-google-client.sh" "$bin"
  judge "Tokens of other people's libraries, and ours under theirs" \
    "$python" "$here/tokens.py" "$bin"
  judge "The fixes command" \
    "$here/fixes-command.sh" "$bin/fleet-locationctl"
  judge "The simulate command" \
    "$here/simulate-command.sh" "$bin/fleet-locationctl"
  judge "The demo: several vehicles, Ctrl-C, and what cannot be" \
    python3 "$here/demo.py" "$bin"
  judge "The pictures of measurements" \
    python3 "$here/pictures.py"
  judge "Completion in bash" \
    "$here/completion.sh" "$bin"
  judge "HTTP/2 through nghttpx and nginx" \
    python3 "$here/http2/servers.py" "$bin" --updates 100 \
    --only "nghttpx;nghttpx, no table;nghttpx, windows of 1;nginx;nginx, a GOAWAY each 50 requests"
  judge "The status screen, in another terminal emulator (pyte)" \
    "$python" "$here/status-screen.py" "$bin"
  judge "The hidden prompt of setup for the credential" \
    python3 "$here/setup_prompt.py" "$bin"
  judge "The control socket by Varlink's library for Python, and the examples of a driver's app" \
    "$python" "$here/varlink_clients.py" "$bin"
  judge "Metrics and alerts, judged by Prometheus' own programs" \
    "$here/prometheus.sh" "$bin"
  judge "The largest backlog, and a file with a million positions" \
    "$here/full-backlog.sh" "$bin"
  judge "The live map in a browser, with four vehicles and every button" \
    python3 "$here/browser/live_map.py" "$bin" --screenshots "$here/../../build/screenshots"
}
receivers() {
  judge "Recorded receivers against gpsd's answers" \
    "$here/nmea-corpus.sh" "$bin/fleet-locationctl"
  judge "Recorded drives through gpsd's decoder and directly: the same verdicts" \
    python3 "$here/gpsd_verdicts.py" "$bin"
  judge "The same drive through gpsd, and gpsd killed on the way" \
    "$here/gpsd.sh" "$bin"
  judge "A u-blox that sends no NMEA, and Debian's ubxtool" \
    "$here/ubxtool.sh" "$bin"
  judge "The receiver of a modem, behind a ModemManager on a bus of its own" \
    "$here/modem.sh" "$bin"
  judge "The real ModemManager, as far as it goes without a receiver" \
    "$here/modem-real.sh" "$bin"
  judge "The real polkit, and the rule for the service's user" \
    "$here/polkit.sh"
  judge "A virtual serial port of socat's, restarted on either side" \
    "$here/virtual-port.sh" "$bin"
  judge "NMEA over the network: socat, gpsd, lost datagrams, hostile senders" \
    python3 "$here/network-sources.py" "$bin"
}
trials() {
  judge "The live map with three hundred vehicles" \
    python3 "$here/browser/live_map.py" "$bin" --crowd 300 --seconds 1 --screenshots "$here/../../build/screenshots"
  judge "A rehearsal, in brief: forty daemons, and the server killed halfway" \
    python3 "$here/rehearsal.py" "$bin" --vehicles 40 --seconds 20
  judge "A soak, in brief: each trouble once" \
    python3 "$here/soak.py" "$bin" --short
  if [ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ]; then
    judge "A bad mobile link, in brief" \
      python3 "$here/badlink/badlink.py" "$bin" --short
  else
    echo "NOT RUN: a bad mobile link, because network namespaces and TUN devices need root"
  fi
}
case ${2:-all} in
  programs) programs ;;
  receivers) receivers ;;
  trials) trials ;;
  all) programs; receivers; trials ;;
  *) echo "run.sh BINDIR [programs | receivers | trials]" >&2; exit 64 ;;
esac
