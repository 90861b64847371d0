#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signs packages for others: release.sh KEY ARCHITECTURE...
# Copies the packages, the daemon's debug symbols and the lists of components from build/ to build/release, and writes SHA256SUMS and a
# signature next to each file.
# KEY is a fingerprint of a secret key in gpg's keyring. Docs: docs/fleet.md.
set -euo pipefail
cd "$(dirname "$0")/../build"

key=$1
shift
version=$(dpkg-parsechangelog -l ../packaging/debian/changelog -S Version)
files=()
for architecture in "$@"; do
  for name in fleet-locationd fleet-engine-emulator; do
    package=${name}_${version}_$architecture
    [[ $(dpkg-deb --field "$package.deb" Maintainer) != *.invalid\> ]] ||
      { echo "$package.deb has no maintainer: make release MAINTAINER=…" >&2; exit 1; }
    [ -n "$(dpkg-deb --field "$package.deb" Homepage)" ] ||
      { echo "$package.deb has no homepage: make release HOMEPAGE=…" >&2; exit 1; }
    files+=("$package.deb" "$package.spdx.json")
  done
  files+=("fleet-locationd-dbgsym_${version}_$architecture.deb")
done
rm -rf release
mkdir release
cp "${files[@]}" release/
cd release
sha256sum "${files[@]}" > SHA256SUMS
for file in "${files[@]}" SHA256SUMS; do gpg --batch --local-user "$key" --armor --detach-sign --output "$file.asc" "$file"; done
ls
