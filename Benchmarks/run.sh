#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures the daemon, and a yardstick in C for comparison: run.sh BINDIR. Prints a table and writes build/bench.json.
# BENCH_UPDATES, BENCH_PAIRS, BENCH_STARTS and BENCH_DRIVE_SECONDS make it shorter or longer (2000, 7, 15, 62).
set -euo pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "$1" && pwd)
build=$top/build
mkdir -p "$build"

# shellcheck disable=SC2046
cc -O2 -Wall -Wextra -o "$build/yardstick" "$top/Benchmarks/Yardstick/yardstick.c" $(pkg-config --cflags --libs libcurl) -lm
# In a separate directory: one more target in the package would make the next build of the programs start from scratch.
for benchmark in DecoderBenchmark BacklogBenchmark; do
  BENCH=1 TESTS=none swift build --package-path "$top" --scratch-path "$build/decoder" -c release --static-swift-stdlib \
    --product $benchmark >"$build/decoder.log" 2>&1 || { cat "$build/decoder.log" >&2; exit 1; }
done

tls=$build/bench-tls
"$top/Tests/Interop/tls-front.sh" certificates "$tls"
measure=(python3 "$top/Benchmarks/measure.py" "$bin" "$build/yardstick" "$build/decoder/release" "$tls"
  "$build/bench.json")

# Also measures a box that trusts the issuers of its system: a mount namespace in which the system's issuers include the
# test's. Without permission to create such a namespace these rows are left out.
if [ -d /etc/ssl/certs ] && unshare --map-root-user --mount true 2>/dev/null; then
  issuers=$build/issuers
  rm -rf "$issuers"
  cp -rL /etc/ssl/certs "$issuers" 2>/dev/null || true
  cp "$tls/ca.crt" "$issuers/bench.pem"
  cat "$tls/ca.crt" >>"$issuers/ca-certificates.crt"
  openssl rehash "$issuers" >/dev/null 2>&1 || true
  # shellcheck disable=SC2016
  exec env BENCH_SYSTEM_TRUST=1 unshare --map-root-user --mount \
    sh -c 'mount --bind "$0" /etc/ssl/certs && exec "$@"' "$issuers" "${measure[@]}"
fi
exec "${measure[@]}"
