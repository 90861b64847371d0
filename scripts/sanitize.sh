#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs, with the address sanitizer, the tests of all code that can access invalid memory.
#
# In every target but tests, strict memory safety with warnings as errors makes the compiler reject an unsafe operation that is
# not marked `unsafe`. So only a module with that word, or with C or C++, can do so: the tests of such a module, and of all
# modules that depend on one, run here. The list is computed from the sources and the manifest each time.
set -euo pipefail
cd "$(dirname "$0")/.."

export SWIFT_BACKTRACE=enable=no
list=$(swift package dump-package | scripts/unsafe-tests.py)
# Prints which tests run with the sanitizer, and which do not.
sed 's/^/   /' <<<"$list"
TESTS=$(sed -n 's/^with the sanitizer: //p' <<<"$list" | tr ' ' ',')
export TESTS
# The test runner itself leaks some hundreds of bytes; the wrappers' tests would find leaks in C.
# A quarantine of 4 MB instead of 256, because some tests limit the memory of the process.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=4
# Only the compiler leaves the processors to what runs beside this: the tests have time limits.
nice -n 15 swift build --quiet --build-tests --sanitize=address --scratch-path .build/asan -Xswiftc -use-ld=lld
scripts/run-tests.sh sanitized
