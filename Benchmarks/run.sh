#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the daemon beside a yardstick in C: run.sh BINDIR. Prints a table and writes build/bench.json.
# BENCH_UPDATES, BENCH_PAIRS, BENCH_STARTS and BENCH_DRIVE_SECONDS make it shorter or longer (2000, 7, 15, 62).
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
build=$top/build
mkdir -p "$build"

# shellcheck disable=SC2046
cc -O2 -Wall -Wextra -o "$build/yardstick" "$top/Benchmarks/Yardstick/yardstick.c" $(pkg-config --cflags --libs libcurl) -lm
# In a place of its own: a package with one target more would make the next build of the programs start over.
BENCH=1 swift build --package-path "$top" --scratch-path "$build/decoder" -c release --static-swift-stdlib \
  --product DecoderBenchmark >"$build/decoder.log" 2>&1 || { cat "$build/decoder.log" >&2; exit 1; }

exec python3 "$top/Benchmarks/measure.py" "$bin" "$build/yardstick" "$build/decoder/release/DecoderBenchmark" \
  "$build/bench.json"
