#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The installed unit and a router that sends its receiver's sentences to a multicast group: over a network that drops a tenth of the
# datagrams and reorders others (netem), and after its interface was replaced.
source "$(dirname "$0")/../library.sh"
trap '"$machine" down' EXIT

# The router is a namespace, and the cable to it a pair of virtual interfaces.
connect() {
  guest bash -es <<'END'
ip netns add router 2>/dev/null || true
ip link add veth0 type veth peer name lan netns router
ip addr add 192.168.77.2/24 dev veth0
ip link set veth0 up
ip -n router addr add 192.168.77.1/24 dev lan
ip -n router link set lan up
ip -n router route add 239.0.0.0/8 dev lan
END
}

step "boot, with a router that sends a datagram for each sentence"
MACHINE_RECEIVER=no "$machine" boot
install_programs
"$machine" copy "$top/config/examples/demo.gpx" /root/demo.gpx
connect
# There is also a sender that the settings do not allow.
guest bash -es <<'END'
ip -n router addr add 192.168.77.9/24 dev lan
cat > /root/router <<'ROUTER'
fleet-locationctl simulate /root/demo.gpx --loop --pace 1 --format nmea | while read -r line; do
  printf '%s' "${line%$'\r'}" 2>/dev/null > /dev/udp/239.255.46.9/10110
done
ROUTER
systemd-run --quiet --unit=router ip netns exec router bash /root/router
END
write_settings <<'END'
[source]
type = "nmea-udp"
listen = "0.0.0.0:10110"
group = "239.255.46.9"
interface = "veth0"
allow = ["192.168.77.1"]
silence_timeout = "5s"
END

step "what the doctor hears"
expect "who sends, and a fix" \
  "fleet-locationctl doctor > /tmp/doctor; grep 'pass  192.168.77.1 sends' /tmp/doctor && grep 'pass  a fix: 3D' /tmp/doctor"

step "the hardened unit, and datagrams that are lost and overtaken"
guest "systemctl start fleet-locationd"
wait_for 30 "an update is accepted" "fleet-locationctl status"
guest "tc -n router qdisc add dev lan root netem loss 10% delay 300ms 250ms"
wait_for 60 "late sentences are counted" "fleet-locationctl status --json | grep '\"late\":[1-9]'"
for _ in 1 2 3; do wait_for_updates 30 "an update is accepted"; done
expect "none is damaged" "fleet-locationctl status --json | grep '\"wrongChecksums\":0'"
expect "no fix is rejected" \
  "fleet-locationctl metrics > /tmp/metrics && ! grep -E '^fleet_locationd_fixes_rejected_total.* [1-9]' /tmp/metrics"
guest "tc -n router qdisc del dev lan root"

step "a sender that is not allowed"
guest "ip netns exec router ip route replace 239.0.0.0/8 dev lan src 192.168.77.9"
wait_for 15 "it is named, and nothing of it is read" \
  "fleet-locationctl status --json | grep '\"refused\":.*192.168.77.9' && systemctl show -P StatusText fleet-locationd | grep '^No source'"
guest "ip netns exec router ip route replace 239.0.0.0/8 dev lan src 192.168.77.1"
wait_for_updates 30 "an update is accepted again"

step "the interface is replaced"
guest "ip link del veth0"
wait_for 15 "the status says so" "systemctl show -P StatusText fleet-locationd | grep '^No source'"
expect "its group is gone with it" "ip maddr show > /tmp/groups && ! grep 239.255.46.9 /tmp/groups"
connect
wait_for 45 "the group is joined again" "ip maddr show dev veth0 | grep 239.255.46.9"
wait_for 15 "the source is back" "systemctl show -P StatusText fleet-locationd | grep '^Online; fix'"
wait_for_updates 30 "an update is accepted"
expect "the service was never restarted" "[ \$(systemctl show -P NRestarts fleet-locationd) = 0 ]"
"$machine" down
