#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian packages under a real systemd: installed, run, monitored, upgraded, purged. run.sh DIRECTORY-OF-PACKAGES
# SUITE (bookworm) is the Debian release.
set -euo pipefail

[ "$(id -u)" -eq 0 ] || exec sudo SUITE="${SUITE:-}" "$0" "$@"
packages=$1
here=$(cd "$(dirname "$0")" && pwd)
export CONTAINER_NAME=fleet-locationd-$$
work=$(mktemp -d)
container() { "$here/container.sh" "$@"; }
finish() {
  container down || true
  rm -rf "$work"
}
trap finish EXIT
. "$here/library.sh"

# Whether the running program is the installed one.
runs_installed() { [ "$(inside readlink "/proc/$(property MainPID "$1")/exe")" = /usr/bin/fleet-locationd ]; }
waiting() { inside fleet-locationctl status --json | sed 's/.*"backlog":{[^}]*"count":\([0-9]*\).*/\1/' || true; }
# doctor must fail, with this text in one line.
doctor_says() { # WORDS [OPTION...]
  ! inside fleet-locationctl doctor "${@:2}" >"$work/doctor" 2>&1 && grep -q "^  fail  .*$1" "$work/doctor"
}
# A second after settings are written, their path unit starts a failed unit, which is "activating" for a moment.
doctor_fails() { # WORDS [OPTION...]
  until_true 10 doctor_says "$@" || fail "doctor does not fail with \"$1\": $(cat "$work/doctor")"
}
doctor_passes() { # WORDS
  inside fleet-locationctl doctor >"$work/doctor" 2>&1 || fail "doctor fails: $(cat "$work/doctor")"
  grep -q "^  pass  .*$1" "$work/doctor" || fail "doctor does not say \"$1\": $(cat "$work/doctor")"
}
# Makes Fleet Engine respond with this fault; the container shares the loopback interface of this machine.
fault() { curl -sf -X POST -d "$1" "http://127.0.0.1:$port/debug/faults" >"$work/fault" || fail "fault: $(cat "$work/fault")"; }

step "install: enabled, and waits for its settings"
install
[ "$(property UnitFileState)" = enabled ] || fail "the unit is $(property UnitFileState)"
[ "$(property ActiveState)/$(property ConditionResult)" = inactive/no ] || fail "it runs without settings"
inside id -nG fleet-locationd | has -w dialout || fail "the user is not in the group dialout"

echo "   $(inside systemctl --version | head -n 1), Debian $(inside cat /etc/debian_version)"
complaints=$(inside systemd-analyze verify fleet-locationd.service fleet-locationd@van-2.service 2>&1) || true
[ -z "$complaints" ] || fail "systemd-analyze verify: $complaints"
inside systemd-analyze security --offline=true --threshold=15 --no-pager fleet-locationd.service >"$work/exposure" ||
  fail "$(tail -n 1 "$work/exposure")"

step "doctor: a service that was not started fails"
doctor_fails 'fleet-locationd.service was not started: its settings file did not exist'

step "start: READY with the source open, online with a credential of systemd's"
emulate
credential
settings truck-17
inside systemctl start fleet-locationd || fail "systemctl start"
[ "$(property SubState)" = running ] || fail "after start it is $(property SubState)"
until_true 10 status_says Online || fail "STATUS: $(property StatusText)"
inside grep -q '"truck-17"\|truck-17' /run/record.jsonl || fail "the emulator has seen no update of truck-17"
echo "   $(property StatusText)"

step "token: requested with the credential of the running service, by root only"
inside fleet-locationctl token >"$work/token" || fail "fleet-locationctl token: $(cat "$work/token")"
grep -q '"truck-17"' "$work/token" || fail "the token is not for truck-17: $(cat "$work/token")"
! grep -q 's3cret\|eyJ' "$work/token" || fail "a secret is shown"
inside fleet-locationctl doctor --token >"$work/token" || fail "doctor --token: $(cat "$work/token")"
! inside setpriv --reuid=65534 --clear-groups fleet-locationctl token >"$work/token" 2>&1 || fail "a token for another user"
grep -qi 'permission denied' "$work/token" || fail "the message for another user: $(cat "$work/token")"

step "doctor: passes while updates are accepted or the vehicle is paused, and fails while Fleet Engine rejects them"
doctor_passes 'Fleet Engine accepted an update'
grep -q '^  pass  fleet-locationd.service runs$' "$work/doctor" || fail "the unit: $(cat "$work/doctor")"
inside fleet-locationctl pause >/dev/null
doctor_passes 'paused by command since'
inside fleet-locationctl resume >/dev/null
write /etc/fleet-locationd/conf.d/heartbeat.toml <<'END'
[reporting]
heartbeat = "5s"
END
inside systemctl reload fleet-locationd || fail "reload with a heartbeat of 5 s"
fault '{"target": "update", "status": 404, "times": 100000}'
until_true 10 eval '[[ $(inside fleet-locationctl status --json) == *\"missing\"* ]]' || fail "no 404: $(property StatusText)"
# Wait for two heartbeats.
until_true 30 eval '! inside fleet-locationctl doctor >"$work/doctor" && grep -q "^  fail  Fleet Engine has accepted no update for .*(missing)" "$work/doctor"' ||
  fail "a 404: $(cat "$work/doctor")"
curl -sf -X DELETE "http://127.0.0.1:$port/debug/faults" >/dev/null || fail "the faults stay"
inside rm /etc/fleet-locationd/conf.d/heartbeat.toml
inside systemctl restart fleet-locationd

