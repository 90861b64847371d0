#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A token command that needs more memory than the unit has: the kernel kills it, and the daemon continues. Then the daemon itself is killed.
source "$(dirname "$0")/../library.sh"
trap '"$machine" down' EXIT

step "boot, with a token command that needs 150 MB"
MACHINE_RECEIVER=no "$machine" boot
install_programs
write_settings <<'SETTINGS'
[source]
type = "simulated"
route = "/usr/share/doc/fleet-locationd/examples/demo.gpx"
SETTINGS
settings=/etc/fleet-locationd/fleet-locationd.toml
guest "cp $settings /root/by-url.toml; sed -i '/^\[token\]/,/^\[fleet_engine\]/{/^\[fleet_engine\]/!d}' $settings; cat >> $settings" <<'SETTINGS'
[token]
provider = "command"
command = ["/usr/bin/perl", "-e", "my $memory = 'x'; $memory x= 150 << 20; sleep 60"]
SETTINGS
guest "systemctl start fleet-locationd"
wait_for 60 "the status names the signal" \
  "systemctl show -P StatusText fleet-locationd | grep 'No token: the token command /usr/bin/perl was ended by signal 9'"
# systemd reads the kernel's event of the kill at some moment after it.
wait_for 60 "the kernel has killed it" "journalctl -u fleet-locationd | grep 'killed by the OOM killer'"
wait_for 60 "it was tried again" "[ \$(journalctl -k | grep -c 'Memory cgroup out of memory') -ge 2 ]"
expect "the service is still active" "systemctl is-active fleet-locationd && [ \$(systemctl show -P NRestarts fleet-locationd) = 0 ]"

step "with another token provider it reports"
guest "cp /root/by-url.toml $settings && systemctl reload fleet-locationd"
wait_for 30 "an update is accepted" "fleet-locationctl status"
expect "the service was never restarted" "[ \$(systemctl show -P NRestarts fleet-locationd) = 0 ]"

step "a daemon that the kernel kills is started again"
guest "systemctl set-property --runtime fleet-locationd MemoryMax=1M"
wait_for 60 "it was restarted" "[ \$(systemctl show -P NRestarts fleet-locationd) -ge 1 ]"
guest "systemctl set-property --runtime fleet-locationd MemoryMax=96M"
wait_for 60 "an update is accepted" "fleet-locationctl status"
