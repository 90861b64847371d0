#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A whole Debian 12 machine in qemu: its own kernel, systemd, udev, USB, clock and disk, with KVM or without.
#   machine.sh create                 creates the image from Debian packages, unless it is in the cache
#   machine.sh run COMMAND...         runs a command in it, as root
#   machine.sh copy FILE PATH         copies a file into it
#   machine.sh plug | unplug          the receiver: a simulated USB serial adapter (FTDI) that drives along MACHINE_ROUTE
#   machine.sh qmp JSON               sends a QMP command to qemu, such as '{"execute":"system_reset"}'
#   machine.sh cut                    a power cut: data that was not on disk is lost; boot with MACHINE_DISK set continues from there
#   machine.sh down                   shuts it down
# `boot -rtc base=1970-01-01` is a box without a clock; `run 'date -s …'` steps it. sch_netem is available for bad networks.
# MACHINE_ARCH    amd64 (the default) or arm64, which is emulated and slow
# MACHINE_CACHE   directory of the image (build/machine or build/machine-arm64 in the project)
# MACHINE_RUN     directory of the running machine (/run/fleet-machine-ARCH or, without root, in the cache); run.sh has one for each run
# MACHINE_DISK    a persistent disk: created at the first boot, reused by the next
# MACHINE_BIN     directory of the built programs, for the receiver (.build/release)
# MACHINE_ROUTE   what the receiver drives along (config/examples/demo.gpx)
# The guest reaches the host's loopback as 10.0.2.2; the receiver's sentences come from `fleet-locationctl simulate`.
set -euo pipefail

top=$(cd "$(dirname "$0")/../.." && pwd)
arch=${MACHINE_ARCH:-amd64}
case $arch in
  amd64) cache=build/machine console=ttyS0 qemu=(qemu-system-x86_64 -machine q35) ;;
  arm64) cache=build/machine-arm64 console=ttyAMA0 qemu=(qemu-system-aarch64 -machine virt) ;;
  *)
    echo "machine.sh: MACHINE_ARCH=$arch: expected amd64 or arm64" >&2
    exit 64
    ;;
esac
cache=${MACHINE_CACHE:-$top/$cache}
run=${MACHINE_RUN:-$([ -w /run ] && echo "/run/fleet-machine-$arch" || echo "$cache/run")}
bin=${MACHINE_BIN:-$top/.build/release}
route=${MACHINE_ROUTE:-$top/config/examples/demo.gpx}
port=${MACHINE_SSH_PORT:-22731}
# Packages for the daemon, its tests and debugging.
packages=systemd,systemd-sysv,dbus,udev,openssh-server,iproute2,procps,psmisc,kmod,ca-certificates,curl,less
packages+=,libcurl4,libexpat1,libmicrohttpd12,libssl3,libstdc++6,libsqlite3-0,systemd-timesyncd,busybox-static
# gpsd's clients depend on two hundred packages, whose installation is emulated.
[ "$arch" != amd64 ] || packages+=,gpsd,gpsd-clients
modules="virtio_pci virtio_blk virtio_net virtio_rng ext4 xhci_pci ftdi_sio cdc_acm usbserial softdog i6300esb rtc_cmos
  sch_netem sch_tbf dummy veth nf_tables nft_reject_inet nft_counter"

die() {
  echo "machine.sh: $*" >&2
  exit 1
}