step "report: has the journal and the unit, and no secret or coordinate, with the service and without it"
write /etc/fleet-locationd/conf.d/positions.toml <<'END'
[log]
level = "debug"
positions = true
END
inside systemctl reload fleet-locationd
place() { journal | sed -nE 's/^Update accepted.*: (-?[0-9.]+), (-?[0-9.]+)$/\1 \2/p' | tail -n 1; }
until_true 10 eval '[ -n "$(place)" ]' || fail "no coordinates in the journal: $(journal -n 5)"
read -r latitude longitude <<<"$(place)"
token=$(inside fleet-locationctl token --reveal | grep -oE 'eyJ[A-Za-z0-9_.-]+' | tail -n 1)
[ ${#token} -gt 100 ] || fail "no token: $token"
# Another process of the unit logs these lines to the journal.
printf '[Service]\nEnvironment=OTHER=s3cret-in-the-unit\nExecStartPre=/bin/echo "got %s at %s, %s"\n' "$token" "$latitude" "$longitude" |
  write /etc/systemd/system/fleet-locationd.service.d/other.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
until_true 10 eval 'journal | has "got $token"' || fail "ExecStartPre= was silent: $(journal -n 5)"
reported() { # NAME WORDS [OPTION...]
  inside fleet-locationctl report --output "/root/$1.tar.gz" "${@:3}" >"$work/list" 2>&1 || fail "report: $(cat "$work/list")"
  inside tar -xzOf "/root/$1.tar.gz" >"$work/report" || fail "tar cannot read it"
  grep -q "$2" "$work/list" || fail "report lists: $(cat "$work/list")"
  [ "$(inside stat -c '%a %U' "/root/$1.tar.gz")" = '600 root' ] || fail "the archive: $(inside stat "/root/$1.tar.gz")"
}
hides() {
  local secret
  for secret in s3cret-of s3cret-in "${token:0:30}" "${token: -30}" "${latitude%??}" "${longitude%??}"; do
    for secret in "$secret" "$(tr A-Z a-z <<<"$secret")" "$(tr a-z A-Z <<<"$secret")" "$(rev <<<"$secret")"; do
      ! grep -F -- "$secret" "$work/report" "$work/list" || fail "the report has $secret"
    done
  done
}
reported running '^The daemon is running.$'
hides
for words in '"check":"service"' 'LoadCredential=token-provider:/etc/fleet-locationd/token-provider' 'Update accepted: <position>, <position>' \
  '^provider_id = "test-project"' '^Environment=<redacted>' 'Started fleet-locationd.service' '"isDaemonRunning":true' '^fleet-locationd.*0\.'; do
  grep -q "$words" "$work/report" || fail "the report lacks $words"
done
# There is a track once the vehicle has moved.
until_true 20 eval 'inside fleet-locationctl status --json | has "\"track\":"' || fail "no track: $(journal -n 5)"
reported positions 'Coordinates are included' --positions
grep -qF "$latitude, $longitude" "$work/report" && grep -q '"track":' "$work/report" || fail "--positions has no coordinates"
inside systemctl stop fleet-locationd
reported stopped '^The daemon is not running'
hides
grep -q '"code":"unitInactive"' "$work/report" && grep -q 'Missing:' "$work/list" || fail "without the service: $(cat "$work/list")"
inside rm /etc/fleet-locationd/conf.d/positions.toml /etc/systemd/system/fleet-locationd.service.d/other.conf
inside systemctl daemon-reload
inside systemctl start fleet-locationd

step "doctor: says why a unit does not start, and that it is in a restart loop"
unit=fleet-locationd@bad
bad() { # DROP-IN
  printf '[Service]\n%s\n' "$1" | write /etc/systemd/system/$unit.service.d/test.conf
  inside systemctl daemon-reload
  # The settings have just been written: the start after a correction may cancel the stop.
  until_true 10 inside systemctl stop $unit
  inside systemctl reset-failed $unit 2>/dev/null || true
  inside systemctl start $unit 2>/dev/null || true
}
settings van/3 bad
bad 'RestartPreventExitStatus=78'
until_true 10 eval '[ "$(property ActiveState $unit)" = failed ]' || fail "with a mistake it is $(property ActiveState $unit)"
doctor_fails "$unit.service has failed: it ended with exit status 78 .*vehicle.vehicle_id" --instance bad
settings van-3 bad
bad 'LoadCredential=nothing:/nowhere/at/all'
until_true 10 eval '[ "$(property ActiveState $unit)" = failed ]' || fail "without the credential's file it is $(property ActiveState $unit)"
doctor_fails "$unit.service has failed: it ended with exit status 243 (243/CREDENTIALS.*/nowhere/at/all" --instance bad
bad $'ExecStart=\nExecStart=/bin/false\nRestartSec=1s'
until_true 30 eval '[ "$(property NRestarts $unit)" -ge 2 ]' || fail "no restart loop"
doctor_fails "$unit.service is in a restart loop, .*exit status 1" --instance bad
inside systemctl stop $unit
# It may have ended by itself just before.
inside systemctl reset-failed $unit 2>/dev/null || true
doctor_fails "$unit.service is not running (inactive)" --instance bad
inside rm -r /etc/systemd/system/$unit.service.d /etc/fleet-locationd/bad.toml
inside systemctl daemon-reload
step "a credential with a new value: check and doctor demand a restart, which applies it"
rotate() { printf "$1" | write /etc/fleet-locationd/token-provider 600; }
changed='credential token-provider has changed since the service was started'
unchanged() {
  inside fleet-locationd --check >"$work/answer" 2>&1 || fail "--check: $(cat "$work/answer")"
  ! grep "$changed" "$work/answer" || fail "a credential has not changed"
}
unchanged
rotate 'Bearer another-one'
for command in 'fleet-locationd --check' 'fleet-locationctl check' 'fleet-locationctl doctor'; do
  inside $command >"$work/answer" 2>&1 || true
  grep -q "$changed" "$work/answer" || fail "$command: $(cat "$work/answer")"
  grep -q 'systemctl restart fleet-locationd.service' "$work/answer" || fail "$command: $(cat "$work/answer")"
done
! inside systemctl reload fleet-locationd 2>/dev/null || fail "a reload succeeds, and the old credential stays"
journal -n 8 | has "$changed.*a restart is needed: systemctl restart fleet-locationd.service" || fail "reload: $(journal -n 8)"
code=0
inside fleet-locationctl reload >"$work/answer" 2>&1 || code=$?
[ $code -eq 78 ] && grep -q "$changed" "$work/answer" || fail "fleet-locationctl reload: exit $code: $(cat "$work/answer")"
status_says Online || fail "STATUS after a failed reload: $(property StatusText)"
rotate 'Bearer s3cret-of-the-box'
inside systemctl reload fleet-locationd || fail "reload with the same credential again"
unchanged

step "check, doctor and token run as the service, and do not change its state"
# The state of the service: owners, modes, inodes, and the contents of the token file.
ours() {
  # The daemon replaces this file regularly.
  inside stat -c '%n %U:%G %a' /run/fleet-locationd/metrics.prom &&
  inside stat -c '%n %U:%G %a %i' /run/fleet-locationd /run/fleet-locationd/control.sock /run/fleet-locationd/token \
    /var/lib/fleet-locationd /var/lib/fleet-locationd/backlog.sqlite /etc/fleet-locationd &&
  inside sha256sum /run/fleet-locationd/token
}
answers() { # STATUS WORDS COMMAND...
  local status=$1 words=$2 code=0
  shift 2
  inside "$@" >"$work/answer" 2>&1 || code=$?
  [ $code -eq "$status" ] && grep -q "$words" "$work/answer" || fail "$*: exit $code: $(cat "$work/answer")"
}
# Whether the service starts with these settings, in a separate daemon without stored settings.
starts() { # WORDS: of its status, or of its last lines
  local words=$1
  inside systemctl start fleet-locationd@judged 2>/dev/null || true
  until_true 10 eval 'status_says "$words" fleet-locationd@judged || inside journalctl -u fleet-locationd@judged -n 8 -o cat | has "$words"' ||
    fail "the service: $(property StatusText fleet-locationd@judged) $(inside journalctl -u fleet-locationd@judged -n 3 -o cat)"
  inside systemctl stop fleet-locationd@judged
  inside systemctl reset-failed fleet-locationd@judged 2>/dev/null || true
  inside rm -rf /var/lib/fleet-locationd-judged
}
write /etc/fleet-locationd/conf.d/metrics.toml <<'END'
[metrics]
textfile = "metrics.prom"
END
inside systemctl restart fleet-locationd
until_true 10 eval 'status_says Online && ours >/dev/null' || fail "STATUS: $(property StatusText)"
before=$(ours) || fail "not all of the service's state is there: $before"
for command in 'fleet-locationd --check' 'fleet-locationctl check' 'fleet-locationctl token' 'fleet-locationctl doctor' \
  'env -C /etc/fleet-locationd fleet-locationctl check -c fleet-locationd.toml'; do
  answers 0 '' $command
  ! grep -q 'not as the service' "$work/answer" || fail "$command: $(cat "$work/answer")"
done
[ "$(ours)" = "$before" ] || fail "before: $before; after: $(ours)"
# One shared drop-in for the instances of this step.
instance=/etc/systemd/system/fleet-locationd@judged.service.d
judged=/etc/fleet-locationd/judged.toml
unit_has() { # LINES
  printf '[Service]\n%b' "$1" | write $instance/test.conf
  inside systemctl daemon-reload
}
unit_has 'LoadCredential=token-provider:/etc/fleet-locationd/token-provider\n'
settings judged judged
answers 0 "$judged.*: valid" fleet-locationd --check --config $judged
answers 0 '"judged"' fleet-locationctl token --instance judged
starts Online
inside chmod 600 $judged
answers 78 'Permission denied' fleet-locationctl check --instance judged
answers 1 '^  fail  .*Permission denied' fleet-locationctl doctor --instance judged
answers 78 'Permission denied' fleet-locationctl token --instance judged
starts 'Permission denied'
inside chmod 644 $judged
name_by() { inside sed -i "s/^vehicle_id = .*/vehicle_id = { $1 }/" $judged; }
name_by 'environment = "VEHICLE_ID"'
answers 78 'VEHICLE_ID is not set' fleet-locationctl check --instance judged
starts 'VEHICLE_ID is not set'
printf 'VEHICLE_ID=from-a-file\n' | write /etc/fleet-locationd/environment 600
unit_has 'LoadCredential=token-provider:/etc/fleet-locationd/token-provider\nEnvironmentFile=/etc/fleet-locationd/environment\n'
answers 0 '"from-a-file"' fleet-locationctl token --instance judged
starts 'vehicle from-a-file'
name_by 'credential = "vehicle-id"'
answers 78 'vehicle-id' fleet-locationctl check --instance judged
unit_has 'LoadCredential=token-provider:/etc/fleet-locationd/token-provider\nSetCredential=vehicle-id:from-a-credential\n'
answers 0 ': valid' fleet-locationctl check --instance judged
answers 0 '"from-a-credential"' fleet-locationctl token --instance judged
starts 'vehicle from-a-credential'
unit_has 'LoadCredential=token-provider:/etc/fleet-locationd/nowhere\n'
answers 78 'the file of the credential token-provider does not exist: /etc/fleet-locationd/nowhere' \
  fleet-locationctl check --instance judged
answers 1 '^  fail  fleet-locationd@judged.service cannot start: .*243/CREDENTIALS' fleet-locationctl doctor --instance judged
unit_has ''
printf '#!/bin/sh\nexec sleep 100\n' | write /root/get-token 755
inside cp /root/get-token /usr/local/bin/
by_command() { # PATH
  inside sed -i -e '/^\[token\]/,/^\[fleet_engine\]/{/^\[fleet_engine\]/!d}' -e 's/^vehicle_id = .*/vehicle_id = "judged"/' $judged
  printf '[token]\nprovider = "command"\ncommand = ["%s"]\n' "$1" | write /etc/fleet-locationd/judged.toml.d/token.toml
}
by_command /root/get-token
answers 78 'the service cannot execute /root/get-token: Permission denied' fleet-locationctl check --instance judged
answers 1 '^  fail  .*/root/get-token cannot be run: Permission denied' fleet-locationctl doctor --instance judged
answers 1 '/root/get-token cannot be run: Permission denied' fleet-locationctl token --instance judged
starts '/root/get-token cannot be run: Permission denied'
by_command /usr/local/bin/get-token
answers 0 ': valid' fleet-locationctl check --instance judged
# Ctrl-C also stops the transient unit and its processes.
code=0
inside timeout -s INT 2 fleet-locationctl token --instance judged >"$work/answer" 2>&1 || code=$?
[ $code -ne 0 ] && until_true 5 eval '! inside pgrep -f get-token >/dev/null' || fail "Ctrl-C: exit $code, $(inside pgrep -af get-token)"
until_true 5 eval '[ -z "$(inside systemctl list-units --all --no-legend "fleet-locationctl-*" "fleet-locationd-[0-9]*")" ]' ||
  fail "left over: $(inside systemctl list-units --all --no-legend 'fleet-location*')"
inside cp /etc/fleet-locationd/fleet-locationd.toml /root/judged.toml
answers 0 'Checked as user root, not as the service: no installed service reads /root/judged.toml' fleet-locationd --check --config /root/judged.toml
[ "$(ours)" = "$before" ] || fail "before: $before; after: $(ours)"
inside rm -r $instance $judged /etc/fleet-locationd/judged.toml.d /etc/fleet-locationd/environment /etc/fleet-locationd/conf.d
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
until_true 15 status_says Online || fail "STATUS: $(property StatusText)"

step "limits: head-room under each"
pid=$(property MainPID)
memory=$(inside awk '/^VmHWM/ { print $2 * 1024 }' "/proc/$pid/status") tasks=$(inside awk '/^Threads/ { print $2 }' "/proc/$pid/status")
# The fields after the name in parentheses: user and system time are 14 and 15, in ticks of 10 ms, the start time is 22.
read -r -a stat < <(inside sed 's/.*) //' "/proc/$pid/stat")
cpu=$(((stat[11] + stat[12]) * 10)) alive=$(($(cut -d. -f1 /proc/uptime) - stat[19] / 100 + 1))
echo "   memory at most $memory of $(property MemoryMax) bytes, $tasks of $(property TasksMax) tasks, $cpu ms of CPU in $alive s of" \
  "$(property CPUQuotaPerSecUSec) a second, $(property IPEgressBytes) bytes sent"
[ "$memory" -lt $(($(property MemoryMax) / 2)) ] || fail "less than half of MemoryMax is left"
[ "$tasks" -lt $(($(property TasksMax) / 2)) ] || fail "less than half of TasksMax is left"
[ "$cpu" -lt $((alive * 250)) ] && [ "$(property CPUQuotaPerSecUSec)" = 500ms ] || fail "less than half of CPUQuota is left"
[ "$(property IPEgressBytes)" -gt 500 ] || fail "IPAccounting counts nothing"
# Tests/Machine/tests/memory.sh reaches the limit; the container may have none.
[ "$(property OOMPolicy)" = continue ] || fail "a token command that needs too much memory stops the daemon"
[ "$(property MemorySwapMax)" = 0 ] || fail "secrets in memory may be swapped: MemorySwapMax is $(property MemorySwapMax)"

step "journal: events by MESSAGE_ID, explained by journalctl -x"
journal FLEET_EVENT=online | has . || fail "no event online"
journal -x -o short | has 'Fleet Engine accepted an update, for the first time or again' || fail "no text of the catalog"
# The emulator's lines are left out, because its command line contains the credential.
inside journalctl -u fleet-locationd -o export >"$work/export" || fail "the journal cannot be read"
! grep -qa 's3cret-of-the-box' "$work/export" || fail "the credential is in the journal"

step "fleet-locationctl: allowed for root and the group, not for other users"
inside fleet-locationctl status >"$work/status" || fail "status as root: $(cat "$work/status")"
for command in status explain pause resume metrics reload token; do
  code=0
  inside setpriv --reuid=65534 --regid=65534 --clear-groups fleet-locationctl "$command" >"$work/nobody" 2>&1 || code=$?
  [ "$code" -eq 77 ] && grep -qi 'permission denied\|only root' "$work/nobody" || fail "$command as nobody: exit $code: $(cat "$work/nobody")"
done
group=$(inside getent group fleet-locationd | cut -d: -f3)
inside setpriv --reuid=65534 --regid="$group" --clear-groups fleet-locationctl status >/dev/null ||
  fail "status as a member of the group"

step "positions: no socket unless the settings have it; then each method for whom the threat model says, and instances alike"
directory=/run/fleet-locationd.positions
[ "$(inside stat -c '%U:%G %a' $directory)" = 'fleet-locationd:fleet-locationd-positions 2750' ] || fail "$(inside stat $directory)"
[ -z "$(inside ls $directory)" ] || fail "a socket without the setting"
[ -z "$(inside getent group fleet-locationd-positions | cut -d: -f4)" ] || fail "the group is not empty"
write /etc/fleet-locationd/conf.d/positions.toml <<'END'
[positions]
socket = true
END
inside systemctl reload fleet-locationd || fail "reload with a socket for positions"
settings bus-4 bus-4
write /etc/fleet-locationd/bus-4.toml.d/positions.toml <<'END'
[positions]
socket = true
END
printf '[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n' |
  write /etc/systemd/system/fleet-locationd@bus-4.service.d/credential.conf
inside systemctl daemon-reload
inside systemctl start fleet-locationd@bus-4 || fail "start of the instance"
for name in fleet-locationd fleet-locationd-bus-4; do
  until_true 10 inside test -S "$directory/$name.sock" || fail "no socket of $name: $(inside ls -la $directory)"
  [ "$(inside stat -c '%U:%G %a' "$directory/$name.sock")" = 'fleet-locationd:fleet-locationd-positions 660' ] ||
    fail "$(inside stat "$directory/$name.sock")"
done
"$here/methods.py" "/proc/$(cat "/run/fleet-locationd-tests/$CONTAINER_NAME/leader")/root" || fail "who may call what"
# The first line is enough: the tool exits when the pipe is closed.
positions() { inside setpriv --reuid=65534 --regid=65534 --groups="$1" sh -c "timeout 20 fleet-locationctl monitor --positions ${2:-} | head -n 1"; }
group=$(inside getent group fleet-locationd-positions | cut -d: -f3)
for instance in '' '--instance bus-4'; do
  positions "$group" "--json $instance" | has '"latitude":' || fail "no position $instance"
done
positions "$(inside getent group fleet-locationd | cut -d: -f3)" 2>&1 | has 'permission denied.*fleet-locationd-positions' || fail "positions for the other group"
inside systemctl stop fleet-locationd@bus-4
[ "$(inside ls $directory)" = fleet-locationd.sock ] || fail "after the instance: $(inside ls $directory)"
inside rm -r /var/lib/fleet-locationd-bus-4 /etc/fleet-locationd/bus-4.toml /etc/fleet-locationd/bus-4.toml.d /etc/systemd/system/fleet-locationd@bus-4.service.d \
  /etc/fleet-locationd/conf.d
inside systemctl daemon-reload
inside systemctl reload fleet-locationd || fail "reload without a socket for positions"
[ -z "$(inside ls $directory)" ] || fail "the socket is still there"

step "reload: valid settings are applied, invalid ones fail the reload and change nothing"
settings truck-18
inside systemctl reload fleet-locationd || fail "reload of good settings"
until_true 10 inside grep -q truck-18 /run/record.jsonl || fail "no update of truck-18"
pid=$(property MainPID)
settings 'truck/18'
! inside systemctl reload fleet-locationd 2>"$work/reload" || fail "reload of bad settings succeeds"
[ "$(property SubState)/$(property MainPID)" = "running/$pid" ] || fail "a bad reload has stopped it"
journal | has 'vehicle.vehicle_id: contains "/"' || fail "the mistake is not named in the journal"
settings truck-17
inside systemctl reload fleet-locationd || fail "reload of corrected settings"

step "a mistake in the settings at a start: the last settings that worked are used"
main=/etc/fleet-locationd/fleet-locationd.toml
kept=/var/lib/fleet-locationd/kept-settings.toml
mistake() { inside sed -i 's/^interval = "1s"$/interval = 1/' "$main"; }
correct() { inside sed -i 's/^interval = 1$/interval = "1s"/' "$main"; }
until_true 10 inside grep -q truck-17 "$kept" || fail "the settings are not kept"
[ "$(inside stat -c '%a %U' "$kept")" = "600 fleet-locationd" ] || fail "the kept settings: $(inside stat -c '%a %U' "$kept")"
mistake
inside systemctl restart fleet-locationd || fail "a restart with a mistake"
until_true 10 status_says Online || fail "STATUS with a mistake: $(property StatusText)"
status_says "the last ones that worked are used: $main:15:12: reporting.interval" || fail "STATUS with a mistake: $(property StatusText)"
journal FLEET_EVENT=settingsKept | has "$main:15:12: reporting.interval" || fail "no event settingsKept"
inside fleet-locationctl status | grep '^Settings .*last ones that worked' >/dev/null || fail "status: $(inside fleet-locationctl status)"
inside fleet-locationctl metrics | grep '^fleet_locationd_config_kept{.*} 1$' >/dev/null || fail "no metric of it"
correct
inside systemctl reload fleet-locationd || fail "reload of corrected settings"
until_true 5 eval '! status_says "last ones that worked"' || fail "STATUS of corrected settings: $(property StatusText)"

step "a mistake and another vehicle: failed, no update of either, and a start when the settings change"
mistake
inside sed -i 's/truck-17/truck-99/' "$main"
! inside systemctl restart fleet-locationd 2>/dev/null || fail "it starts as another vehicle with kept settings"
ends_with 78
until_true 10 eval 'inside systemctl --failed --plain | has fleet-locationd.service' || fail "systemctl --failed does not show it"
journal | has 'The kept settings are not used: they differ in vehicle.vehicle_id' || fail "$(journal -n 8)"
inside sed -i 's/truck-99/truck-17/' "$main"
correct
until_true 15 status_says Online || fail "it is not started by new settings: $(property ActiveState)"
inside systemctl stop fleet-locationd
inside touch "$main"
sleep 3
[ "$(property ActiveState)" = inactive ] || fail "stopped on purpose, it is started by new settings"

step "a missing secret is waited for"
inside sed -i 's|{ credential = "token-provider" }|{ file = "/run/late-key" }|' "$main"
inside systemctl start fleet-locationd || fail "a start without the secret"
until_true 5 status_says 'Waiting for a file or credential that the settings name: token.headers.Authorization: /run/late-key' ||
  fail "STATUS without the secret: $(property StatusText)"
upgrade_says() ( # STATUS: the last lines of an upgrade while a service has this status
  status=$1
  systemctl() {
    case $* in list-units*) echo fleet-locationd.service ;; *StatusText*) echo "$status" ;; *) echo active ;; esac
  }
  eval "$(sed -n '/^report_stopped/,/^}/p' "$here/../../packaging/debian/fleet-locationd.postinst")"
  report_stopped
)
upgrade_says "$(property StatusText)" | has 'fleet-locationd.service sends nothing: Waiting for a file or credential' ||
  fail "an upgrade does not say that the service waits for the secret"
