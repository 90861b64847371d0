#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packs the same programs again, in another directory, later and as another user, and compares the packages byte for byte:
# twice.sh BINDIR DIRECTORY-OF-PACKAGES
# The differences that another build directory makes in the programs (scripts/reproducible.py) are made here. `make reproducible-test`
# builds them twice; linked.py links them twice for each package.
set -euo pipefail

bin=$(realpath "$1") packages=$(realpath "$2")
cd "$(dirname "$0")/../.."
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
other=$work/deeper/another-tree
mkdir -p "$other/build/linked" "$work/bin"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$other"
cp -r "$packages/linked/$architecture" "$other/build/linked/"
for program in fleet-locationd fleet-engine-emulator; do
  cp "$bin/$program" "$work/bin/"
  for section in .swift_modhash .note.gnu.build-id; do
    read -r offset size < <(readelf --wide --sections "$bin/$program" | sed 's/^ *\[ *[0-9]*\]//' |
      awk -v name=$section '$1 == name { print $4, $5 }')
    # The part of a note after its header of 16 bytes.
    [ $section != .note.gnu.build-id ] || { offset=$(printf %x $((16#$offset + 16))); size=$(printf %x $((16#$size - 16))); }
    head -c $((16#$size)) /dev/urandom | dd of="$work/bin/$program" bs=1 seek=$((16#$offset)) conv=notrunc status=none
  done
  if cmp -s "$bin/$program" "$work/bin/$program"; then echo "$program was not changed" >&2; exit 1; fi
done
cd "$other"
find . -type f -exec touch -d '2031-01-01' {} +
chmod -R go-rwx .
# The packages of debugging symbols, which would take most of the time, are neither built nor compared.
(umask 077 && TZ=Pacific/Chatham LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="noautodbgsym parallel=1" scripts/build-deb.sh "$work/bin" >/dev/null)
status=0
for file in build/*_"$architecture".deb build/*_"$architecture".spdx.json; do
  if cmp "$file" "$packages/$(basename "$file")"; then echo "the same: $(basename "$file")"; else status=1; fi
done
exit $status
