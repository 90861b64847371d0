#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts of a vehicle without a network: POWER_CUTS (5) of them at random moments. After each boot the backlog file is
# intact, and its newest position is from at most commit_interval plus a margin before the cut; when the network is back
# everything that was ever on disk is delivered. Then the machine suspends, and its clock is stepped.
source "$(dirname "$0")/../library.sh"

cuts=${POWER_CUTS:-5}
commit_interval=5
# The margin in seconds: a position a second, the time of the disk, and the time to read two clocks.
margin=3
disk_directory=$(mktemp -d)
export MACHINE_DISK=$disk_directory/disk.qcow2
finish() {
  "$machine" down
  rm -rf "$disk_directory"
}
trap finish EXIT

state=/var/lib/fleet-locationd
by_id=/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_GNSS0001-if00-port0

# The output of SQLite's own shell for the file and its log, as the cut has left them; the daemon is not running yet.
query() {
  local copy=$disk_directory/copy
  rm -rf "$copy"
  mkdir "$copy"
  guest "tar -C $state -cf - ." | tar -C "$copy" -xf -
  sqlite3 "$copy/backlog.sqlite" "$1"
}

emulator() {
  guest 'systemd-run --quiet --unit=emulator fleet-engine-emulator --port 8080 --record /run/record.jsonl --quiet
    until curl -s -o /dev/null http://127.0.0.1:8080/; do sleep 0.1; done'
}

step "boot, and an update"
"$machine" boot
install_programs
# The daemon that install_programs starts is for tests whose network does not fail.
guest "systemctl stop emulator"
{
  printf 'commit_interval = "%ss"\n' "$commit_interval" | sed '1i [backlog]'
  printf '[source]\ntype = "serial"\ndevice = "%s"\nbaud = 9600\n' "$by_id"
} | write_settings
# A position each second, which is allowed only for a loopback endpoint.
guest "sed -i 's/^interval = .*/interval = \"1s\"/' /etc/fleet-locationd/fleet-locationd.toml"

count=0
for number in $(seq "$cuts"); do
  step "cut $number of $cuts"
  guest "systemctl start fleet-locationd"
  # Longer than commit_interval, so that the newest expected position must be on disk.
  wait_for 90 "positions of this run wait" "fleet-locationctl status --json | grep -q '\"store\":\"disk\"' &&
    [ \$(fleet-locationctl status --json | sed -n 's/.*\"backlog\":{[^}]*\"count\":\\([0-9]*\\).*/\\1/p') -gt $((count + 2 * commit_interval)) ]"
  pause=$((RANDOM % 12000))
  sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
  # The receiver's time is that of the host, which cuts the power.
  cut_at=$(date +%s%3N)
  "$machine" cut
  "$machine" boot
  answer=$(query "PRAGMA integrity_check; SELECT count(*), max(time) FROM positions")
  [ "$(head -1 <<<"$answer")" = ok ] || fail "the file is damaged: $answer"
  IFS='|' read -r count newest < <(tail -1 <<<"$answer")
  age=$((cut_at - newest))
  echo "    the file is whole; $count positions, the newest from $((age / 1000)).$((age % 1000 / 100)) s before the cut"
  [ "$age" -le $(((commit_interval + margin) * 1000)) ] || fail "more is lost than commit_interval and $margin s"
  query "SELECT time FROM positions ORDER BY time" >"$disk_directory/expected.$number"
done

step "the network is back"
before=$(wc -l <"$disk_directory/expected.$cuts")
emulator
guest "systemctl start fleet-locationd"
wait_for 120 "all $before positions have gone" "fleet-locationctl status --json | grep -q '\"isOnline\":true' &&
  [ \$(fleet-locationctl status --json | sed -n 's/.*\"backlog\":{[^}]*\"count\":\\([0-9]*\\).*/\\1/p') -le 1 ]"
guest "cat /run/record.jsonl" >"$disk_directory/record"
python3 - "$disk_directory" <<'END' || fail "not all that was on disk has arrived"
import datetime, glob, json, sys

arrived = set()
for line in open(f"{sys.argv[1]}/record"):
    entry = json.loads(line)
    if entry["accepted"]:
        body = json.loads(entry["body"])
        for position in [body["lastLocation"]] + body.get("pastLocations", []):
            moment = datetime.datetime.fromisoformat(position["supplementalLocationTime"].replace("Z", "+00:00"))
            arrived.add(round(moment.timestamp() * 1000))
expected = {int(line) for name in glob.glob(f"{sys.argv[1]}/expected.*") for line in open(name)}
print(f"    {len(expected)} positions were on disk, {len(expected - arrived)} of them have not arrived")
sys.exit(1 if expected - arrived or not expected else 0)
END

step "suspend to memory, 20 s"
wait_for_updates 30 "an update is accepted"
if guest "[ -e /sys/power/mem_sleep ] && grep -q mem /sys/power/state && [ -e /dev/rtc0 ]"; then
  # The command returns when the machine has resumed.
  guest "rtcwake -m mem -s 20 >/dev/null"
  wait_for_updates 15 "the first update after it"
  expect "the journal says how long it slept" "journalctl -u fleet-locationd --no-pager | grep -q 'Awake after \(19\|2[0-9]\) s'"
else
  fail "this machine cannot sleep"
fi

# The emulator has the machine's clock, so the times of Fleet Engine and of the provider step as well, unlike in
# reality. The step is shorter than a token's lifetime of an hour: otherwise a token would expire about when it arrives.
step "the clock is set back by half an hour, and forward again"
guest "date -s '-30 min' >/dev/null"
wait_for_updates 15 "an update is accepted"
expect "the journal has it" "journalctl -u fleet-locationd --no-pager | grep -q 'The clock of this machine was set back'"
guest "date -s '+30 min' >/dev/null"
wait_for_updates 15 "an update is accepted"
expect "nothing was given up" "fleet-locationctl status --json | grep -q '\"removed\":{}'"
expect "the service was never restarted" "[ \$(systemctl show -P NRestarts fleet-locationd) = 0 ]"