create() (
  [ ! -e "$cache/complete" ] || return 0
  [ "$(id -u)" = 0 ] || die "the image is made once, as root: sudo MACHINE_CACHE=$cache $0 create"
  [ "$arch" = amd64 ] || "$top/scripts/arm64/emulate.sh"
  mkdir -p "$cache"
  # One at a time.
  exec 8>"$cache/lock"
  flock 8
  [ ! -e "$cache/complete" ] || return 0
  rm -rf "$cache/base.ext4" "$cache/root" "$cache/kernel" "$cache/initrd.d"
  mkdir -p "$cache/kernel"
  cd "$cache"
  local version module file mirror
  mirror=$(apt-get indextargets --format '$(SITE)' | grep -E '/debian/?$' | head -n 1) || true
  # The kernel is unpacked, not installed.
  # shellcheck disable=SC2016
  mmdebstrap --quiet --variant=minbase --arch="$arch" --include="$packages" \
    --customize-hook='chroot "$1" sh -c "cd /root && apt-get download -qq -o APT::Sandbox::User=root \
      \$(apt-cache depends linux-image-'"$arch"' | sed -n \"s/.*Depends: \(linux-image-.*\)/\1/p\")" >/dev/null' \
    --customize-hook='for file in "$1"/root/linux-image-*.deb; do dpkg-deb -x "$file" kernel; rm "$file"; done' \
    --aptopt='Acquire::Languages "none"' \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' bookworm root \
    "${mirror:-http://deb.debian.org/debian}"
  version=$(ls kernel/lib/modules)
  cp kernel/boot/vmlinuz-* vmlinuz
  depmod -b kernel "$version"
  # Only the modules that a test needs: a few MB of 400.
  for module in $modules; do
    { modprobe -d kernel -S "$version" --show-depends "$module" 2>/dev/null || true; } | awk '/^insmod/ { print $2 }'
  done | sort -u | while read -r file; do
    file=lib/modules/${file##*lib/modules/}
    mkdir -p "root/$(dirname "$file")"
    cp "kernel/$file" "root/$file"
  done
  cp kernel/lib/modules/"$version"/modules.{builtin,order,builtin.modinfo} root/lib/modules/"$version"/
  depmod -b root "$version"
  make_initrd "$version"
  set_up root
  truncate -s 2G base.ext4
  mke2fs -q -t ext4 -d root base.ext4
  rm -rf root kernel initrd.d
  # Later runs need no root, and ssh wants a key of its own.
  chown -R "${SUDO_UID:-0}" .
  touch complete
)

make_initrd() { # kernel version: busybox and what reaches the disk
  mkdir -p initrd.d/{bin,dev,proc,new,modules}
  cp root/bin/busybox initrd.d/bin/
  local module file names=()
  for module in virtio_pci virtio_blk ext4; do
    while read -r file; do
      [ -e "initrd.d/modules/${file##*/}" ] && continue
      cp "$file" initrd.d/modules/
      names+=("${file##*/}")
    done < <(modprobe -d root -S "$1" --show-depends "$module" | awk '/^insmod/ { print $2 }')
  done
  cat >initrd.d/init <<END
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t proc none /proc
for file in ${names[*]}; do /bin/busybox insmod /modules/\$file; done
tries=0
while [ ! -b /dev/vda ] && [ \$tries -lt 500 ]; do /bin/busybox usleep 10000; tries=\$((tries + 1)); done
/bin/busybox mount -t ext4 /dev/vda /new
/bin/busybox umount /proc
/bin/busybox mount --move /dev /new/dev
exec /bin/busybox switch_root /new /sbin/init
END
  chmod +x initrd.d/init
  (cd initrd.d && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >initrd
}

set_up() { # root: the network, a key, and nothing that does things on its own
  local unit
  mkdir -p "$1/var/log/journal" "$1/root/.ssh" "$1/etc/systemd/network"
  chmod 700 "$1/root/.ssh"
  rm -f key key.pub
  ssh-keygen -q -t ed25519 -N '' -C machine -f key
  cp key.pub "$1/root/.ssh/authorized_keys"
  printf '[Match]\nName=en*\n[Network]\nDHCP=yes\n' >"$1/etc/systemd/network/machine.network"
  echo machine >"$1/etc/hostname"
  printf '/dev/vda / ext4 defaults,errors=remount-ro 0 1\n' >"$1/etc/fstab"
  ln -sf /lib/systemd/system/systemd-networkd.service "$1/etc/systemd/system/multi-user.target.wants/"
  for unit in apt-daily.timer apt-daily-upgrade.timer getty.target systemd-timesyncd.service e2scrub_all.timer \
    fstrim.timer dpkg-db-backup.timer gpsd.socket gpsd.service; do
    ln -sfn /dev/null "$1/etc/systemd/system/$unit"
  done
}

guest() {
  ssh -q -i "$cache/key" -p "$port" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=2 \
    -o ControlMaster=auto -o ControlPath="$run/ssh" -o ControlPersist=60 root@127.0.0.1 "$@"
}

boot() {
  create
  is_up && die "it runs already: $run/pid"
  rm -rf "$run"
  mkdir -p "$run"
  local disk=${MACHINE_DISK:-$run/disk.qcow2} accelerator=tcg cpu=max
  [ "$arch" = amd64 ] || cpu=cortex-a72
  # A stock kernel cannot run with /dev/kvm if the processor lacks the flag.
  [ "$arch" = amd64 ] && [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo && accelerator=kvm cpu=host
  [ -e "$disk" ] || qemu-img create -q -f qcow2 -b "$cache/base.ext4" -F raw "$disk"
  # qemu runs in its own session, so that input at the test's terminal does not reach it.
  setsid "${qemu[@]}" -accel "$accelerator" -name fleet-machine -cpu "$cpu" -m 1024 -smp 2 \
    -display none -kernel "$cache/vmlinuz" -initrd "$cache/initrd" \
    -append "console=$console root=/dev/vda rw quiet systemd.show_status=0 random.trust_cpu=on" \
    -drive "file=$disk,if=virtio,format=qcow2" -device virtio-rng-pci \
    -netdev "user,id=net,hostfwd=tcp:127.0.0.1:$port-:22" -device virtio-net-pci,netdev=net \
    -device qemu-xhci,id=usb -chardev "socket,id=gps,path=$run/gps.sock,server=on,wait=off" \
    -serial "file:$run/console.log" -monitor none -qmp "unix:$run/qmp.sock,server=on,wait=off" -no-reboot "$@" \
    </dev/null >"$run/qemu.log" 2>&1 &
  echo $! >"$run/pid"
  [ "${MACHINE_RECEIVER:-yes}" = no ] || plug
  local tries=0 answers=300
  [ "$arch" = amd64 ] || answers=1500
  until guest true 2>/dev/null; do
    is_up || { cat "$run/qemu.log" "$run/console.log" >&2; die "qemu has ended"; }
    tries=$((tries + 1))
    [ $tries -lt $answers ] || { tail -20 "$run/console.log" >&2; die "it does not answer"; }
    sleep 0.3
  done
  guest systemctl is-system-running --wait >/dev/null || guest systemctl --failed >&2
}

is_up() {
  [ -e "$run/pid" ] && kill -0 "$(cat "$run/pid")" 2>/dev/null
}

qmp() {
  local tries=0
  until [ -S "$run/qmp.sock" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || die "qemu does not listen: $(cat "$run/qemu.log")"
    sleep 0.1
  done
  local answer
  answer=$(printf '{"execute":"qmp_capabilities"}\n%s\n' "${1//$'\n'/ }" | socat -t1 - "UNIX-CONNECT:$run/qmp.sock" | tail -n +3)
  case $answer in *'"error"'*) die "qemu: $answer" ;; esac
}

plug() {
  # The same receiver in the same port, also after a reset; the port may not be free yet.
  local tries=0
  until (qmp '{"execute":"device_add","arguments":{"driver":"usb-serial","chardev":"gps","id":"gps0",
    "serial":"GNSS0001","bus":"usb.0","port":"1","always-plugged":true}}') 2>>"$run/receiver.log"; do
    tries=$((tries + 1))
    [ $tries -lt 50 ] || die "the receiver cannot be plugged in: $(tail -1 "$run/receiver.log")"
    sleep 0.1
  done
  # What the machine sends to the receiver is read as well, because qemu blocks when its buffer is full.
  { "$bin/fleet-locationctl" simulate --format nmea --pace 1 --loop "$route" | socat - "UNIX-CONNECT:$run/gps.sock"; } \
    </dev/null >>"$run/receiver.heard" 2>>"$run/receiver.log" &
  echo $! >"$run/receiver"
}

unplug() {
  qmp '{"execute":"device_del","arguments":{"id":"gps0"}}'
  # A receiver without power does not buffer its output.
  stop_receiver
}

stop_receiver() {
  [ -e "$run/receiver" ] || return 0
  pkill -P "$(cat "$run/receiver")" || true
  rm -f "$run/receiver"
}

cut() {
  kill -KILL "$(cat "$run/pid")"
  stop_receiver
  while is_up; do sleep 0.1; done
}

down() {
  is_up || return 0
  local tries=0
  guest systemctl poweroff 2>/dev/null || true
  while is_up && [ $tries -lt 200 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  is_up && kill "$(cat "$run/pid")"
  stop_receiver
  rm -rf "$run"
}

command=${1:-}
shift || true
case $command in
  create | boot | qmp | plug | unplug | cut | down) "$command" "$@" ;;
  run) guest "$@" ;;
  copy) guest "cat >$(printf %q "$2")" <"$1" ;;
  *)
    sed -n '3,20s/^# \{0,1\}//p' "$0"
    exit 64
    ;;
esac
