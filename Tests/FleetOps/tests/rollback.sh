#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The decisions of fleet-locationd-rollback, with fakes of the programs that it calls. Its effect on a real box is tested in
# packages.sh.
set -euo pipefail

script=$(cd "$(dirname "$0")/../../../packaging/fleet/rollback" && pwd)/fleet-locationd-rollback
# A directory in memory, because syncs to disk are not tested.
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/archives"
architecture=$(dpkg --print-architecture)

stand_in() { # PROGRAM, the script on standard input
  { echo '#!/bin/sh' && cat; } > "$work/bin/$1"
  chmod +x "$work/bin/$1"
}
stand_in dpkg-query <<'END'
case "$*" in
  *Want*) if [ -e "$WORK/removed" ]; then echo deinstall; else echo hold; fi ;;
  *) echo "$(cat "$WORK/state-of-dpkg") $(cat "$WORK/installed")" ;;
esac
END
# A fake package is a file with its version, and the word `truncated` if it is.
stand_in dpkg-deb <<'END'
case $1 in
  --fsys-tarfile) [ -e "$2" ] && ! grep -q truncated "$2" ;;
  *) cut -d' ' -f1 "$2" ;;
esac
END
# The file `interrupted` stands for an upgrade that a power cut has ended, `broken` for another package whose dependencies are not met.
stand_in dpkg <<'END'
case " $* " in
  *" --configure "*) [ ! -e "$WORK/locked" ] && rm -f "$WORK/interrupted" ;;
  *" -i "*)
    for word in "$@"; do last=$word; done
    echo >> "$WORK/attempts"
    if [ -e "$WORK/full" ]; then echo "no space left on device" && exit 1; fi
    if [ -e "$WORK/locked" ]; then echo "dpkg frontend lock was locked by another process" && exit 2; fi
    cp "$last" "$WORK/installed" && echo installed > "$WORK/state-of-dpkg"
    ;;
  *) exec /usr/bin/dpkg "$@" ;;
