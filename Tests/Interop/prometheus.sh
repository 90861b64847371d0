#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks metrics and alerts with Prometheus' own programs: prometheus.sh BINDIR. Debian's packages are unpacked and not
# installed: that would start services on this machine.
set -euo pipefail
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/library.sh"

tools=$root/.build/prometheus-tools
if [ ! -x "$tools/usr/bin/promtool" ] || [ ! -x "$tools/usr/bin/prometheus-node-exporter" ]; then
  mkdir -p "$tools"
  (cd "$tools" && apt-get download -q prometheus prometheus-node-exporter >/dev/null &&
    for package in ./*.deb; do dpkg -x "$package" .; done && rm -f ./*.deb) ||
    { echo "NOT RUN: Debian's prometheus cannot be had (apt-get update?)" >&2; exit 1; }
fi
promtool=$tools/usr/bin/promtool

"$promtool" check rules "$root/packaging/prometheus/fleet-locationd.rules.yml"
(cd "$root/packaging/prometheus" && "$promtool" test rules fleet-locationd.rules.test.yml)
"$promtool" check rules "$root/packaging/fleet/prometheus/fleet.rules.yml"
(cd "$root/packaging/fleet/prometheus" && "$promtool" test rules fleet.rules.test.yml fleet.rollout.test.yml fleet.outage.test.yml)
# Only the structure of the dashboards; make fleet-ops-test runs their queries.
"$root/Tests/FleetOps/dashboard.py" "$root"/packaging/fleet/grafana/*.json

# A daemon that drives.
emulate
mkdir "$work/textfiles"
cat >"$work/settings.toml" <<SETTINGS
[vehicle]
provider_id = "demo"
vehicle_id = "truck-17"
[source]
type = "simulated"
route = "$root/config/examples/demo.gpx"
[token]
url = "$url/token/delivery_driver/{vehicle_id}"
[fleet_engine]
endpoint = "$url"
[metrics]
textfile = "$work/textfiles/fleet_locationd.prom"
SETTINGS
RUNTIME_DIRECTORY=$work "$bin/fleet-locationd" --config "$work/settings.toml" >"$work/daemon.log" 2>&1 &
daemon=$!
ctl() { "$bin/fleet-locationctl" "$@" --socket "$work/control.sock"; }
is_online() {
  ctl metrics >"$work/metrics" 2>"$work/ctl.log" &&
    grep -qx 'fleet_locationd_online{provider="[^"]*",vehicle="[^"]*"} 1' "$work/metrics"
}
until_true 10 is_online || fail "the vehicle is not online"
"$promtool" check metrics <"$work/metrics"
# promtool rejects invalid metrics.
if sed 's/^\(# TYPE fleet_locationd_online\) gauge/\1 nonsense/' "$work/metrics" | "$promtool" check metrics >/dev/null 2>&1; then
  fail "promtool accepts an invalid type"
fi

# Another vehicle on the same box, with its own file.
mkdir "$work/other"
sed -e 's/truck-17/truck-18/' -e "s|$work/textfiles/|$work/other/|" "$work/settings.toml" >"$work/other.toml"
RUNTIME_DIRECTORY=$work/other "$bin/fleet-locationd" --config "$work/other.toml" >"$work/other.log" 2>&1 &
other=$!
until_true 10 grep -qs '^fleet_locationd_online{.*} 1$' "$work/other/fleet_locationd.prom" || fail "the other vehicle is not online"

# The real node exporter reads the file, through a link, as in docs/metrics.md.
mkdir "$work/collector"
ln -s "$work/textfiles/fleet_locationd.prom" "$work/collector/"
ln -s "$work/other/fleet_locationd.prom" "$work/collector/truck-18.prom"
port=$(free_port)
"$tools/usr/bin/prometheus-node-exporter" --web.listen-address="127.0.0.1:$port" --collector.disable-defaults \
  --collector.textfile --collector.textfile.directory="$work/collector" >"$work/exporter.log" 2>&1 &
until_true 10 curl -sf -o "$work/scraped" "http://127.0.0.1:$port/metrics" || fail "the node exporter does not answer"
# When stopped, the daemon writes the file once more: the exporter then has the final values. The other one
# adds no series meanwhile.
kill "$daemon"
wait "$daemon" || fail "the daemon does not end well"
kill -STOP "$other"
curl -sf "http://127.0.0.1:$port/metrics" >"$work/scraped" || fail "the node exporter does not answer any more"
for line in 'node_textfile_scrape_error 0' 'fleet_locationd_online{provider="[^"]*",vehicle="[^"]*"} 0' \
  'fleet_locationd_online{provider="demo",vehicle="truck-18"} 1'; do
  grep -qx "$line" "$work/scraped" || fail "the node exporter has no $line"
done
# The names and labels of samples; the exporter sorts the labels.
series() { grep '^fleet_locationd_' | perl -pe 's/ [^ ]+$/\n/; s/\{(.*)\}/"{" . join(",", sort split(m{,(?=\w+=)}, $1)) . "}"/e' | sort; }
wanted=$(cat "$work/textfiles/fleet_locationd.prom" "$work/other/fleet_locationd.prom" | series)
found=$(series <"$work/scraped")
kill -CONT "$other"
[ "$wanted" = "$found" ] || { diff <(echo "$wanted") <(echo "$found") >&2; exit 1; }
echo "prometheus: promtool accepts metrics and alerts, the node exporter serves all $(wc -l <<<"$wanted") series"
