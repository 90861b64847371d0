#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bash's completion offers exactly the options and commands of the programs' --help: completion.sh BINDIR.
set -euo pipefail
bin=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
source "$here/../../packaging/completion/fleet-locationctl"
bad=0

# offers WORD...: the completions of the last word, sorted, on one line.
offers() {
  local program=$1 function
  function=$(complete -p "$program" | sed -E 's/.*-F ([^ ]+).*/\1/')
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  "$function" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
  printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs
}

expect() { # what, wanted, found
  [ "$2" = "$3" ] && return
  printf 'completion of %s: wanted "%s", got "%s"\n' "$1" "$2" "$3" >&2
  bad=1
}

# The long options that a help text lists or shows in its first line.
options() { grep -oE -- '--[a-z-]+' | grep -vE -- '^--(help|version)$' | { cat; echo --help; echo --version; } | sort -u | xargs; }

commands=$("$bin/fleet-locationctl" --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | sort)
expect fleet-locationctl "$(xargs <<<"$commands")" "$(offers fleet-locationctl '')"
for command in $commands; do
  # Only the lines of the help that describe options, and the usage line: sentences mention other programs' options.
  help=$("$bin/fleet-locationctl" "$command" --help | grep -E '^Usage:|^ +(-[a-z], )?--')
  expect "$command" "$(options <<<"$help")" "$(offers fleet-locationctl "$command" --)"
done
expect fleet-locationd "$("$bin/fleet-locationd" --help | grep -E '^Usage:|^ +(-[a-zA-Z], )?--' | options)" \
  "$(offers fleet-locationd --)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
touch a.toml b.gpx c.nmea "d e.gpx"
expect "words" "reload report resume" "$(offers fleet-locationctl re)"
expect "--format" "jsonl nmea" "$(offers fleet-locationctl simulate --format '')"
expect "--config" "a.toml" "$(offers fleet-locationctl check -c '')"
expect "the daemon's --config" "a.toml" "$(offers fleet-locationd --config '')"
expect "a route" "b.gpx d e.gpx" "$(offers fleet-locationctl simulate '')"
expect "a recording" "c.nmea" "$(offers fleet-locationctl fixes c)"
expect "a user" "root" "$(offers fleet-locationctl doctor --user roo)"
expect "a speed" "" "$(offers fleet-locationctl simulate --speed '')"
[ $bad -eq 0 ] && echo "completion: offers exactly what --help lists, for $(wc -w <<<"$commands") commands"
exit $bad
