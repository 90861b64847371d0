#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make install` installs the same files in the same places as the package: same-files.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
package=$(ls "$1"/fleet-locationd_[0-9]*_"$(dpkg --print-architecture)".deb)

make --no-print-directory -C "$(dirname "$0")/../.." install DESTDIR="$work/made" >/dev/null
dpkg-deb -x "$package" "$work/packaged"
# Excluded: files that only Debian's policy requires, and the list of components, which is made with the package.
# /lib is a link to /usr/lib, and manual pages may be compressed.
list() {
  (cd "$1" && find . ! -type d -printf '%P\n') | sed -e 's|^lib/|usr/lib/|' -e 's|\(/man/.*\)\.gz$|\1|' |
    grep -vxE 'usr/share/doc/fleet-locationd/(changelog\.gz|copyright|NEWS.*|fleet-locationd\.spdx\.json)|usr/share/lintian/.*' | sort
}
diff --label package --label "make install" -u <(list "$work/packaged") <(list "$work/made") || {
  echo "make install and the package differ" >&2
  exit 1
}
