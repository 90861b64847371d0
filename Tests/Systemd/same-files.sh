#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `make install` installs the same files, with the same modes, as the package, and the links of the package's pages lead to files:
# same-files.sh DIRECTORY-OF-PACKAGES
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

# The relative links of the installed pages that lead nowhere.
dead() {
  cd "$1/usr/share/doc/fleet-locationd" && for page in README.md docs/*.md; do
    { grep -oP '\]\(\K[^/)#:\s][^)#:\s]*(?=[)#])' "$page" || true; } | while read -r link; do
      [ -e "${page%"${page##*/}"}$link" ] || echo "$page: $link"
    done
  done
}
links=$(dead "$work/packaged")
[ -z "$links" ] || { printf 'Links of installed pages that lead nowhere:\n%s\n' "$links" >&2; exit 1; }
