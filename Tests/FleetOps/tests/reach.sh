#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests "One box behind NAT" of docs/fleet.md: an engineer reaches the box by ssh through the central machine, where the
# box can do nothing else.
# reach.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

packages=$1
export CONTAINER_EXTRA=openssh-server,openssh-client
. "$(dirname "$0")/../box.sh"
recipes=$repository/packaging/fleet/reach
# The boxes share the loopback of this machine, and need separate ports.
central_port=$((port + 1)) box_port=$((port + 2)) own=$((port + 3)) other=$((port + 4))
open() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

step "the central machine lets boxes listen, each on its own port"
for name in box engineer; do ssh-keygen -q -t ed25519 -N '' -C $name -f "$work/$name"; done
use central
inside useradd --system --shell /usr/sbin/nologin reach
write /etc/ssh/sshd_config.d/fleet-reach.conf < "$recipes/sshd-reach.conf"
printf 'Port %s\nListenAddress 127.0.0.1\n' $central_port | write /etc/ssh/sshd_config.d/port.conf
echo "restrict,port-forwarding,permitlisten=\"127.0.0.1:$own\" $(cat "$work/box.pub")" | write /etc/ssh/reach_authorized_keys
inside sshd -t || fail "sshd's settings"
inside systemctl restart ssh
until_true 20 open $central_port || fail "no sshd"
inside cat /etc/ssh/ssh_host_ed25519_key.pub > "$work/host"

step "the box keeps a way to its ssh open"
use truck-17
printf 'Port %s\nListenAddress 127.0.0.1\n' $box_port | write /etc/ssh/sshd_config.d/port.conf
write /root/.ssh/authorized_keys 600 < "$work/engineer.pub"
inside systemctl restart ssh
until_true 20 open $box_port || fail "no sshd on the box"
inside useradd --system --shell /usr/sbin/nologin fleet-reach
write /etc/fleet-reach/key 600 < "$work/box"
echo "[127.0.0.1]:$central_port $(cut -d' ' -f1,2 "$work/host")" | write /etc/fleet-reach/known_hosts
echo "FLEET_REACH_PORT=$own" | write /etc/fleet-reach/environment
sed "s/127.0.0.1:22 reach@metrics.example.com/127.0.0.1:$box_port -p $central_port reach@127.0.0.1/; s/ServerAliveInterval=300/ServerAliveInterval=5/
  s/^\[Service\]/&\nIPAccounting=yes/" "$recipes/fleet-reach.service" | write /etc/systemd/system/fleet-reach.service
inside systemctl daemon-reload
inside systemctl enable -q --now fleet-reach
until_true 20 open $own || fail "no way to the box: $(inside journalctl -u fleet-reach -o cat --no-pager | tail -n 5)"

step "an engineer reaches the box that way"
reach() { ssh -F none -i "$work/engineer" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p $own root@127.0.0.1 "$@"; }
[ "$(reach hostname)" = "$(inside hostname)" ] || fail "it is another machine"
carried() { echo $(($(inside systemctl show -P IPEgressBytes fleet-reach) + $(inside systemctl show -P IPIngressBytes fleet-reach))); }
sleep 3
before=$(carried)
sleep 30
echo "   a look whether the other end is there: $((($(carried) - before) / 6)) bytes both ways, 288 of them a day"

step "with its key a box can do nothing else on the central machine"
as_box() { timeout 20 ssh -F none -i "$work/box" -o BatchMode=yes -o ExitOnForwardFailure=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p $central_port "$@" reach@127.0.0.1; }
! as_box -T >"$work/shell" 2>&1 </dev/null || fail "a shell: $(cat "$work/shell")"
grep -qi 'not available' "$work/shell" || fail "not by nologin: $(cat "$work/shell")"
! timeout 20 ssh -F none -i "$work/box" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -p $central_port reach@127.0.0.1 id >"$work/command" 2>&1 ||
  fail "a command: $(cat "$work/command")"
grep -qi 'not available' "$work/command" || fail "a command, not by nologin: $(cat "$work/command")"
! as_box -N -R "127.0.0.1:$other:127.0.0.1:1" 2>"$work/refusal" || fail "another port"
grep -q 'remote port forwarding failed' "$work/refusal" || fail "another port: $(cat "$work/refusal")"
as_box -N -L "127.0.0.1:$other:127.0.0.1:$box_port" 2>"$work/refusal" &
background+=($!)
until_true 10 open $other || fail "the client does not listen"
# `open` has made a connection, which the central machine must refuse to forward.
until_true 10 grep -q 'open failed: administratively prohibited' "$work/refusal" ||
  fail "it reaches other services of the central machine: $(cat "$work/refusal")"
kill "${background[-1]}" 2>/dev/null || true

step "without its line the box has no way any more"
use central
echo | write /etc/ssh/reach_authorized_keys
inside pkill -u reach
use truck-17
since=$(inside date "+%F %T")
inside systemctl restart fleet-reach
refused() { inside journalctl -u fleet-reach --since "$since" -o cat 2>/dev/null | grep -q 'Permission denied'; }
until_true 30 refused || fail "it is not refused: $(inside journalctl -u fleet-reach -n 20 -o cat)"
! open $own || fail "there is still a way to it"
