#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make install` installs the same files, with the same modes, as the package: same-files.sh DIRECTORY-OF-PACKAGES
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packages=$1
. "$(dirname "$0")/../Support/library.sh"

make --no-print-directory -C "$(dirname "$0")/../.." install DESTDIR="$work/made" >/dev/null
dpkg-deb -x "$(package fleet-locationd)" "$work/packaged"
# Excluded: files that only Debian's policy requires, and the list of components, which is made with the package.
# /lib is a link to /usr/lib, manual pages may be compressed, and the package's programs are stripped.
list() {
  local mode path target text
  (cd "$1" && find . ! -type d -printf '%m %P %l\n') | sort -k 2 | while read -r mode path target; do
    case $path in
      *.gz) text=$(zcat "$1/$path" | sha256sum) ;;
      usr/bin/*) text=program ;;
      *) text=$([ -n "$target" ] || sha256sum <"$1/$path") ;;
    esac
    echo "$path $mode $target${text%% *}"
  done | sed -e 's|^lib/|usr/lib/|' -e 's|^\(usr/share/man/[^ ]*\)\.gz |\1 |' |
    grep -vE '^usr/share/(doc/fleet-locationd/(changelog\.gz|copyright|NEWS[^ ]*|fleet-locationd\.spdx\.json)|lintian/[^ ]*) ' | sort
}
diff --label package --label "make install" -u <(list "$work/packaged") <(list "$work/made") || {
  echo "make install and the package differ" >&2
  exit 1
}
