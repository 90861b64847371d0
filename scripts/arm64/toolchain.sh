#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A compiler for Debian 12 on arm64, made only of Debian's packages, on an amd64 machine.
#
#   toolchain.sh create                 once; kept in $ARM64_CACHE (/var/cache/fleet-locationd-arm64)
#   toolchain.sh build ARGUMENTS...     `swift build` of this source tree for arm64, into .build/arm64
#   toolchain.sh linked BINDIR PROGRAM  what a program was linked from, as JSON: scripts/linked.py
#   toolchain.sh packaging COMMAND...   a command of Debian 12, with the arm64 libraries where Debian's tools look for them
#
# Two roots, each entered with bubblewrap, read-only and without a network. `compiler` is the Debian release that has Swift
# (SWIFT_SUITE, sid): its compiler for amd64, and next to it the standard library for arm64, out of the package of that
# architecture. `target` is Debian 12 for amd64 with arm64 as the second architecture: what the programs are linked with, and
# debhelper, which finds their dependencies there.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=${ARM64_CACHE:-/var/cache/fleet-locationd-arm64}
suite=${SWIFT_SUITE:-sid}
triple=aarch64-unknown-linux-gnu
swift=/usr/libexec/swift
pkgconfig=/target/usr/lib/aarch64-linux-gnu/pkgconfig

compiler=(swiftlang libc6-dev libstdc++-14-dev pkg-config ca-certificates python3)
libraries=(libc6-dev libstdc++-12-dev libsystemd-dev libcurl4-openssl-dev libssl-dev libexpat1-dev libtomlplusplus-dev
  libmicrohttpd-dev libsqlite3-dev zlib1g-dev)
packaging=(debhelper dpkg-dev fakeroot lintian mandoc python3 binutils-aarch64-linux-gnu)

join() { local IFS=,; echo "$*"; }

