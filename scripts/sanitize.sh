#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the core, the settings and the wrappers with the address sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."

# The test runner itself leaks a few hundred bytes; leaks of ours in C would be found by the wrappers' own tests.
# Freed memory that is kept to find its use counts as the process's, and some tests bound that: 4 MB of it, not 256.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4 SWIFT_BACKTRACE=enable=no
# `make test` runs a thousand random drives; here a part of them is enough, for each takes four times as long.
export SIMULATION_RUNS=${SIMULATION_RUNS:-200}
swift test --sanitize=address --scratch-path .build/asan -Xlinker -fuse-ld=lld --skip Integration --skip TimingTests