for status in "Waiting for a fix" "Waiting for a token" "Waiting for a newer fix of /dev/gps1" Online; do
  [ -z "$(upgrade_says "$status; backlog 0")" ] || fail "an upgrade says of a service that runs: $(upgrade_says "$status")"
done
printf 'Bearer s3cret-of-the-box' | write /run/late-key
inside chown fleet-locationd /run/late-key
inside chmod 600 /run/late-key
until_true 15 status_says Online || fail "STATUS with the late secret: $(property StatusText)"
settings truck-17
inside systemctl restart fleet-locationd
until_true 10 status_says Online || fail "STATUS with the credential again: $(property StatusText)"

step "restart: the cached token is used, which no other user can read"
until_true 10 inside test -e /run/fleet-locationd/token || fail "no token is kept"
inside systemctl restart fleet-locationd
until_true 10 status_says Online || fail "STATUS after a restart: $(property StatusText)"
journal _PID="$(property MainPID)" FLEET_EVENT=tokenRestored | has . || fail "the restart has requested another token"
! journal FLEET_EVENT=tokenNotKept | has . || fail "$(journal FLEET_EVENT=tokenNotKept | tail -n 1)"
[ "$(inside stat -c '%a %U' /run/fleet-locationd/token)" = "600 fleet-locationd" ] ||
  fail "the token: $(inside stat -c '%a %U' /run/fleet-locationd/token)"