# SUITE DIRECTORY PACKAGES [OPTIONS...]: an amd64 root with arm64 as the second architecture.
bootstrap() {
  local suite=$1 directory=$2 packages=$3 site
  shift 3
  site=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -E '/debian/?$' | head -n 1) || true
  # A mirror that is no longer updated has a "valid until" date in the past. Signatures are checked nevertheless.
  mmdebstrap --quiet --variant=minbase --architectures=amd64,arm64 --include="$packages" \
    --aptopt='Acquire::Languages "none"' --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/locale/*' \
    "$@" "$suite" "$directory" "${site:-http://deb.debian.org/debian}"
}

create() (
  local key
  key=$suite-$({ declare -f bootstrap create describe; echo "${compiler[*]} ${libraries[*]} ${packaging[*]}"; } | sha256sum | cut -c1-8)
  [ "$(cat "$cache/complete" 2>/dev/null)" != "$key" ] || return 0
  [ "$(dpkg --print-architecture)" = amd64 ] || { echo "toolchain.sh: this needs an amd64 machine" >&2; exit 1; }
  if [ "$(id -u)" -ne 0 ]; then
    sudo ARM64_CACHE="$cache" SWIFT_SUITE="$suite" scripts/arm64/toolchain.sh create
    return
  fi
  # One at a time: other checkouts have the same cache.
  mkdir -p "$cache"
  exec 8>"$cache/lock"
  flock 8
  [ "$(cat "$cache/complete" 2>/dev/null)" != "$key" ] || return 0
  echo "Making the arm64 toolchain in $cache: once, some minutes and 5 GB"
  rm -rf "$cache/complete" "$cache/compiler" "$cache/target"

  # Only the libraries of Swift for arm64 are needed, in exactly the version of the compiler.
  bootstrap "$suite" "$cache/compiler" "$(join "${compiler[@]}")" \
    --customize-hook='chroot "$1" sh -c "cd /tmp && apt-get download -qq -o APT::Sandbox::User=root \
      swiftlang:arm64=\$(dpkg-query -W -f \"\\\${Version}\" swiftlang)" && mv "$1"/tmp/swiftlang_*_arm64.deb "$1/swift.deb"'
  mkdir -p "$cache/compiler"/{arm64,sdk,source,target,usr/lib/aarch64-linux-gnu}
  dpkg-deb --fsys-tarfile "$cache/compiler/swift.deb" |
    tar -x -C "$cache/compiler/arm64" --wildcards --exclude='*/embedded/*' ".$swift/lib/swift/*" ".$swift/lib/swift_static/*" \
      ".$swift/lib/clang/*"
  rm "$cache/compiler/swift.deb"

  bootstrap bookworm "$cache/target" "$(join "${packaging[@]}" "${libraries[@]/%/:arm64}")"
  mkdir "$cache/target/source"
  # The linker finds Swift's own objects as if they were installed there.
  ln -s "/arm64$swift/lib/swift_static" "$cache/target/usr/lib/swift_static"
  describe "$cache/compiler/sdk"
  echo "$key" > "$cache/complete"
)

# What Swift's package manager has to know about the other architecture.
describe() {
  local bundle=$1/debian.artifactbundle
  mkdir -p "$bundle/arm64"
  cat > "$bundle/info.json" <<JSON
{"schemaVersion": "1.0", "artifacts": {"debian": {"type": "swiftSDK", "version": "1.0.0", "variants": [{"path": "arm64"}]}}}
JSON
  cat > "$bundle/arm64/swift-sdk.json" <<JSON
{
  "schemaVersion": "4.0",
  "targetTriples": {
    "$triple": {
      "sdkRootPath": "/target",
      "swiftResourcesPath": "/arm64$swift/lib/swift",
      "swiftStaticResourcesPath": "/arm64$swift/lib/swift_static",
      "toolsetPaths": ["toolset.json"]
    }
  }
}
JSON
  cat > "$bundle/arm64/toolset.json" <<JSON
{
  "schemaVersion": "1.0",
  "cCompiler": {"extraCLIOptions": ["--sysroot=/target"]},
  "cxxCompiler": {"extraCLIOptions": ["--sysroot=/target"]},
  "swiftCompiler": {"extraCLIOptions": ["-use-ld=lld", "-Xclang-linker", "--sysroot=/target"]},
  "linker": {"extraCLIOptions": ["-L/target/usr/lib/gcc/aarch64-linux-gnu/12", "/source/.build/arm64/newer-glibc.o"]}
}
JSON
}

# ROOT COMMAND...: runs the command in that root, with this source tree as /source and nothing else of the machine.
enter() {
  local root=$cache/$1 mounts
  shift
  mounts=(--ro-bind "$root" / --dev /dev --proc /proc --tmpfs /tmp --bind "$PWD" /source --chdir /source)
  if [ "$root" = "$cache/compiler" ]; then
    # Absolute links among the libraries lead to the second place.
    mounts+=(--ro-bind "$cache/target" /target
      --ro-bind "$cache/target/usr/lib/aarch64-linux-gnu" /usr/lib/aarch64-linux-gnu)
  fi
  # pkg-config finds the libraries of arm64, as in /target.
  bwrap --unshare-all --die-with-parent "${mounts[@]}" --clearenv --setenv PATH /usr/sbin:/usr/bin:/sbin:/bin \
    --setenv HOME /tmp --setenv LANG C.UTF-8 --setenv SWIFT_BACKTRACE enable=no \
    --setenv MAINTAINER "${MAINTAINER-}" --setenv HOMEPAGE "${HOMEPAGE-}" \
    --setenv PKG_CONFIG_SYSROOT_DIR /target \
    --setenv PKG_CONFIG_LIBDIR "$pkgconfig" \
    --setenv SOURCE_DATE_EPOCH "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -- "$@"
}

command=${1:-}
shift || true
case $command in
  create) create ;;
  build)
    create
    mkdir -p .build/arm64
    enter compiler "$swift/bin/clang" -target "$triple" --sysroot=/target -O2 -Wall -c scripts/arm64/newer-glibc.c \
      -o .build/arm64/newer-glibc.o
    enter compiler swift build --scratch-path .build/arm64 --swift-sdks-path /sdk --swift-sdk debian \
      --pkg-config-path "$pkgconfig" --cache-path /tmp/cache --config-path /tmp/config --security-path /tmp/security "$@"
    ;;
  linked)
    enter compiler scripts/linked.py "$@"
    ;;
  packaging)
    create
    enter target "$@"
    ;;
  *)
    sed -n 3,13p "$0"
    exit 64
    ;;
esac
