#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other people's code as the judge: run.sh BINDIR, with the programs built for release there.
set -euo pipefail

bin=$1
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../.venv/bin/python

. "$here/../Support/library.sh"
step "Google's client library can refuse"
"$python" "$here/google_client_judge.py" --self-test
step "Google's client drives the emulator"
"$python" "$here/emulator_by_google_client.py" "$bin/fleet-engine-emulator"
step "Google's auth library verifies the tokens of token-server"
"$python" "$here/token_server_by_google_auth.py" "$bin/fleet-engine-emulator"
step "Google's client libraries read what daemons of both services send"
"$here/daemon-by-google-client.sh" "$bin"
step "Tokens of other people's libraries, and ours under theirs"
"$python" "$here/tokens.py" "$bin"
step "The fixes command"
"$here/fixes-command.sh" "$bin/fleet-locationctl"
step "The simulate command"
"$here/simulate-command.sh" "$bin/fleet-locationctl"
step "The demo: several vehicles, Ctrl-C, and what cannot be"
python3 "$here/demo.py" "$bin"
step "The pictures of measurements"
python3 "$here/pictures.py"
step "Completion in bash"
"$here/completion.sh" "$bin"
step "HTTP/2 through nghttpx and nginx"
python3 "$here/http2/servers.py" "$bin" --updates 100 \
  --only "nghttpx;nghttpx, no table;nghttpx, windows of 1;nginx;nginx, a GOAWAY each 50 requests"
step "The status screen, in another terminal emulator (pyte)"
"$python" "$here/status-screen.py" "$bin"
step "Metrics and alerts, judged by Prometheus' own programs"
"$here/prometheus.sh" "$bin"
step "Recorded receivers against gpsd's answers"
"$here/nmea-corpus.sh" "$bin/fleet-locationctl"
step "The same drive through gpsd, and gpsd killed on the way"
"$here/gpsd.sh" "$bin"
step "The receiver of a modem, behind a ModemManager on a bus of its own"
"$here/modem.sh" "$bin"
step "The real ModemManager, as far as it goes without a receiver, and the real polkit"
"$here/modem-real.sh" "$bin"
"$here/polkit.sh"
step "A virtual serial port of socat's, restarted on either side"
"$here/virtual-port.sh" "$bin"
step "NMEA over the network: socat, gpsd, lost datagrams, hostile senders"
python3 "$here/network-sources.py" "$bin"
step "The live map in a browser, with four vehicles and every button"
python3 "$here/browser/live_map.py" "$bin" --screenshots "$here/../../build/screenshots"
step "The live map with three hundred vehicles"
python3 "$here/browser/live_map.py" "$bin" --crowd 300 --seconds 1 --screenshots "$here/../../build/screenshots"
step "A rehearsal, in brief: forty daemons, and the server killed halfway"
python3 "$here/rehearsal.py" "$bin" --vehicles 40 --seconds 20
step "A soak, in brief: each trouble once"
python3 "$here/soak.py" "$bin" --short
step "A bad mobile link, in brief"
if [ "$(id -u)" -eq 0 ] && [ -c /dev/net/tun ]; then
  python3 "$here/badlink/badlink.py" "$bin" --short
else
  echo "NOT RUN: network namespaces and TUN devices need root"
fi