step "metrics: the unit lets the daemon write them where the node exporter reads"
write /etc/fleet-locationd/conf.d/metrics.toml <<'END'
[metrics]
textfile = "metrics.prom"
END
inside systemctl reload fleet-locationd || fail "reload with metrics"
until_true 5 inside setpriv --reuid=65534 --regid=65534 --clear-groups grep -q '^fleet_locationd_online{.*} 1' /run/fleet-locationd/metrics.prom ||
  fail "metrics for everybody: $(inside ls -l /run/fleet-locationd)"

step "pause: across a restart and a power cut no position leaves; a vehicle of on-demand trips is OFFLINE after both"
# The emulator's responses to updates of the first vehicle.
updates() { inside grep -c 'deliveryVehicles/.*updateMask' /run/record.jsonl || true; }
# Updates of the taxi with this mask, in the record as they were sent.
taxi() { inside grep -c "vehicles/taxi-3\".*\"updateMask=$1\"" /run/record.jsonl || true; }
printf '[Service]\nLoadCredential=token-provider:/etc/fleet-locationd/token-provider\n' |
  write /etc/systemd/system/fleet-locationd@.service.d/credential.conf
settings taxi-3 taxi-3 trips
inside systemctl daemon-reload
inside systemctl enable -q --now fleet-locationd@taxi-3 || fail "start of the taxi"
until_true 10 status_says Online fleet-locationd@taxi-3 || fail "STATUS of the taxi: $(property StatusText fleet-locationd@taxi-3)"
# Nothing is accepted from here to the power cut.
fault '{"target": "update", "vehicle": "taxi-3", "status": 503, "for_ms": 3600000}'
inside fleet-locationctl pause --instance taxi-3 | has 'until "fleet-locationctl resume --instance taxi-3"' ||
  fail "pause of the taxi: the message names another command"
inside fleet-locationctl status --instance taxi-3 >"$work/status" || true
grep -q 'fleet-locationctl resume --instance taxi-3' "$work/status" || fail "status of the taxi: $(cat "$work/status")"
until_true 10 eval '[ "$(taxi vehicleState)" -gt 0 ]' || fail "no OFFLINE of the taxi"
driven=$(taxi vehicleState%2ClastLocation.*)
inside fleet-locationctl pause >/dev/null
# An update may be under way.
until_true 10 eval '[[ $(inside fleet-locationctl status --json) == *\"isUpdating\":false* ]]' ||
  fail "an update in a pause does not end"
# One that the daemon has cancelled may still be in the emulator's socket: the emulator reads it before it responds to the second request.
for _ in 1 2; do curl -sf -o "$work/stats" "http://127.0.0.1:$port/debug/stats" || fail "the emulator does not answer"; done
paused=$(updates)
inside systemctl restart fleet-locationd
until_true 5 status_says Paused || fail "STATUS after a restart in a pause: $(property StatusText)"
sleep 2
[ "$(updates)" = "$paused" ] && [ "$paused" -gt 0 ] || fail "updates in a pause: $paused, then $(updates)"
[ "$(taxi vehicleState%2ClastLocation.*)" = "$driven" ] || fail "the taxi sends positions in a pause"
container crash
container boot
inside ip link set lo up 2>/dev/null || true
emulate
until_true 10 status_says Paused || fail "STATUS after a power cut in a pause: $(property StatusText)"
sleep 2
[ "$(updates)" = 0 ] || fail "$(updates) updates in a pause, after a power cut"
until_true 30 eval '[ "$(taxi vehicleState)" -gt 0 ]' || fail "no OFFLINE of the taxi after a power cut: $(property StatusText fleet-locationd@taxi-3)"
[ "$(taxi vehicleState%2ClastLocation.*)" = 0 ] || fail "the taxi sends positions in a pause, after a power cut"
inside fleet-locationctl resume --instance taxi-3 >/dev/null
# An OFFLINE from before the power cut may arrive for 15 s; ONLINE is sent after that.
until_true 40 status_says Online fleet-locationd@taxi-3 || fail "STATUS of the taxi after the pause: $(property StatusText fleet-locationd@taxi-3)"
[ "$(taxi vehicleState%2ClastLocation.*)" -gt 0 ] || fail "no position of the taxi after the pause"
inside systemctl disable -q --now fleet-locationd@taxi-3
inside fleet-locationctl resume >/dev/null
until_true 10 status_says Online || fail "STATUS after the pause: $(property StatusText)"
[ "$(updates)" -gt 0 ] || fail "no update after the pause"

