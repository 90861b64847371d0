#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the module boundaries of docs/architecture.md: the core imports no C module and no platform module, C modules are
# imported by their wrappers only, nothing that starts threads is in the programs, and LocationDaemon decides nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

bad=0
forbid() { # why, pattern, paths...
  local why=$1 pattern=$2 hits status=0
  shift 2
  hits=$(grep -rnE --include='*.swift' "$pattern" "$@") || status=$?
  # 2 if it could not read a directory.
  if [ $status -ne 1 ]; then
    printf '%s:\n%s\n' "$why" "$hits" >&2
    bad=1
  fi
}

platform=$(cd Sources/Platform && printf '|%s' *)
forbid "The core imports a C module or a platform" \
  "^ *(@.* )?(package |internal |private |public |fileprivate )?import +(struct |func |class |enum )?(C[A-Z]|Glibc|Musl|Dispatch|Foundation(Essentials)?( |$)$platform)" \
  Sources/Core
forbid "Full Foundation, Dispatch or their networking in shipped code" \
  '^ *(@.* )?(package |internal |private )?import +(Foundation(Essentials)?( |$)|FoundationNetworking|Dispatch)' Sources
forbid "A thread pool in shipped code" 'Task\.(sleep|detached)|\bTask *\{|DispatchQueue|@unchecked Sendable' Sources
forbid "A trap in shipped code" '\btry!|\bas!|\bfatalError\(|\bpreconditionFailure\(' Sources

# A handler of the loop's event sources lives as long as its source, which lives as long as its owner; other callbacks may come later.
if hits=$(grep -rnE --include='*.swift' '\bunowned\b' Sources | grep -vE '\.(makeTimer|addIO|addSignal|addChild|addWatch)[ (]'); then
  printf 'unowned outside the handler of a source of the loop:\n%s\n' "$hits" >&2
  bad=1
fi

python3 scripts/check-shell.py || bad=1

# In a folder of its own: with the declared dependencies alone, the modules of .build would be compiled again.
built=$(DEPENDENCIES=declared swift build --scratch-path build/arrows --target Timekeeping --explicit-target-dependency-import-check error 2>&1) ||
  { printf '%s\n' "$built" >&2; bad=1; }
exit $bad
