#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Debian with systemd as process 1 in a container that leaves nothing behind; needs root.
#
#   container.sh create            creates the root file system, once, in $CONTAINER_CACHE (/var/cache/fleet-locationd-tests)
#   container.sh boot [--offline]  starts it on a new overlay; --offline: in its own network namespace without a network
#   container.sh exec COMMAND...   runs a command in it
#   container.sh push FILE PATH    copies a file into it
#   container.sh crash             simulates a power cut: everything is killed; the overlay stays for the next boot
#   container.sh reboot            shuts it down for a reboot, and starts it again
#   container.sh down              shuts it down, and removes the overlay
#
# CONTAINER_NAME (fleet-locationd) allows several at once. SUITE (bookworm) is the Debian release. CONTAINER_EXTRA: additional
# Debian packages of the root file system, separated by commas. CONTAINER_BOOT_SECONDS (30): timeout of a boot.
set -euo pipefail

name=${CONTAINER_NAME:-fleet-locationd}
cache=${CONTAINER_CACHE:-/var/cache/fleet-locationd-tests}
suite=${SUITE:-bookworm}
# In later releases, some of these packages have other names, and provide these names.
packages=systemd,systemd-sysv,dbus,procps,man-db,ca-certificates,libcurl4,libexpat1,libmicrohttpd12,libsqlite3-0,libstdc++6,libsystemd0${CONTAINER_EXTRA:+,$CONTAINER_EXTRA}
base=$cache/$suite-$(printf %s "$packages" | sha256sum | cut -c1-8)
run=/run/fleet-locationd-tests/$name
cgroup=/sys/fs/cgroup/$name

die() {
  echo "container.sh: $*" >&2
  exit 1
}

leader() {
  local pid
  pid=$(cat "$run/leader" 2>/dev/null) && kill -0 "$pid" 2>/dev/null && echo "$pid"
}

create() (
  [ ! -e "$base/.complete" ] || return 0
  mkdir -p "$cache"
  # One at a time.
  exec 8>"$base.lock"
  flock 8
  [ ! -e "$base/.complete" ] || return 0
  local mirror
  mirror=$(apt-get indextargets --format '$(SITE)' | grep -E '/debian/?$' | head -n 1) || true
  rm -rf "$base"
  mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt='Acquire::Languages "none"' \
    --aptopt='APT::Install-Recommends "false"' "$suite" "$base" "${mirror:-http://deb.debian.org/debian}"
  local unit
  for unit in console-getty.service getty.target apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
    e2scrub_all.timer fstrim.timer man-db.timer systemd-modules-load.service; do
    ln -sfn /dev/null "$base/etc/systemd/system/$unit"
  done
  mkdir -p "$base/var/log/journal"
  : > "$base/etc/machine-id"
  touch "$base/.complete"
)

boot() {
  local arguments=()
  [ "${1:-}" != --offline ] || arguments+=(--private-network)
  ! leader >/dev/null || die "$name runs already"
  create
  mkdir -p "$run/root" /run/systemd/nspawn
  if ! mountpoint -q "$run/layer"; then
    mkdir -p "$run/layer"
    mount -t tmpfs tmpfs "$run/layer"
    mkdir "$run/layer/upper" "$run/layer/work"
  fi
  # A mount namespace with only version 2 control groups, and a directory for nspawn that can be mounted over.
  # The capabilities and the system call are for the unit's own rules on devices and addresses, which are otherwise ignored.
  setsid unshare --mount --propagation private bash -c '
      set -e
      run=$1 name=$2 base=$3 cgroup=$4
      shift 4
      umount -l -R /sys/fs/cgroup
      mount -t cgroup2 cgroup2 /sys/fs/cgroup
      mkdir -p "$cgroup"
      echo $$ > "$cgroup/cgroup.procs"
      mount -t tmpfs -o mode=755 tmpfs /run/systemd/nspawn
      mount -t overlay overlay -o "lowerdir=$base,upperdir=$run/layer/upper,workdir=$run/layer/work" "$run/root"
      exec systemd-nspawn -q -D "$run/root" -M "$name" --register=no --keep-unit --boot --console=pipe --timezone=off \
        --capability=all --system-call-filter=bpf --resolv-conf=off "$@"
    ' bash "$run" "$name" "$base" "$cgroup" "${arguments[@]}" </dev/null >"$run/console.log" 2>&1 &
  local nspawn=$! pid
  echo "$nspawn" > "$run/nspawn"
  for _ in $(seq $((${CONTAINER_BOOT_SECONDS:-30} * 20))); do
    kill -0 "$nspawn" 2>/dev/null || { cat "$run/console.log" >&2; die "systemd-nspawn has ended"; }
    pid=$(awk '{ print $1 }' "/proc/$nspawn/task/$nspawn/children" 2>/dev/null) || true
    # The first child is one of this machine's own namespace.
    if [ -n "$pid" ] && awk '$1 == "NSpid:" && NF > 2 && $NF == 1 { found = 1 } END { exit !found }' "/proc/$pid/status" 2>/dev/null; then
      nsenter -t "$pid" -m -u -i -n -p -C systemctl is-system-running >"$run/state" 2>/dev/null || true
      if grep -qE '^(running|degraded)$' "$run/state"; then
        echo "$pid" > "$run/leader"
        return 0
      fi
    fi
    sleep 0.05
  done
  cat "$run/console.log" >&2
  die "no boot within ${CONTAINER_BOOT_SECONDS:-30} s: $(cat "$run/state")"
}

enter() {
  local pid
  pid=$(leader) || die "$name does not run"
  nsenter -t "$pid" -m -u -i -n -p -C env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive SYSTEMD_PAGER= SYSTEMD_COLORS=0 "$@"
}

push() {
  local pid
  pid=$(leader) || die "$name does not run"
  mkdir -p "/proc/$pid/root$(dirname "$2")"
  cp "$1" "/proc/$pid/root$2"
}

await_end() {
  local nspawn
  nspawn=$(cat "$run/nspawn")
  for _ in $(seq 300); do
    kill -0 "$nspawn" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL "$nspawn" 2>/dev/null || true
  rm -f "$run/leader" "$run/nspawn"
}

crash() {
  kill -KILL "$(cat "$run/leader")"
  await_end
}

reboot() {
  enter systemctl --no-block start reboot.target
  await_end
  boot
}

down() {
  if [ -e "$run/nspawn" ]; then
    kill -TERM "$(cat "$run/nspawn")" 2>/dev/null || true
    await_end
  fi
  ! mountpoint -q "$run/layer" || umount "$run/layer"
  local group
  for group in "/sys/fs/cgroup/unified/$name" "$cgroup"; do
    [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true
  done
  rm -rf "$run"
}

command=${1:-}
shift || true
case $command in
  create | boot | push | crash | reboot | down) "$command" "$@" ;;
  exec) enter "$@" ;;
  *)
    sed -n 3,14p "$0"
    exit 64
    ;;
esac