step "ignition: on during the wait ends it, and the vehicle reports; after the wait what is to follow does"
power=/usr/share/doc/fleet-locationd/examples/power
inside sh -c "cp $power/fleet-ignition.socket $power/fleet-ignition.service $power/fleet-ignition-on.service /etc/systemd/system"
inside systemctl daemon-reload
inside systemctl start fleet-ignition.socket
ignition() { inside sh -c "echo $1 > /run/fleet-ignition"; }
is_off() { if [ "$off" = pause ]; then status_says Paused; else inside test -e /run/went-off; fi; }
# One transaction of systemd stops the wait and starts what `on` does.
has_ended() { [ "$(property ActiveState fleet-ignition-off)$(inside systemctl list-jobs --no-legend)" = inactive ]; }
for off in pause poweroff suspend; do
  # In place of commands that would stop the container.
  inside sh -c "sed -E 's#(/usr/bin/)?systemctl .*(poweroff|suspend)#/usr/bin/touch /run/went-off#; s#sleep [0-9]+\$#sleep 600#' \
    $power/off-$off.service > /etc/systemd/system/fleet-ignition-off.service"
  inside systemctl daemon-reload
  ignition off
  until_true 10 eval '[ "$(property ActiveState fleet-ignition-off)" = activating ]' || fail "$off: no wait"
  ignition on
  until_true 10 has_ended || fail "$off: the wait is $(property ActiveState fleet-ignition-off)"
  ! is_off || fail "$off: off, although the ignition is on"
  inside sed -i -E 's#sleep 600$#sleep 0#' /etc/systemd/system/fleet-ignition-off.service
  inside systemctl daemon-reload
  ignition off
  until_true 10 is_off || fail "$off: not off after the wait"
  ignition on
  until_true 10 status_says Online || fail "$off: not on again: $(property StatusText)"
  inside rm -f /run/went-off
done
# The vehicle of on-demand trips: suspended when Fleet Engine has accepted OFFLINE. A fake before the real program in the PATH of the unit.
write /usr/local/bin/fleet-locationctl 755 <<'END'
#!/bin/sh
[ "$1" = status ] || exit 0
echo asked >> /run/asked
cat /run/answer
END
printf '{"state":{"isOfflinePending":true,"isOnline":true}}' | write /run/answer
ignition off
has_asked_again() { [ "$(inside sh -c 'cat /run/asked 2>/dev/null | wc -l')" -ge 2 ]; }
until_true 10 has_asked_again || fail "suspend does not wait for OFFLINE"
! is_off || fail "suspended before OFFLINE is accepted"
printf '{"state":{"isOfflinePending":false,"isOnline":false}}' | write /run/answer
until_true 10 is_off || fail "not suspended after OFFLINE"
inside rm /usr/local/bin/fleet-locationctl /run/asked /run/answer /run/went-off
# `off` while no daemon runs is not lost, and `on` still ends it. The unit is the one for suspend.
inside systemctl stop fleet-locationd
has_failed() { [ "$(property SubState fleet-ignition-off)" = auto-restart ]; }
ignition off
until_true 10 has_failed || fail "off without a daemon: $(property SubState fleet-ignition-off)"
ignition on
until_true 10 eval '[ "$(property ActiveState fleet-ignition-off)" = inactive ]' || fail "on without a daemon: off is $(property SubState fleet-ignition-off)"
ignition off
until_true 10 has_failed || fail "off once more without a daemon: $(property SubState fleet-ignition-off)"
inside systemctl start fleet-locationd
until_true 20 is_off || fail "off is lost, because no daemon ran: $(property SubState fleet-ignition-off)"
ignition on
until_true 20 status_says Online || fail "not on again: $(property StatusText)"
inside rm -f /run/went-off
# A file without a newline.
inside sh -c "cp $power/fleet-ignition-file* /etc/systemd/system"
inside systemctl daemon-reload
inside systemctl start fleet-ignition-file.path
inside sh -c 'printf off > /run/ignition'
until_true 10 is_off || fail "off in a file: $(inside systemctl status --no-pager fleet-ignition-file | tail -n 3)"
inside sh -c 'printf on > /run/ignition'
until_true 10 status_says Online || fail "on in a file: $(property StatusText)"
# A program that writes its state again and again.
inside rm -f /run/went-off
inside sh -c 'for _ in 1 2 3 4 5 6 7 8; do echo on > /run/ignition; sleep 0.5; done; echo off > /run/ignition'
until_true 10 is_off || fail "off after many writes: $(inside systemctl status --no-pager fleet-ignition-file.path | tail -n 3)"
[ "$(property ActiveState fleet-ignition-file.path)" = active ] || fail "the path unit is $(property ActiveState fleet-ignition-file.path)"
# Written again while the first text is being passed on.
inside sh -c 'echo off > /run/ignition; sleep 0.05; echo on > /run/ignition'
until_true 10 status_says Online || fail "on after off, at once: $(property StatusText)"
# Written while systemd does not watch the file, or just watches it again.
is_passed_on() { [ "$(inside cat /run/ignition-passed-on)" = on ]; }
for delay in 0.15 0.18 0.2 0.21 0.22 0.23 0.24 0.25 0.26 0.28 0.3 0.35; do
  inside sh -c "echo off > /run/ignition; sleep $delay; echo on > /run/ignition; sleep 1.5"
  until_true 5 is_passed_on || fail "on, $delay s after off, is lost"
done
# A text that echo would change, and a file that is gone, are no reason to start again and again.
again() {
  inside journalctl --sync
  inside journalctl -q -o cat -u fleet-ignition-file-again | wc -l
}
for change in "printf 'o\\\\n' > /run/ignition" "rm /run/ignition"; do
  before=$(again)
  inside sh -c "$change"
  until_true 10 eval '[ "$(again)" -gt "$before" ]' || fail "$change: not passed on"
  sleep 1.5
  runs=$(again)
  sleep 2
  [ "$(again)" = "$runs" ] || fail "$change: passed on without end"
done
inside rm -f /run/went-off /run/ignition-passed-on
inside systemctl stop fleet-ignition-file.path
# A GPIO line that changes during suspend, without an edge. Fakes before the programs of gpiod, and in place of the suspend.
printf '#!/bin/sh\nexec cat /run/gpio-level\n' | write /usr/local/bin/gpioget 755
printf '#!/bin/sh\nexec sleep infinity\n' | write /usr/local/bin/gpiomon 755
write /etc/systemd/system/systemd-suspend.service <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'sleep 1; echo 1 > /run/gpio-level'
END
inside sh -c "cp $power/fleet-ignition-gpio.service $power/fleet-ignition-resume.service /etc/systemd/system; echo 0 > /run/gpio-level"
inside systemctl daemon-reload
inside systemctl enable -q fleet-ignition-resume
inside systemctl start fleet-ignition-gpio
until_true 10 is_off || fail "off at a GPIO line: $(inside systemctl status --no-pager fleet-ignition-gpio | tail -n 3)"
until_true 10 status_says Paused || fail "off at a GPIO line: $(property StatusText)"
inside systemctl start suspend.target || fail "the suspend"
until_true 10 status_says Online || fail "on at a GPIO line during suspend: $(property StatusText)"
[ "$(property Result fleet-ignition-resume)" = success ] || fail "after suspend: $(property Result fleet-ignition-resume)"
inside systemctl disable -q fleet-ignition-resume
inside systemctl stop fleet-ignition-gpio
inside rm /usr/local/bin/gpioget /usr/local/bin/gpiomon /etc/systemd/system/systemd-suspend.service /run/went-off
inside systemctl stop fleet-ignition.socket fleet-ignition.service
inside sh -c 'rm /etc/systemd/system/fleet-ignition*'
inside systemctl daemon-reload

step "watchdog: a daemon with a hung loop is ended, logs where it hung, and is restarted"
cc -shared -fPIC -O1 -o "$work/stuck-disk.so" "$here/stuck-disk.c"
container push "$work/stuck-disk.so" /usr/lib/stuck-disk.so
printf '[Service]\nWatchdogSec=8s\nRestartSec=500ms\nEnvironment=LD_PRELOAD=/usr/lib/stuck-disk.so\n' |
  write /etc/systemd/system/fleet-locationd.service.d/watchdog.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
until_true 10 status_says Online || fail "STATUS before the watchdog: $(property StatusText)"
restarts=$(property NRestarts)
inside touch /run/stuck-disk
# A pause is on disk before the response: there is none until the watchdog ends the daemon.
! inside timeout 10 fleet-locationctl pause >/dev/null 2>&1 || fail "the disk is not stuck"
until_true 15 eval '[ "$(property NRestarts)" -gt "$restarts" ]' || fail "it did not end"
inside rm /run/stuck-disk /etc/systemd/system/fleet-locationd.service.d/watchdog.conf
inside systemctl daemon-reload
until_true 15 status_says Online || fail "it did not come back"
journal | has 'Watchdog timeout' || fail "it was not the watchdog"
crash() { journal FLEET_EVENT=crashed -n 1 --output-fields=FLEET_BACKTRACE; }
crash | has '^SIGABRT (sent by process 1, as systemd does when the watchdog was not fed) at .*stuck-disk.so' ||
  fail "what the crash said: $(crash)"
dpkg-deb -x "$(package fleet-locationd-dbgsym)" "$work/symbols"
crash | "$here/../../scripts/crash-names.sh" "$(find "$work/symbols" -name '*.debug')" >"$work/names"
grep ' at ' "$work/names" | sed 's/^/   /'
grep -q 'BacklogStore\|AtomicFile\|TokenStore' "$work/names" && grep -q 'LocationDaemon.*LocationDaemon.swift' "$work/names" ||
  fail "the names: $(cat "$work/names")"