esac
END
stand_in curl <<<'read -r code < "$WORK/network"; printf %s "$code"; [ "$code" != 000 ]'
stand_in fleet-locationctl <<'END'
read -r health level more < "$WORK/health"
case $2 in
  --healthy) echo "$health: so it says"; [ "$health" = healthy ] ;;
  --json)
    waits='' paused=false cause=x label=x failure=denied
    case $level/$more in
      */waits) waits='"confirmation":{"left":9}' ;;
      */paused) paused=true ;;
      bad/?*) failure=$more ;;
      warning/*) cause=${more:-noFix} label='waiting for a fix' ;;
    esac
    state="\"cause\":\"$cause\",\"label\":\"$label\",\"level\":\"$level\""
    echo "{\"failure\":{\"category\":\"$failure\"},\"isPaused\":$paused,\"settings\":{$waits},\"state\":{$state}}"
    ;;
esac
END
stand_in apt-get <<'END'
for word in "$@"; do last=$word; done
case " $* " in
  *" download "*) echo download >> "$WORK/downloads"; grep -qxF "${last#*=}" "$WORK/repository" && printf '%s\n' "${last#*=}" > x.deb ;;
  *" check "*) [ ! -e "$WORK/broken" ] ;;
  *" --fix-broken "*) rm -f "$WORK/broken" ;;
  *" install "*)
    grep -qx half-installed "$WORK/state-of-dpkg" && exit 100
    for file in locked interrupted broken; do [ ! -e "$WORK/$file" ] || exit 100; done
    cp "$last" "$WORK/installed"
    ;;
esac
END

fresh() { # a box on which nothing has happened yet
  rm -rf "$work/state" "$work/pin" "$work/locked" "$work/interrupted" "$work/broken" "$work/removed" "$work/full" "$work/attempts" "$work/downloads" "$work/archives"/*
  mkdir "$work/state"
  : > "$work/repository"
  echo 200 > "$work/network"
  echo installed > "$work/state-of-dpkg"
  : > "$work/journal"
}
# "healthy good", "unhealthy bad"; without a fix: "healthy warning", "unhealthy warning", also with the reason of the last rejection;
# also with "waits": new settings wait; "healthy warning paused"; "unhealthy bad CATEGORY" of the last failure.
says() { echo "$1" > "$work/health"; }
version() { echo "$1" > "$work/installed"; }
archive() { echo "$1" > "$work/archives/fleet-locationd_${1/:/%3a}_$architecture.deb"; }
runs() { # COUNT
  local _
  for _ in $(seq "$1"); do
    env PATH="$work/bin:$PATH" WORK="$work" STATE_DIRECTORY="$work/state" ROLLBACK_ARCHIVES="$work/archives" ROLLBACK_PIN="$work/pin" \
      ROLLBACK_AFTER=5 "$script" >>"$work/journal" 2>&1 || true
  done
}
tested=0
expect() { # SENTENCE VERSION [WORDS OF THE JOURNAL]
  tested=$((tested + 1))
  [ "$(cat "$work/installed")" = "$2" ] && grep -q -- "${3:-}" "$work/journal" && return 0
  [ -z "${3:-}" ] && [ "$(cat "$work/installed")" = "$2" ] && return 0
  echo "failed: $1: version $(cat "$work/installed") is installed, and the journal says: $(cat "$work/journal")" >&2
  exit 1
}
# Version 1 has delivered updates, and its package is available.
delivered() {
  fresh
  version 1
  archive 1
  says "healthy good"
  runs 1
}

delivered
expect "what delivers is the reference" 1 "fleet-locationd 1 delivers"
version 2
says "unhealthy bad"
runs 4
expect "four failed runs of five" 2
runs 1
expect "the fifth rolls back" 1 "2 has not delivered at 5 checks in a row (unhealthy: so it says), and 1 did: rolling back to 1"
grep -qx 'Pin: version 2' "$work/pin" && grep -qx 'Pin-Priority: -1' "$work/pin" || { echo "failed: the pin: $(cat "$work/pin")" >&2; exit 1; }

: > "$work/journal"
version 2
runs 20
expect "never twice from the same version" 2 "it was rolled back once and is installed again, so it stays"
[ "$(wc -l < "$work/journal")" -eq 1 ] || { echo "failed: it says so again and again" >&2; exit 1; }

delivered
version 2
says "unhealthy bad"
runs 4
says "healthy good"
runs 1
says "unhealthy bad"
runs 4
expect "an accepted update begins the count anew" 2 "fleet-locationd 2 delivers"
runs 20
expect "the version that delivered last is not rolled back" 2 "it is no longer the reference"
[ ! -e "$work/state/1.deb" ] || [ ! -e "$work/state/2.deb" ] || { echo "failed: old packages stay" >&2; exit 1; }

delivered
version 2
says "unhealthy bad"
echo 000 > "$work/network"
runs 20
expect "no network: nothing is counted" 2
echo 503 > "$work/network"
runs 20
expect "Fleet Engine is down for all: nothing is counted" 2
echo 404 > "$work/network"
runs 5
expect "any other answer is a network" 1

for category in unavailable throttled; do
  delivered
  version 2
  says "unhealthy bad $category"
  runs 160
  expect "Fleet Engine serves no updates, and answers the probe ($category): nothing is counted" 2
  says "unhealthy bad"
  runs 4
  expect "the failures of another kind are counted from then on ($category)" 2
  says "unhealthy bad $category"
  runs 1
  expect "no outage lasts as long as 32 rollbacks ($category): rolled back" 1 "2 has not delivered at 5 checks"
done

delivered
says "unhealthy bad unavailable"
runs 159
says "healthy good"
runs 1
says "unhealthy bad unavailable"
runs 20
version 2
runs 150
expect "each version and each outage is counted anew" 2
[ "$(cat "$work/state/reference")" = 1 ] || { echo "failed: an outage has taken the reference" >&2; exit 1; }

fresh
version 1
archive 1
says "unhealthy bad"
runs 20
version 2
runs 20
expect "the old one did not deliver either" 2
[ ! -s "$work/journal" ] || { echo "failed: it says $(cat "$work/journal")" >&2; exit 1; }

delivered
says "healthy warning"
runs 5
version 2
says "unhealthy bad"
runs 20
expect "the old one delivered without a fix, as in a garage" 2 "fleet-locationd 1 has not delivered at 5 checks"

delivered
says "healthy warning"
runs 4
version 2
says "unhealthy bad"
runs 1
says "unhealthy warning"
runs 20
expect "upgraded in a hall, where the old one had no fix either" 2
says "unhealthy bad"
runs 4
expect "it has a fix, and does not deliver: rolled back" 1 "2 has not delivered at 5 checks"

delivered
says "healthy warning"
runs 1
version 2
says "unhealthy warning"
runs 160
expect "upgraded in a hall, and no fix for as long as 32 rollbacks take" 2
runs 5
expect "then the missing fix counts: rolled back" 1 "2 has not delivered at 5 checks"

for fixes in "noSatellites noSatellites" "noSatellites" " noSatellites" "inaccurate diluted"; do
  delivered
  says "healthy warning ${fixes%% *}"
  runs 4
  version 2
  says "unhealthy warning ${fixes#"${fixes%% *}"}"
  runs 20
  expect "upgraded in a hall, and the last fixes of either were rejected ($fixes)" 2
done

for fixes in "" noSatellites; do
  delivered
  version 2
  says "unhealthy warning $fixes"
  runs 5
  expect "the old one had a fix, and the new one has none, or rejects all (${fixes:-no fix}): rolled back" 1
done

delivered
says "healthy warning"
runs 3
says "unhealthy bad"
runs 1
version 2
says "unhealthy warning"
runs 5
expect "the old one had a fix again at its last check: rolled back" 1

delivered
version 2
says "healthy warning"
runs 20
expect "paused, or without a fix, and yet healthy: not a failure" 2

delivered
says "healthy warning paused"
runs 20
version 2
runs 20
expect "upgraded in a pause: not a failure while it lasts" 2
says "unhealthy bad"
runs 5
expect "the old one delivered before the pause: after the pause the new one is rolled back" 1

delivered
says "unhealthy bad"
runs 4
says "healthy warning paused"
runs 20
! grep 'has not delivered' "$work/journal" || { echo "failed: a pause counts" >&2; exit 1; }
says "unhealthy bad"
runs 1
expect "a pause neither counts nor begins the count anew" 1 "fleet-locationd 1 has not delivered at 5 checks"

fresh
version 1:1.0-1
archive 1:1.0-1
says "healthy good"
runs 1
version 1:1.0-2
says "unhealthy bad"
runs 5
expect "a version with an epoch" 1:1.0-1

fresh
version 1
echo 1 > "$work/repository"
says "healthy good"
runs 3
[ "$(wc -l < "$work/downloads")" -eq 1 ] || { echo "failed: $(wc -l < "$work/downloads") downloads" >&2; exit 1; }
version 2
says "unhealthy bad"
runs 5
expect "what apt's archives do not have comes from the repository, once" 1

fresh
version 1
says "healthy good"
runs 3
[ "$(wc -l < "$work/downloads")" -eq 1 ] || { echo "failed: $(wc -l < "$work/downloads") attempts" >&2; exit 1; }
version 2
says "unhealthy bad"
runs 20
expect "nor does the repository: it stays, and says so" 2 "No package of fleet-locationd 1"

delivered
version 2
says "unhealthy bad"
says "unhealthy bad waits"
runs 20
expect "new settings wait for their confirmation: nothing is counted" 2
says "unhealthy bad"
touch "$work/locked"
runs 5
expect "apt fails: said" 2 "apt-get cannot roll back to fleet-locationd 1"
rm "$work/locked"
runs 5
expect "and tried again" 1

delivered
echo unpacked > "$work/state-of-dpkg"
version 2
runs 1
echo installed > "$work/state-of-dpkg"
says "unhealthy bad"
runs 5
expect "what the old program delivers during the upgrade is not the new version's" 1

delivered
echo half-configured > "$work/state-of-dpkg"
version 2
says "unhealthy bad"
runs 5
expect "a version that cannot be configured" 1

delivered
version 2
says "unhealthy bad"
touch "$work/interrupted" "$work/locked"
runs 5
expect "another dpkg runs" 2 "apt-get cannot roll back to fleet-locationd 1"
rm "$work/locked"
runs 5
expect "a power cut has interrupted dpkg" 1

delivered
version 2
says "unhealthy bad"
touch "$work/broken"
runs 5
expect "a power cut has left another package without its dependencies, so apt-get does nothing" 1

delivered
echo half-installed > "$work/state-of-dpkg"
says "unhealthy bad"
touch "$work/locked"
runs 20
expect "dpkg replaces the files just now: nothing is counted" 1
[ "$(cat "$work/state/reference")" = 1 ] || { echo "failed: it is no longer the reference" >&2; exit 1; }
rm "$work/locked"
touch "$work/full"
runs 1
rm "$work/attempts"
runs 20
expect "it cannot be installed: said, and not tried again for an hour" 1 "1 cannot be installed: no space left on device"
[ ! -e "$work/attempts" ] || { echo "failed: it is tried again and again" >&2; exit 1; }
rm "$work/full" "$work/state/unrepaired"
runs 1
expect "a power cut while dpkg replaced the files: of which version they are is unknown" 1 "1 is installed again"
grep -qx installed "$work/state-of-dpkg" || { echo "failed: half-installed" >&2; exit 1; }

delivered
version 2
echo half-installed > "$work/state-of-dpkg"
says "unhealthy bad"
touch "$work/removed"
runs 20
expect "a power cut during a removal" 2

delivered
version 2
echo half-installed > "$work/state-of-dpkg"
says "unhealthy bad"
runs 1
expect "the same in an upgrade to the next version" 1 "1 is installed again"
[ ! -e "$work/state/rejected" ] || { echo "failed: version 2 was not rolled back" >&2; exit 1; }

delivered
version 2
echo half-installed > "$work/state-of-dpkg"
echo "Pin: version 2" > "$work/pin"
says "unhealthy bad"
runs 1
expect "the same in a rollback" 1 "1 is installed again"
[ "$(cat "$work/state/rejected")" = 2 ] || { echo "failed: version 2 is not rejected" >&2; exit 1; }

fresh
version 1
echo "1 truncated" > "$work/archives/fleet-locationd_1_$architecture.deb"
says "healthy good"
runs 1
[ ! -e "$work/state/1.deb" ] || { echo "failed: a truncated package was stored" >&2; exit 1; }
rm -f "$work/state/missing"
echo 1 > "$work/repository"
runs 1
version 2
says "unhealthy bad"
runs 5
expect "apt's archives have a truncated package: it is downloaded" 1

delivered
echo config-files > "$work/state-of-dpkg"
version 2
says "unhealthy bad"
runs 20
expect "removed: nothing is done" 2
echo "   $tested decisions"
