#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs each parser with random input for this number of seconds: fuzz.sh SECONDS [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=$1
shift
declare -A seeds=([FuzzNMEA]=nmea [FuzzGPSD]=gpsd [FuzzSenders]=nmea [FuzzModem]=modem [FuzzSettings]=settings [FuzzGPX]=gpx [FuzzGeoJSON]=geojson [FuzzJSON]=geojson
  [FuzzNetlink]=netlink [FuzzTokenResponse]=token-response [FuzzJWT]=jwt [FuzzHTTP2]=http2
  [FuzzStoredToken]=stored-token)
targets=("$@")
[ ${#targets[@]} -gt 0 ] ||
  targets=(FuzzNMEA FuzzGPSD FuzzSenders FuzzModem FuzzSettings FuzzGPX FuzzGeoJSON FuzzJSON FuzzNetlink FuzzTokenResponse FuzzJWT FuzzHTTP2 FuzzStoredToken)

export FUZZ=1 SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0
for target in "${targets[@]}"; do
  # --sanitize=fuzzer alone leaves Swift code without counters, and libFuzzer blind. Swift writes no table of addresses,
  # so C++ must not either.
  swift build --product "$target" --sanitize=fuzzer --sanitize=address --scratch-path .build/fuzz \
    -Xswiftc -sanitize-coverage=edge,inline-8bit-counters,trace-cmp -Xcxx -fno-sanitize-coverage=pc-table >/dev/null
  corpus=$(mktemp -d)
  log=$(mktemp)
  echo "$target for $seconds s"
  if ! ".build/fuzz/debug/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$PWD/.build/fuzz/$target-" "$corpus" "Fuzz/Seeds/${seeds[$target]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    exit 1
  fi
  grep -E 'number_of_executed_units|new_units_added' "$log" || true
  rm -rf "$corpus" "$log"
done
