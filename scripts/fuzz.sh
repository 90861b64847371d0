#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each parser with random input: fuzz.sh SECONDS [TARGET...]
#
# With SEED the inputs are the same each time, on any machine, as CI needs it: a change is tested, and not luck. Their number
# is what a small machine executes in this time.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
# The directory of its seeds, and inputs a second.
declare -A parsers=(
  [FuzzNMEA]="nmea 2000" [FuzzGPSD]="gpsd 2000" [FuzzSenders]="nmea 600" [FuzzModem]="modem 100" [FuzzSettings]="settings 600"
  [FuzzGPX]="gpx 1000" [FuzzGeoJSON]="geojson 5000" [FuzzJSON]="geojson 20000" [FuzzNetlink]="netlink 3000" [FuzzVarlink]="varlink 5000"
  [FuzzTokenResponse]="token-response 400" [FuzzJWT]="jwt 1000" [FuzzHTTP2]="http2 1000" [FuzzStoredToken]="stored-token 1000"
)
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(printf '%s\n' "${!parsers[@]}" | sort)

export FUZZ=1 SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0
run=()
build=$(mktemp)
trap 'rm -f "$build"' EXIT
if [ -n "${SEED:-}" ]; then
  # Hash tables and addresses decide what counts as new.
  export SWIFT_DETERMINISTIC_HASHING=1
  # A container may forbid it; then a few inputs differ.
  if setarch -R true 2>/dev/null; then run=(setarch -R); fi
fi
for target in "${targets[@]}"; do
  # --sanitize=fuzzer alone leaves Swift code without counters, and libFuzzer blind. Swift writes no table of addresses,
  # so C++ must not either.
  swift build --product "$target" --sanitize=fuzzer --sanitize=address --scratch-path .build/fuzz \
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,trace-cmp -Xcxx -fno-sanitize-coverage=pc-table >"$build" 2>&1 ||
    { cat "$build" >&2; exit 1; }
  read -r seeds rate <<<"${parsers[$target]}"
  if [ -n "${SEED:-}" ]; then limit=(-seed="$SEED" -runs=$((seconds * rate))); else limit=(-max_total_time="$seconds"); fi
  corpus=$(mktemp -d)
  log=$(mktemp)
  echo "$target: ${limit[*]}"
  if ! "${run[@]}" ".build/fuzz/debug/$target" "${limit[@]}" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$PWD/.build/fuzz/$target-" "$corpus" "Fuzz/Seeds/$seeds" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
  fi
  grep -E 'number_of_executed_units|new_units_added' "$log" || true
  rm -rf "$corpus" "$log"
done
