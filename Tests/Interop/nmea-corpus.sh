#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Decodes every recording of a corpus with `fleet-locationctl fixes` and compares the fixes with the corpus's own
# reference. Usage: nmea-corpus.sh [FLEET_LOCATIONCTL]. NMEA_CORPUS is the corpus: corpus/*.nmea, ref/*.json, compare.py.
# Fails if a fix is false or unsupported, or if less than 99 % are found or at the right position.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
corpus=${NMEA_CORPUS:-$root/../shared/nmea-corpus}
if [ ! -d "$corpus/corpus" ]; then
    echo "NOT RUN: there are no recordings; NMEA_CORPUS names their folder"
    exit 0
fi
ctl=${1:-$(cd "$root" && swift build --show-bin-path)/fleet-locationctl}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for log in "$corpus"/corpus/*.nmea; do
    status=0
    "$ctl" fixes "$log" >"$out/$(basename "$log" .nmea).jsonl" 2>"$out/message" || status=$?
    # 65: no sentence with a valid checksum, as in the recording without checksums.
    if [ "$status" -ne 0 ] && [ "$status" -ne 65 ]; then
        cat "$out/message"
        exit 1
    fi
done
python3 "$corpus/compare.py" "$out" --all | tee "$out/result"
# Columns of the total: ref found% pos% alt% spd% trk% mode% miss false extra unsup untimed.
awk '$1 == "TOTAL" {
    seen = 1
    if ($10 + $12 > 0) { print "failed: false or unsupported fixes"; bad = 1 }
    if ($3 < 99 || $4 < 99) { print "failed: found or position below 99 %"; bad = 1 }
} END { if (!seen) { print "failed: no total"; bad = 1 } exit bad }' "$out/result"