step "crash: logged in one line, restarted after five seconds, logged again"
inside systemctl restart fleet-locationd
restarts=$(property NRestarts)
inside kill -SEGV "$(property MainPID)"
until_true 15 eval '[ "$(property NRestarts)" -gt "$restarts" ] && status_says Online' || fail "no restart after SIGSEGV"
[ "$(property NRestarts)" -eq $((restarts + 1)) ] || fail "more than one restart after SIGSEGV"
journal -p crit -n 1 | has '^Crashed: SIGSEGV (sent by process' || fail "no last word: $(journal -p crit -n 1)"
journal _PID="$(property MainPID)" | has 'The previous run crashed: SIGSEGV' || fail "the next run does not log it"

step "template: a second vehicle in its own daemon"
settings van-2 van-2
write /etc/fleet-locationd/van-2.toml.d/own.toml <<'END'
[vehicle]
vehicle_id = "van-2-by-its-own-directory"
END
inside systemctl daemon-reload
inside systemctl enable -q --now fleet-locationd@van-2 || fail "start of the template"
until_true 10 status_says Online fleet-locationd@van-2 || fail "STATUS of van-2: $(property StatusText fleet-locationd@van-2)"
inside fleet-locationctl status --instance van-2 >"$work/status" || fail "status of van-2"
grep -q 'van-2-by-its-own-directory' "$work/status" || fail "the status is not of van-2: $(cat "$work/status")"
for command in check doctor token metrics; do
  inside fleet-locationctl "$command" --instance van-2 >"$work/answer" 2>&1 || fail "$command of van-2: $(cat "$work/answer")"
done
# A mistake in the instance's own directory makes it fail, because without that line it is another vehicle; after the
# correction, the instance starts without a command.
printf '[vehicle]\nvehicle_id = van/2\n' | write /etc/fleet-locationd/van-2.toml.d/own.toml
! inside systemctl restart fleet-locationd@van-2 2>/dev/null || fail "van-2 starts with a mistake and another vehicle"
printf '[vehicle]\nvehicle_id = "van-2-by-its-own-directory"\n' | write /etc/fleet-locationd/van-2.toml.d/own.toml
until_true 15 status_says Online fleet-locationd@van-2 || fail "new settings of its own do not start van-2: $(property ActiveState fleet-locationd@van-2)"
until_true 5 inside test -e /run/fleet-locationd-van-2/metrics.prom || fail "van-2 writes no metrics of its own"
status_says Online || fail "the first vehicle: $(property StatusText)"

step "setup: from nothing to online at a terminal, below a minute; what is there is kept; without a terminal nothing is asked"
cc -static -O1 -o "$work/receiver" "$here/receiver.c"
container push "$work/receiver" /root/receiver
inside mkdir -p /dev/serial/by-id
for name in held GNSS; do
  inside systemd-run -q --unit="receiver-$name" sh -c "fleet-locationctl simulate --format nmea --loop --pace 1 \
    /usr/share/doc/fleet-locationd/examples/demo.gpx | /root/receiver /dev/serial/by-id/usb-$name-if00 /run/written-$name"
done
until_true 10 inside test -e /dev/serial/by-id/usb-GNSS-if00 -a -e /dev/serial/by-id/usb-held-if00 || fail "no receiver"
inside systemd-run -q --unit=holder sh -c 'exec sleep 1000 </dev/serial/by-id/usb-held-if00'
until_true 10 eval '[ "$(inside cat "/proc/$(property MainPID holder)/comm")" = sleep ]' || fail "nothing holds the port"
fresh=/etc/fleet-locationd/fresh
began=$SECONDS
printf '%s\t%s\n' 'Source, by its number' 1 'deliveries or trips [deliveries]: ' taxi 'deliveries or trips [deliveries]: ' '' \
  'project ID: ' test-project 'Vehicle ID' truck-99 'Token URL' 'http://t.example.com/{vehicle_id}' \
  'Token URL' "http://127.0.0.1:$port/token/delivery_driver/{vehicle_id}" '!Credential' 'Bearer s3cret-of-the-box' |
  "$here/dialog.py" "$here/container.sh" exec fleet-locationctl setup --instance fresh --endpoint "http://127.0.0.1:$port" \
    >"$work/answer" 2>&1 || fail "setup: exit $?: $(cat "$work/answer")"
[ $((SECONDS - began)) -lt 60 ] || fail "setup took $((SECONDS - began)) s"
for words in '^  -  /dev/serial/by-id/usb-held-if00' '^       sleep (process [0-9]*, holder.service) has it open' \
  '^  1  /dev/serial/by-id/usb-GNSS-if00' 'sentences in .* GGA' '^Written:  /etc/systemd/system/fleet-locationd@fresh.service.d/credential.conf' \
  "^Checked:  $fresh.toml" '^Online:   Fleet Engine has accepted the first update of truck-99'; do
  grep -q "$words" "$work/answer" || fail "setup does not say $words: $(cat "$work/answer")"
done
! grep -q s3cret "$work/answer" || fail "setup shows the credential"
! inside test -e /run/written-GNSS -o -e /run/written-held || fail "setup has written to a port"
inside systemctl cat fleet-locationd@fresh | has "^LoadCredential.*=token-provider:$fresh.token-provider" ||
  fail "the credential: $(inside systemctl cat fleet-locationd@fresh | tail -n 5)"
[ "$(inside sh -c "stat -c '%a %U' $fresh.token-provider*")" = '600 root' ] || fail "the credential's mode"
[ -z "$(inside find /run -maxdepth 1 -name 'fleet-locationctl-setup*')" ] || fail "a copy of the credential stays"
step "setup: again, with options alone"
again() { inside fleet-locationctl setup --instance fresh --source /dev/serial/by-id/usb-GNSS-if00 --service deliveries --provider test-project \
  --token-url "http://127.0.0.1:$port/token/delivery_driver/{vehicle_id}" --endpoint "http://127.0.0.1:$port" "$@" >"$work/answer" 2>&1; }
code=0; again || code=$?
[ $code -eq 64 ] && grep -q 'missing: --vehicle' "$work/answer" || fail "without a vehicle: exit $code: $(cat "$work/answer")"
again --vehicle truck-99 || fail "the same again: $(cat "$work/answer")"
grep -q "^As it is: $fresh.toml" "$work/answer" || fail "the same again: $(cat "$work/answer")"
code=0; again --vehicle truck-98 || code=$?
[ $code -eq 74 ] && inside grep -q truck-99 $fresh.toml || fail "another vehicle: exit $code: $(cat "$work/answer")"
again --vehicle truck-98 --replace || fail "--replace: $(cat "$work/answer")"
inside grep -q truck-98 $fresh.toml && inside sh -c "grep -q truck-99 $fresh.toml.2*Z" || fail "what was there is not kept"
# The reader of its output ends before the first file is written.
inside sh -c "fleet-locationctl setup --instance fresh --source /dev/serial/by-id/usb-GNSS-if00 --service deliveries --provider test-project \
  --token-url 'http://127.0.0.1:$port/token/delivery_driver/{vehicle_id}' --endpoint 'http://127.0.0.1:$port' --vehicle truck-97 --replace | true"
inside grep -q truck-97 $fresh.toml || fail "a closed pipe ends setup between its files"
step "setup: a wrong credential is not online, whatever token the previous one has got"
echo 'Bearer of-another-box' | write /root/wrong 600
echo 'Bearer s3cret-of-the-box' | write /root/right 600
code=0; again --vehicle truck-98 --replace --credential-file /root/wrong || code=$?
[ $code -eq 1 ] && grep -q '^Not yet: .*HTTP 401' "$work/answer" || fail "a wrong credential: exit $code: $(cat "$work/answer")"
! grep -q of-another-box "$work/answer" || fail "setup shows the credential"
again --vehicle truck-98 --replace --credential-file /root/right || fail "the right credential: $(cat "$work/answer")"
inside rm /root/wrong /root/right
inside systemctl disable -q --now fleet-locationd@fresh
inside systemctl stop holder receiver-held receiver-GNSS
inside sh -c "rm -r $fresh* /etc/systemd/system/fleet-locationd@fresh.service.d /dev/serial"
inside systemctl daemon-reload

step "one vehicle in two daemons: the second sends nothing, names the first, and takes over when that ends"
copy=fleet-locationd@copy
settings truck-17 copy
inside systemctl start $copy || fail "start of the copy"
until_true 10 status_says 'Vehicle in use by fleet-locationd.service (process ' $copy || fail "STATUS of the copy: $(property StatusText $copy)"
doctor_fails 'vehicle in use by fleet-locationd.service (process [0-9]*) on this machine' --instance copy
doctor_passes 'Fleet Engine accepted an update'
until_true 5 eval 'inside journalctl -u $copy FLEET_EVENT=vehicleInUse -o cat | has "^Nothing is sent: fleet-locationd.service"' ||
  fail "the journal of the copy"
