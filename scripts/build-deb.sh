#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packs built programs as Debian packages, in build/, with the lists of their components (SPDX): build-deb.sh BINDIR [ARCHITECTURE]
# What the programs were linked from (linked.py) is in build/linked/ARCHITECTURE. MAINTAINER, such as "Fleet team <fleet@example.com>", and
# HOMEPAGE are those of the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$1
architecture=${2:-$(dpkg --print-architecture)}
version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
grep -q "version = \"$version\"" Sources/Platform/Release/Release.swift ||
  { echo "packaging/debian/changelog says version $version, and Sources/Platform/Release/Release.swift another" >&2; exit 1; }
stage=build/fleet-locationd-$version-$architecture
log=build/deb-$architecture.log
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/docs"
cp -r packaging/debian packaging/completion packaging/polkit packaging/prometheus packaging/fleet packaging/driver-app packaging/power README.md config "$stage/"
cp -r docs/*.md docs/man docs/images "$stage/docs/"
sed -i -f scripts/installed-links.sed "$stage/README.md" "$stage"/docs/*.md
for program in fleet-locationd fleet-engine-emulator; do cp "$bin/$program" "$stage/bin/"; done
scripts/reproducible.py "$stage"/bin/*
cp systemd/fleet-locationd.catalog scripts/crash-names.sh scripts/sbom.py "$stage/"
cp -r "build/linked/$architecture" "$stage/linked"
for file in service sysusers tmpfiles; do cp "systemd/fleet-locationd.$file" "$stage/debian/"; done
cp systemd/fleet-locationd-{settings,failed,retry}* "$stage/debian/"
scripts/template-unit.sh > "$stage/debian/fleet-locationd@.service"

if [ -n "${MAINTAINER-}" ]; then
  [[ $MAINTAINER =~ ^[^\<\>\\/]+\ \<[^\<\>\ ]+@[^\<\>\ ]+\>$ ]] || { echo "MAINTAINER=$MAINTAINER: expected NAME <ADDRESS>" >&2; exit 1; }
  sed -i "s/fleet-locationd maintainers <.*\.invalid>/${MAINTAINER//&/\\&}/" "$stage"/debian/{control,changelog,fleet-locationd.NEWS}
fi
if [ -n "${HOMEPAGE-}" ]; then
  [[ $HOMEPAGE =~ ^https://[^\ \|]+$ ]] || { echo "HOMEPAGE=$HOMEPAGE: expected https://…" >&2; exit 1; }
  sed -i "s|^Standards-Version:|Homepage: ${HOMEPAGE//&/\\&}\n&|" "$stage/debian/control"
fi

# Reproducible: the same commit produces the same bytes, regardless of directory, time and umask.
umask 022
chmod -R u=rwX,go=rX "$stage"
(cd "$stage" && dpkg-buildpackage --build=binary --no-sign --host-arch="$architecture" --no-check-builddeps >"../../$log" 2>&1) ||
  { tail -n 40 "$log" >&2; exit 1; }
for package in fleet-locationd fleet-engine-emulator; do
  cp "$stage/debian/$package/usr/share/doc/$package/$package.spdx.json" "build/${package}_${version}_$architecture.spdx.json"
done
rm -rf "$stage"
ls build/*_"$architecture".deb
