#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A USB receiver and the installed unit on a whole machine: found under its own name, unplugged, plugged in again under
# another number, and plugged in only after the boot; the udev rules of docs/receivers.md; what the doctor reports.
source "$(dirname "$0")/../library.sh"
trap '"$machine" down' EXIT

by_id=/dev/serial/by-id/usb-QEMU_QEMU_USB_SERIAL_GNSS0001-if00-port0
source_with() { printf '[source]\ntype = "serial"\ndevice = "%s"\nbaud = %s\nsilence_timeout = "5s"\n' "$1" "${2:-9600}"; }

step "boot with the receiver"
"$machine" boot
install_programs
source_with "$by_id" '"auto"' | write_settings

step "what the doctor sees"
# With the unit's PrivateUsers=, doctor, which runs like the service, cannot see the name of the device's group.
expect "it may be opened, and is heard" \
  "fleet-locationctl doctor > /tmp/doctor; grep -q 'user fleet-locationd may open it (mode 0660)' /tmp/doctor &&
   grep -q 'detected: GGA' /tmp/doctor && grep -q 'pass  a fix: 3D' /tmp/doctor"
# Nothing may be sent to the receiver, and gpsd would query its model; so another program opens it.
guest "systemd-run --quiet --unit=holder sleep 60 && systemctl stop holder"
guest "systemd-run --quiet --unit=holder --property=StandardInput=file:$by_id sleep infinity"
wait_for 5 "another program has it" "ls -l /proc/\$(systemctl show -P MainPID holder)/fd/0 | grep -q ttyUSB"
expect "the other program is named" "! fleet-locationctl doctor > /tmp/doctor && grep -q 'sleep (process .*, holder.service) has it open' /tmp/doctor"
guest "systemctl stop holder"

step "the hardened unit"
guest "systemctl start fleet-locationd"
wait_for 30 "an update is accepted" "fleet-locationctl status"
expect "the doctor sees the service" "fleet-locationctl doctor | grep -q 'fleet-locationd (process .*, fleet-locationd.service) has it open, as it should'"
expect "even root can open no disk in its control group" "sh -c 'echo \$\$ >/sys/fs/cgroup/system.slice/fleet-locationd.service/cgroup.procs
  ! head -c 1 /dev/vda 2>/tmp/refusal' && grep -q 'Operation not permitted' /tmp/refusal && head -c 1 /dev/vda >/dev/null"
expect "its system calls are filtered" "grep -q '^Seccomp:.*2' /proc/\$(systemctl show -P MainPID fleet-locationd)/status"
guest "systemctl stop fleet-locationd"
source_with "$by_id" | write_settings
guest "systemctl start fleet-locationd"
wait_for 30 "with its speed set" "fleet-locationctl status"

step "unplug, with the number taken, and plug in"
# A process that keeps a removed device open keeps its number in use.
guest "systemd-run --quiet --unit=holder --property=StandardInput=file:/dev/ttyUSB0 sleep infinity"
"$machine" unplug
wait_for 10 "the status says that it is gone" "systemctl show -P StatusText fleet-locationd | grep -q '^No source'"
"$machine" plug
wait_for 10 "it is ttyUSB1 now" "readlink $by_id | grep -q ttyUSB1"
wait_for_updates 30 "an update is accepted again"
guest "systemctl stop holder"

step "ten times more"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  "$machine" unplug
  "$machine" plug
done
wait_for 15 "it is read again" "systemctl show -P StatusText fleet-locationd | grep -qv '^No source'"
wait_for_updates 30 "an update is accepted again"
expect "the service was never restarted" "[ \$(systemctl show -P NRestarts fleet-locationd) = 0 ]"

step "the udev rules of docs/receivers.md, for this adapter"
guest "cat > /etc/udev/rules.d/60-gnss.rules" <<'END'
SUBSYSTEM=="tty", ATTRS{idVendor}=="0403", ATTRS{idProduct}=="6001", GROUP="dialout", SYMLINK+="gps0"
ATTRS{idVendor}=="0403", ENV{ID_MM_DEVICE_IGNORE}="1"
SUBSYSTEM=="gnss", GROUP="dialout", MODE="0660"
END
guest "udevadm control --reload"
source_with /dev/gps0 | write_settings
guest "systemctl reload fleet-locationd"
"$machine" unplug
"$machine" plug
wait_for 10 "/dev/gps0 is there" "[ -c /dev/gps0 ] && [ \$(stat -L -c %G /dev/gps0) = dialout ]"
expect "ModemManager ignores the port" "udevadm info /dev/gps0 | grep -q ID_MM_DEVICE_IGNORE=1"
wait_for_updates 30 "an update is accepted"
"$machine" down

step "boot without the receiver, and plug it in then"
MACHINE_RECEIVER=no "$machine" boot
install_programs
source_with "$by_id" | write_settings
guest "systemctl start fleet-locationd"
expect "the service is up, and waits" "systemctl is-active fleet-locationd && systemctl show -P StatusText fleet-locationd | grep -q '^No source'"
"$machine" plug
wait_for 30 "an update is accepted" "fleet-locationctl status"

step "a port whose speed cannot be set, like those of modems: it is opened all the same"
guest "systemctl stop fleet-locationd"
source_with "$by_id" 115200 | write_settings
# usbserial's generic driver ignores the speed. It passes on the two status bytes of each of the adapter's packets, so that few
# sentences are complete.
guest "rmmod ftdi_sio && echo 0403 6001 > /sys/bus/usb-serial/drivers/generic/new_id"
wait_for 10 "the port is there" "[ -c $by_id ]"
expect "it stays at its speed" "! stty -F $by_id 115200"
guest "systemctl start fleet-locationd"
wait_for 10 "it is open" "ls -l /proc/\$(systemctl show -P MainPID fleet-locationd)/fd | grep -q ttyUSB"
