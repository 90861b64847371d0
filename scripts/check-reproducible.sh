#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the packages of the last commit twice, in two directories and one after the other, and compares them byte for byte.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/first" "$work/second/deeper"
for directory in "$work/first/tree" "$work/second/deeper/another-tree"; do
  git clone -q . "$directory"
  make -C "$directory" --no-print-directory deb QUIET=--quiet
done
status=0
for package in "$work"/first/tree/build/*_[0-9]*.deb; do
  case $package in *-dbgsym_*) continue ;; esac
  name=$(basename "$package")
  if cmp "$package" "$work/second/deeper/another-tree/build/$name"; then sha256sum "$package" | sed "s|  .*|  $name|"; else status=1; fi
done
exit $status
