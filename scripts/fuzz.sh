#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each parser with random input: fuzz.sh SECONDS [TARGET...]
#
# With SEED the inputs are the same each time, on any machine, as CI needs: the result depends on the change, not on chance. Their
# number is what a small machine executes in this time.
set -euo pipefail
cd "$(dirname "$0")/.."

export seconds=$1
shift
# The directory of the target's seeds, and its inputs per second.
declare -A parsers=(
  [FuzzNMEA]="nmea 2000" [FuzzGPSD]="gpsd 2000" [FuzzSenders]="senders 600" [FuzzModem]="modem 100" [FuzzSettings]="settings 600"
  [FuzzGPX]="gpx 1000" [FuzzGeoJSON]="geojson 5000" [FuzzJSON]="geojson 20000" [FuzzNetlink]="netlink 3000" [FuzzVarlink]="varlink 5000"
  [FuzzTokenResponse]="token-response 400" [FuzzJWT]="jwt 1000" [FuzzHTTP2]="http2 1000" [FuzzStoredToken]="stored-token 1000"
)
targets=("$@")

export FUZZ=1 TESTS=none SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0
work=$(mktemp -d)
export work run=""
trap 'rm -rf "$work"' EXIT
if [ -n "${SEED:-}" ]; then
  # Hash tables and addresses decide what counts as new.
  export SWIFT_DETERMINISTIC_HASHING=1
  # A container may forbid this; then a few inputs differ.
  if setarch -R true 2>/dev/null; then run="setarch -R"; fi
fi

build() {
  # --sanitize=fuzzer alone leaves Swift code without counters, so libFuzzer sees no coverage. Swift writes no table of
  # addresses, so C++ must not either.
  swift build "$@" --disable-index-store --sanitize=fuzzer --sanitize=address --scratch-path .build/fuzz \
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,trace-cmp -Xcxx -fno-sanitize-coverage=pc-table >"$work/build" 2>&1 ||
    { cat "$work/build" >&2; exit 1; }
}
if [ ${#targets[@]} -gt 0 ]; then
  for target in "${targets[@]}"; do build --product "$target"; done
else
  # All targets in one build: planning alone takes seconds.
  build
  mapfile -t targets < <(printf '%s\n' "${!parsers[@]}" | sort)
fi

fuzz() { # TARGET SEEDS RATE
  local target=$1 log=$work/$1.log limit=(-max_total_time="$seconds") status=0
  [ -z "${SEED:-}" ] || limit=(-seed="$SEED" -runs=$((seconds * $3)))
  mkdir "$work/$target"
  # shellcheck disable=SC2086
  $run ".build/fuzz/debug/$target" "${limit[@]}" -max_len=4096 -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$PWD/.build/fuzz/$target-" "$work/$target" "Fuzz/Seeds/$2" >"$log" 2>&1 || status=$?
  # Printed in one piece, because several targets run at once.
  echo "$target: ${limit[*]}
$(if [ $status -eq 0 ]; then grep -E 'number_of_executed_units|new_units_added' "$log"; else tail -n 40 "$log"; fi)"
  rm -rf "${work:?}/$target"
  [ $status -eq 0 ] || { echo "$target" >>"$work/failed"; return 1; }
}
export -f fuzz
for target in "${targets[@]}"; do echo "$target ${parsers[$target]}"; done |
  xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$@"' _ ||
  { echo "fuzz.sh: failed: $(tr '\n' ' ' <"$work/failed")" >&2; exit 1; }