inside test ! -e /run/fleet-locationd-copy/token || fail "the copy has fetched a token"
locks=/run/fleet-locationd.vehicles
[ "$(inside stat -c '%a %U' $locks)" = "700 fleet-locationd" ] || fail "the directory of the locks: $(inside stat -c '%a %U' $locks)"
! inside setpriv --reuid=65534 --clear-groups ls $locks >/dev/null 2>&1 || fail "nobody can list the locks"
# A restart of the second instance does not affect the first; when the first stops, the second detects that.
inside systemctl restart $copy
sleep 1
status_says Online || fail "the first vehicle after a restart of the copy: $(property StatusText)"
inside systemctl stop fleet-locationd
until_true 15 status_says Online $copy || fail "the copy does not take over: $(property StatusText $copy)"
inside systemctl start fleet-locationd
until_true 10 status_says "Vehicle in use by $copy.service (process " || fail "STATUS of the second: $(property StatusText)"
# After the correction, each instance has its own vehicle.
settings copy-1 copy
inside systemctl reload $copy || fail "reload of the copy"
until_true 10 status_says Online $copy || fail "STATUS of the corrected copy: $(property StatusText $copy)"
until_true 15 status_says Online || fail "STATUS of the first: $(property StatusText)"
! journal FLEET_EVENT=vehicleNotLocked | has . || fail "$(journal FLEET_EVENT=vehicleNotLocked | tail -n 1)"
inside systemctl stop $copy
# The service can also use a lock that root has created.
settings truck-root copy
locks() { inside find /run/fleet-locationd.vehicles -type f "$@" | grep -c . || true; }
before=$(locks)
inside env CREDENTIALS_DIRECTORY=/etc/fleet-locationd fleet-locationd --config /etc/fleet-locationd/copy.toml >"$work/hand" 2>&1 &
hand=$!
until_true 10 eval '[ "$(locks)" -eq $((before + 1)) ]' || fail "a daemon of root has made no lock: $(cat "$work/hand")"
inside pkill -f '^fleet-locationd --config /etc/fleet-locationd/copy.toml'
wait $hand || true
[ "$(locks ! -user fleet-locationd)" -eq 0 ] || fail "a lock of root's"
inside systemctl start $copy
until_true 10 status_says Online $copy || fail "after a daemon of root: $(property StatusText $copy)"
! inside journalctl -u $copy FLEET_EVENT=vehicleNotLocked -o cat | has . || fail "a lock of root keeps the service from locking"
inside systemctl stop $copy
inside rm /etc/fleet-locationd/copy.toml

step "by hand, with the settings of a service that runs or is paused: the program ends, and says what to run"
by_hand() { # WORDS: for root and the service's user
  for user in root fleet-locationd; do
    code=0
    inside setpriv --reuid=$user --regid=$user --init-groups timeout 15 fleet-locationd >"$work/hand" 2>&1 || code=$?
    [ "$code" = 73 ] && grep -q "$1" "$work/hand" || fail "by hand as $user: exit $code: $(cat "$work/hand")"
  done
}
by_hand 'fleet-locationd.service runs with these settings.*systemctl status fleet-locationd'
inside fleet-locationctl pause >/dev/null
by_hand 'fleet-locationd.service is paused, .*fleet-locationctl resume ends the pause'
inside systemctl stop fleet-locationd
by_hand 'is stopped: systemctl start fleet-locationd.service, then fleet-locationctl resume'
inside fleet-locationd --check >/dev/null || fail "--check in a pause"
inside systemctl start fleet-locationd
inside fleet-locationctl resume >/dev/null
until_true 10 status_says Online || fail "STATUS after the pause: $(property StatusText)"

step "a unit without StateDirectory= starts"
printf '[Service]\nStateDirectory=\n' | write /etc/systemd/system/fleet-locationd.service.d/state.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd || fail "a start without a state directory: $(journal -n 3)"
until_true 10 status_says Online || fail "STATUS without a state directory: $(property StatusText)"
[ "$(property NRestarts)" -eq 0 ] || fail "without a state directory it was restarted $(property NRestarts) times"
inside rm /etc/systemd/system/fleet-locationd.service.d/state.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
until_true 10 status_says Online || fail "STATUS with the state directory again: $(property StatusText)"

step "upgrade: settings, backlog and token stay, one restart; the second vehicle too runs the new program"
# Queued positions: Fleet Engine is not reachable.
inside systemctl stop emulator
until_true 15 eval '! status_says "backlog 0" && ! status_says Online' || fail "STATUS offline: $(property StatusText)"
dpkg-deb -R "$(package fleet-locationd)" "$work/next"
sed -i 's/^Version: .*/&+next/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Zgzip -z1 -b "$work/next" "$work/next.deb" >/dev/null
container push "$work/next.deb" /root/next.deb
started=$(property ExecMainStartTimestampMonotonic)
waiting=$(waiting)
starts=$(journal FLEET_EVENT=started | grep -c .)
# An old mistake in the settings must not stop updates after an upgrade.
mistake
inside dpkg -i /root/next.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "upgrade"; }
[ "$(property ExecMainStartTimestampMonotonic)" -gt "$started" ] || fail "the upgrade has not started the new program"
for directory in conf.d fleet-locationd.toml.d van-2.toml.d; do
  [ "$(property ActiveState "fleet-locationd-settings@$directory.path")" = active ] || fail "after the upgrade $directory is not watched"
done
[ "$(journal FLEET_EVENT=started | grep -c .)" -le $((starts + 1)) ] || fail "the upgrade has restarted the service more than once"
until_true 10 runs_installed fleet-locationd@van-2 || fail "van-2 still runs the program before the upgrade"
journal _PID="$(property MainPID)" FLEET_EVENT=tokenRestored | has . || fail "the upgrade has cost the token"
until_true 10 status_says backlog || fail "after the upgrade: $(property StatusText)"
restored() { journal _PID="$(property MainPID)" FLEET_EVENT=backlogRestored | sed -n 's/^\([0-9]*\) positions\? of an earlier run found.*/\1/p'; }
until_true 10 eval '[ -n "$(restored)" ]' || fail "the new program found no queued position"
[ "$waiting" -gt 0 ] && [ "$(restored)" -ge "$waiting" ] || fail "of $waiting queued positions the new program found $(restored)"
emulate
until_true 30 status_says "backlog 0" || fail "the backlog does not drain: $(property StatusText)"
status_says 'the last ones that worked are used' || fail "after an upgrade with a mistake: $(property StatusText)"
correct
inside systemctl reload fleet-locationd || fail "reload of corrected settings"
inside grep -q pastLocations /run/record.jsonl || fail "no past position has arrived"

step "stop: systemd waits for stop_timeout, which is longer than TimeoutStopSec=, and leaves the network up until then"
printf '[reporting]\nstop_timeout = "8s"\n' | write /etc/fleet-locationd/conf.d/stop.toml
inside systemctl reload fleet-locationd || fail "reload of stop_timeout"
printf '[Service]\nTimeoutStopSec=1s\n' | write /etc/systemd/system/fleet-locationd.service.d/stop.conf
# In place of the units of the network programs.
networks="iwd connman dhcpcd wpa_supplicant wpa_supplicant@wlan0"
for network in $networks; do
  write "/etc/systemd/system/$network.service" <<'END'
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/true
ExecStop=/bin/sh -c 'systemctl show --value --property=ActiveState fleet-locationd > /run/state-without-%n'
END
done
inside systemctl daemon-reload
# shellcheck disable=SC2086
inside systemctl start $networks
# The next update gets no response. There is one each second, except at the stops of the route.
inside systemctl kill -s STOP emulator
until_true 60 eval '[[ $(inside fleet-locationctl status --json) == *\"isUpdating\":true* ]]' || fail "no update is in flight"
before=$SECONDS
# shellcheck disable=SC2086
inside systemctl stop fleet-locationd $networks
took=$((SECONDS - before))
inside systemctl kill -s CONT emulator
[ "$(property Result) $(property ExecMainStatus)" = "success 0" ] || fail "a stop of $took s ends as $(property Result) $(property ExecMainStatus)"
[ $took -ge 3 ] || fail "the stop has not waited for the last update: $took s"
for network in $networks; do
  state=$(inside cat "/run/state-without-$network.service")
  [ "$state" = inactive ] || fail "$network was stopped while the service was $state"
  inside rm "/etc/systemd/system/$network.service"
done
inside rm /etc/fleet-locationd/conf.d/stop.toml /etc/systemd/system/fleet-locationd.service.d/stop.conf
inside systemctl daemon-reload
inside systemctl start fleet-locationd
until_true 15 status_says Online || fail "after a long stop: $(property StatusText)"

