#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the core, the settings and the wrappers with the address sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

# The test runner itself leaks some hundred bytes; the wrappers' tests would find leaks in C.
# A quarantine of 4 MB instead of 256, because some tests limit the memory of the process.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4 SWIFT_BACKTRACE=enable=no
# `make test` runs a thousand random drives; here fewer, because each takes four times as long.
export SIMULATION_RUNS=${SIMULATION_RUNS:-200}
swift test --sanitize=address --scratch-path .build/asan -Xlinker -fuse-ld=lld --skip Integration --skip TimingTests
