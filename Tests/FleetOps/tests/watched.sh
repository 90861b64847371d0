#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A box pushes its metrics with the units of docs/fleet.md, and gets new settings: the central Prometheus shows which
# settings are in force. watched.sh DIRECTORY-OF-PACKAGES. The metrics of faults, and the data volume of metrics, are
# tested in metrics.py.
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=victoria-metrics,prometheus,haproxy,curl CONTAINER_BOOT_SECONDS=60
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet
# Different for each run: the boxes share the loopback of this machine.
prometheus=$((port + 2)) outside=$((port + 3)) journal=$((port + 4)) served=$((port + 5)) pushed=$((port + 6)) agent=$((port + 7))
here() {
  # No name server: name lookups are tested in metrics.py.
  sed -e "s/metrics.example.com:9443/127.0.0.1:9443/; s/127.0.0.1:9090/127.0.0.1:$prometheus/; s/:9443/:$outside/; s/bind :/bind 127.0.0.1:/; s/:19532/:$journal/; s/127.0.0.1:9101/127.0.0.1:$served/" \
    -e "s/127.0.0.1:9102/127.0.0.1:$pushed/; s/127.0.0.1:9103/127.0.0.1:$agent/" \
    -e 's/scrape_interval: 2m/scrape_interval: 2s/; s/flushInterval=6m/flushInterval=3s/'
}
# The value of a query at the central Prometheus, and a label of its result: label NAME QUERY.
ask() { inside curl -s --data-urlencode "query=$1" "http://127.0.0.1:$prometheus/api/v1/query"; }
value() { ask "$1" | sed -nE 's/.*"value":\[[0-9.]+,"([^"]*)"\].*/\1/p'; }
label() { ask "$2" | sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\1/p"; }
is() { [ "$(value "$2")" = "$1" ]; }
hash_is_not() { local now; now=$(label hash fleet_locationd_config_info); [ -n "$now" ] && [ "$now" != "$1" ]; }

mkdir -m 700 "$work/secrets"
boxes() { (cd "$work/secrets" && "$recipes/enrolment/fleet-boxes" "$@"); }
boxes init metrics.example.com tokens.example.com
boxes add truck-17

step "the central machine: Prometheus behind haproxy"
use central
inside systemctl disable -q --now victoria-metrics
for file in central ca crl; do write /etc/fleet-metrics/$file.pem 600 < "$work/secrets/central/$file.pem"; done
here < "$recipes/central-haproxy.cfg" | write /etc/haproxy/haproxy.cfg
here < "$recipes/prometheus/default" | write /etc/default/prometheus
write /etc/prometheus/fleet.rules.yml < "$recipes/prometheus/fleet.rules.yml"
sed 's/evaluation_interval: 1m/evaluation_interval: 2s/' "$recipes/prometheus/prometheus.yml" | write /etc/prometheus/prometheus.yml
inside systemctl restart prometheus haproxy || fail "prometheus and haproxy"
until_true 20 is 1 'vector(1)' || fail "Prometheus does not answer"

step "the box: metrics are served for a scrape, and pushed"
emulate
use box
inside systemctl disable -q --now prometheus
inside systemctl disable -q --now victoria-metrics
install_package fleet-locationd
for file in "$recipes"/metrics/fleet-metrics*.*; do
  here < "$file" | write "/etc/systemd/system/$(basename "$file")"
done
write /usr/local/bin/fleet-metrics 755 < "$recipes/metrics/fleet-metrics"
here < "$recipes/metrics/scrape.yml" | write /etc/fleet-metrics/scrape.yml
write /etc/fleet-metrics/relabel.yml < "$recipes/metrics/relabel.yml"
here < "$recipes/metrics/box-haproxy.cfg" | write /etc/haproxy/haproxy.cfg
write /etc/fleet-metrics/box.pem 600 < "$work/secrets/boxes/truck-17/box.pem"
write /etc/fleet-metrics/ca.pem < "$work/secrets/central/ca.pem"
write /etc/fleet-locationd/conf.d/metrics.toml < "$recipes/metrics/metrics.toml"
settings '"truck-17"'
inside systemctl daemon-reload
inside systemctl restart fleet-locationd haproxy
inside systemctl enable -q --now fleet-metrics.socket fleet-metrics-push fleet-metrics-off fleet-metrics-resolv.timer
until_true 20 accepted truck-17 || fail "no update arrives"
is_served() { inside curl -sf "http://127.0.0.1:$served/metrics" | has '^fleet_locationd_build_info'; }
# The first file may be from before the daemon knows the time.
until_true 20 is_served || fail "the socket does not answer with metrics: $(inside cat /run/fleet-locationd/fleet_locationd.prom | grep clock_offset)"
until_true 30 is 1 'fleet_locationd_online{vehicle="truck-17"}' || fail "nothing is pushed: $(inside journalctl -u fleet-metrics-push -o cat --no-pager | tail -n 5)"
is 1 fleet:boxes || until_true 10 is 1 fleet:boxes || fail "the rules do not count the box"
[ -z "$(inside journalctl -q --no-pager -u 'fleet-metrics@*' 2>/dev/null)" ] || fail "each scrape is in the journal: $(inside journalctl -q --no-pager -u 'fleet-metrics@*' | tail -n 3)"
memory() {
  local pids
  pids=$(inside cat "/sys/fs/cgroup/system.slice/$1.service/cgroup.procs")
  for pid in $pids; do inside cat "/proc/$pid/smaps_rollup"; done | awk '/^Pss:/ { sum += $2 } END { printf "%.0f", sum / 1000 }'
}
echo "   memory on the box: vmagent $(memory fleet-metrics-push) MB, haproxy $(memory haproxy) MB"
echo "   disk: $(inside dpkg-query -W -f '${Package} ${Installed-Size} kB, ' victoria-metrics haproxy)of which vmagent $(inside stat -c %s /usr/bin/vmagent | cut -c1-2) MB"

step "haproxy uses the name servers of a network that comes later, and is not restarted while they are the same"
name_servers() { # LINE...; replaces the file, like a network manager
  printf '%s\n' "$@" | write /run/network/resolv.conf.new
  inside mv /run/network/resolv.conf.new /run/network/resolv.conf
}
is_restarted() { [ "$(property MainPID haproxy)" != "$pid" ] && inside systemctl is-active -q haproxy; }
is_not_restarted() {
  pid=$(property MainPID haproxy)
  inside systemctl start fleet-metrics-resolv || return
  sleep 1
  [ "$(property MainPID haproxy)" = "$pid" ] && inside systemctl is-active -q haproxy
}
has_failed() { [ "$(property ActiveState haproxy)" = failed ]; }
[ "$(property NextElapseUSecMonotonic fleet-metrics-resolv.timer)" != infinity ] || fail "the timer does not elapse"
# There has been no network since the start.
inside mkdir -p /run/network
inside ln -sfn ../run/network/resolv.conf /etc/resolv.conf
inside systemctl restart haproxy 2>/dev/null || true
until_true 20 has_failed || fail "haproxy does not fail without the file: $(property ActiveState haproxy)"
pid=0
name_servers "# a comment" "nameserver 192.0.2.53"
inside systemctl start fleet-metrics-resolv
until_true 20 is_restarted || fail "haproxy is not started"
name_servers "# another comment" "nameserver 192.0.2.53"
is_not_restarted || fail "haproxy is restarted without need"
inside systemctl restart haproxy
is_not_restarted || fail "haproxy is restarted, and has just started"
pid=$(property MainPID haproxy)
name_servers "nameserver 192.0.2.54"
inside systemctl start fleet-metrics-resolv
until_true 20 is_restarted || fail "haproxy is not restarted"
until_true 30 is 1 'fleet_locationd_online{vehicle="truck-17"}' || fail "nothing is pushed after the restart"

step "settings: a file in conf.d and a reload show at the central machine, and so does a mistake"
before=$(label hash fleet_locationd_config_info)
write /etc/fleet-locationd/conf.d/rollout.toml <<'END'
[filter]
max_accuracy = "40 m"
END
inside systemctl reload fleet-locationd || fail "reload: $(inside journalctl -u fleet-locationd -n 3 -o cat --no-pager)"
until_true 80 hash_is_not "$before" || fail "the hash of the settings in force is the old one"
after=$(label hash fleet_locationd_config_info)
[ "$after" = "$(inside fleet-locationctl status --json | sed -nE 's/.*"hash":"([0-9a-f]+)".*/\1/p')" ] || fail "it is not the box's"
write /etc/fleet-locationd/conf.d/rollout.toml <<'END'
[filter]
max_acuracy = "40 m"
END
! inside systemctl reload fleet-locationd 2>/dev/null || fail "a reload with a mistake succeeds"
until_true 80 is 0 fleet_locationd_config_last_reload_success || fail "the mistake does not show"
[ "$(label hash fleet_locationd_config_info)" = "$after" ] || fail "other settings are in force"
inside systemctl restart fleet-locationd
until_true 80 is 1 fleet_locationd_config_kept || fail "the kept settings do not show"
echo "   hash $before, then $after; a mistake shows as config_last_reload_success 0, after a restart as config_kept 1"

step "a daemon that is stopped has no metrics, and the rules know the box all the same"
inside systemctl stop fleet-locationd
until_true 30 is "" 'fleet_locationd_online{vehicle="truck-17"}' || fail "it is still there"
is 1 fleet:boxes || fail "the box is no part of the fleet any more"
is "" fleet_box_off_timestamp_seconds || fail "that is announced like a shutdown"

step "the announcement of a shutdown has the daemon's time, and is not from before its last update"
announced() { # CLOCK-OFFSET LAST-UPDATE: prints the announced time; both times in seconds from now, by the machine's clock
  local now
  now=$(inside date +%s)
  write /run/fleet-locationd-clock/fleet_locationd.prom <<END
fleet_locationd_paused{provider="p",vehicle="v"} 0
fleet_locationd_clock_offset_seconds{provider="p",vehicle="v"} $1
fleet_locationd_last_update_timestamp_seconds{provider="p",vehicle="v"} $((now + $2)).5
END
  inside fleet-metrics off | awk -v now="$now" '/^fleet_box_off_timestamp_seconds{provider="p",vehicle="v"} / { print $2 - now }'
}
is_soon_after() { [ "$1" -ge "$2" ] && [ "$1" -lt $(($2 + 10)) ]; }
behind=$(announced -300.4 290) slightly=$(announced 0 20) ahead=$(announced 1800.4 -1900)
inside rm -r /run/fleet-locationd-clock
is_soon_after "$behind" 300 || fail "with a clock that is 300 s behind: $behind"
is_soon_after "$slightly" 21 || fail "with a clock that is 20 s behind, which counts as right: $slightly"
is_soon_after "$ahead" -1800 || fail "with a clock that is 1,800 s ahead: $ahead"

step "a reboot is not announced: a box that does not come back has failed"
inside rm /etc/fleet-locationd/conf.d/rollout.toml
inside systemctl start fleet-locationd || fail "start"
until_true 30 is 1 'fleet_locationd_online{vehicle="truck-17"}' || fail "truck-17 does not report"
inside cp --remove-destination /run/network/resolv.conf /etc/resolv.conf
container reboot
use central
is "" fleet_box_off_timestamp_seconds || fail "it is announced: $(ask fleet_box_off_timestamp_seconds)"
use box

step "a box that is shut down announces it for each vehicle, although its next push is minutes away"
inside sh -c 'cd /etc/fleet-locationd && sed s/truck-17/van-18/ fleet-locationd.toml > van.toml'
inside systemctl start fleet-locationd fleet-locationd@van || fail "start of two daemons"
# Longer than the stop of a daemon: without an order none would have metrics then.
inside sed -i 's|^ExecStop=|ExecStop=/usr/bin/sleep 4\n&|' /etc/systemd/system/fleet-metrics-off.service
inside sed -i s/flushInterval=3s/flushInterval=6m/ /etc/systemd/system/fleet-metrics-push.service
for vehicle in truck-17 van-18; do
  until_true 30 is 1 "fleet_locationd_online{vehicle=\"$vehicle\"}" || fail "$vehicle does not report"
done
inside systemctl daemon-reload
inside systemctl restart fleet-metrics-push
container down
use central
for vehicle in truck-17 van-18; do
  announcement="fleet_box_off_timestamp_seconds{provider=\"test-project\", vehicle=\"$vehicle\"}"
  until_true 10 is 1 "count($announcement)" || fail "$vehicle is not announced: $(ask fleet_box_off_timestamp_seconds)"
  is 1 "count($announcement >= on (vehicle) last_over_time(fleet_locationd_last_update_timestamp_seconds[1h]))" ||
    fail "it is from before the last update of $vehicle: $(ask "$announcement")"
done