step "start: an interface that does not come up (ifupdown's networking.service) does not delay it"
inside systemctl stop fleet-locationd network.target
write /etc/systemd/system/trial-network.service <<'END'
[Unit]
Wants=network.target
Before=network.target
[Service]
Type=oneshot
ExecStart=/usr/bin/sleep 60
END
inside systemctl daemon-reload
inside systemctl start --no-block trial-network
until_true 5 eval '[ "$(property ActiveState trial-network)" = activating ]' || fail "the trial is $(property ActiveState trial-network)"
inside timeout 20 systemctl start fleet-locationd || fail "the start waits for the network"
[ "$(property ActiveState trial-network)" = activating ] || fail "the trial has ended: $(property ActiveState trial-network)"
until_true 15 status_says Online || fail "STATUS without network.target: $(property StatusText)"
inside systemctl stop trial-network
until_true 10 eval '[ "$(property ActiveState network.target)" = active ]' || fail "network.target is $(property ActiveState network.target)"
inside rm /etc/systemd/system/trial-network.service
inside systemctl daemon-reload

step "a directory of the service is deleted while it runs: it says so, ends, and starts with a new one"
printf '[Service]\nWatchdogSec=8s\nRestartSec=500ms\n' | write /etc/systemd/system/fleet-locationd.service.d/deleted.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd
for directory in /var/lib/fleet-locationd /run/fleet-locationd; do
  until_true 15 status_says Online || fail "STATUS before $directory is deleted: $(property StatusText)"
  restarts=$(property NRestarts)
  # In one command, because systemd's watchdog goes on meanwhile. With the socket, explain would wait for the answer.
  explain='fleet-locationctl explain || true'
  [ $directory = /run/fleet-locationd ] || explain=true
  inside sh -ec "systemctl kill -s STOP fleet-locationd; rm -rf $directory; $explain; \
    systemctl kill -s CONT fleet-locationd" >"$work/answer" 2>&1
  [ $directory = /var/lib/fleet-locationd ] || grep -q "fleet-locationd.service runs, but nothing listens at" "$work/answer" ||
    fail "explain: $(cat "$work/answer")"
  until_true 15 eval '[ "$(property NRestarts)" -gt "$restarts" ] && inside fleet-locationctl status >/dev/null 2>&1' ||
    fail "$directory was deleted, and the service has not started again: $(property StatusText)"
  journal -n 30 | has "^Stopping: $directory was deleted" || fail "the journal: $(journal -n 30)"
  inside test -d $directory || fail "$directory is not there again"
done
inside rm /etc/systemd/system/fleet-locationd.service.d/deleted.conf
inside systemctl daemon-reload
inside systemctl restart fleet-locationd

step "a drive that ends while Fleet Engine is down: systemd waits for drain_timeout, and what is pending arrives"
drive=fleet-locationd@drive
settings drive-1 drive
inside sed -i 's|^type = "simulated"|&\nloop = false\npace = 20\nspeed = "400 km/h"|' /etc/fleet-locationd/drive.toml
printf '[Service]\nTimeoutStopSec=1s\n' | write /etc/systemd/system/$drive.service.d/stop.conf
inside systemctl daemon-reload
fault '{"target": "update", "vehicle": "drive-1", "status": 503, "for_ms": 3600000}'
inside systemctl start $drive || fail "start of the drive"
until_true 60 eval '[ "$(property SubState $drive)" = stop-sigterm ]' || fail "the drive does not end: $(property StatusText $drive)"
sleep 4
[ "$(property SubState $drive)" = stop-sigterm ] || fail "systemd has ended it: $(property Result $drive)"
curl -sf -X DELETE "http://127.0.0.1:$port/debug/faults" >/dev/null || fail "the faults stay"
until_true 60 eval '[ "$(property ActiveState $drive)" = inactive ]' || fail "after the outage: $(property StatusText $drive)"
[ "$(property Result $drive) $(property ExecMainStatus $drive)" = "success 0" ] || fail "it ends as $(property Result $drive)"
inside rm -r /etc/systemd/system/$drive.service.d /etc/fleet-locationd/drive.toml
inside systemctl daemon-reload

step "stop: pending positions are sent, and the end is logged"
inside systemctl stop fleet-locationd
[ "$(property ExecMainStatus)" = 0 ] || fail "exit status $(property ExecMainStatus)"
journal | tail -n 3 | has Stopped || fail "no last word"
! inside test -e /run/fleet-locationd || fail "the token outlives a stop"

step "boot after a power cut, without network and receiver: it runs and waits"
write /etc/fleet-locationd/conf.d/receiver.toml <<'END'
[source]
type = "serial"
device = "/dev/ttyUSB7"
END
inside sed -i '/^\[source\]/,/^\[token\]/{/^\[token\]/!d}' /etc/fleet-locationd/fleet-locationd.toml /etc/fleet-locationd/van-2.toml
inside systemctl start fleet-locationd
inside sync
container crash
container boot --offline
until_true 10 eval '[ "$(property SubState)" = running ]' || fail "after the power cut it is $(property SubState)"
until_true 10 status_says 'No source' || fail "STATUS: $(property StatusText)"
echo "   $(property StatusText)"

step "journal: the questions of docs/journal.md have answers"
asked=0
while read -r question; do
  asked=$((asked + 1))
  inside sh -c "$question --no-pager" >"$work/answer" || fail "$question"
  # Events that have not occurred in this test are not checked.
  case $question in *networkLost* | *fixLost* | *tokenFailed* | *positionsDropped*) continue ;; esac
  ! grep -qx -- '-- No entries --' "$work/answer" && [ -s "$work/answer" ] || fail "no answer to: $question"
done < <(sed -n '/^## Questions/,/^## A day/s/^\(journalctl -u [^#]*[^# ]\) *#.*/\1/p' "$here/../../docs/journal.md")
[ $asked -gt 5 ] || fail "the page has $asked questions"

step "remove: every vehicle stops; settings and positions stay"
inside dpkg --remove fleet-locationd fleet-engine-emulator >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "remove"; }
for unit in fleet-locationd fleet-locationd@van-2; do
  [ "$(property ActiveState "$unit")" != active ] || fail "$unit still runs"
done
! inside pgrep -x fleet-locationd || fail "a daemon still runs"
inside test -e /etc/fleet-locationd/van-2.toml -a -e /var/lib/fleet-locationd-van-2 || fail "what remove has to leave is gone"

step "install after a removal: the service and each enabled instance run again"
inside dpkg -i /root/fleet-locationd.deb >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "install after a removal"; }
for unit in fleet-locationd fleet-locationd@van-2; do
  until_true 10 eval '[ "$(property ActiveState "$unit")" = active ]' || fail "after a new installation $unit is $(property ActiveState "$unit")"
done
inside dpkg --remove fleet-locationd >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "second remove"; }

step "purge: nothing is left but an administrator's own drop-in"
# What setup writes for an instance.
for file in credential.conf credential.conf.20261121T083000Z; do
  write /etc/systemd/system/fleet-locationd@purged.service.d/$file </dev/null
done
own=/etc/systemd/system/fleet-locationd@.service.d
write $own/own.conf </dev/null
# Two vehicles whose positions are elsewhere: behind a link, and on a partition of their own.
inside sh -ec 'cd /var/lib; mkdir /linked fleet-locationd-mounted; ln -s /linked fleet-locationd-linked; mount -t tmpfs none fleet-locationd-mounted
  touch /linked/backlog.sqlite fleet-locationd-mounted/backlog.sqlite'
# What fleet-locationd-rollback stores, and a file of an administrator.
inside sh -ec 'cd /var/lib; mkdir fleet-locationd-rollback; touch fleet-locationd-rollback/reference fleet-locationd-backup.tar'
inside dpkg --purge fleet-locationd fleet-engine-emulator >"$work/dpkg" 2>&1 || { cat "$work/dpkg"; fail "purge"; }
[ -z "$(inside ls -A /linked /var/lib/fleet-locationd-mounted | grep -v :)" ] || fail "positions are left behind a link, or on a partition"
inside sh -ec 'umount /var/lib/fleet-locationd-mounted; rmdir /var/lib/fleet-locationd-mounted'
inside sh -ec 'cd /var/lib; rm fleet-locationd-rollback/reference fleet-locationd-backup.tar; rmdir fleet-locationd-rollback' ||
  fail "the purge deletes what is not of the package"
left=$(inside find / -xdev -path /proc -prune -o -path /sys -prune -o -path /root -prune -o -path /var/log/journal -prune \
  -o -path /var/lib/dpkg -prune -o -path $own -prune -o -name '*fleet-*' -print)
left+=$(inside find /run -maxdepth 1 -name 'fleet-*')
[ -z "$left" ] || fail "left behind: $left"
[ "$(inside ls $own)" = own.conf ] || fail "in $own: $(inside ls $own)"
! inside systemctl cat fleet-locationd >/dev/null 2>&1 || fail "systemd still knows the unit"
echo "== done in $SECONDS s"
