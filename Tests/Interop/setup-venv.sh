#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Creates .venv at the root of the project with the requirements of Tests/Interop, unless it is up to date.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../../.venv
# A copy of the requirements, for this version of Python, marks a complete venv.
installed=$(/usr/bin/python3 --version; cat "$here/requirements.txt")
if [ "$(cat "$venv/installed-requirements.txt" 2>/dev/null)" = "$installed" ]; then exit 0; fi
/usr/bin/python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
echo "$installed" >"$venv/installed-requirements.txt"
