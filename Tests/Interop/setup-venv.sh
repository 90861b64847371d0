#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Creates .venv at the root of the project with the requirements of Tests/Interop, unless it is up to date.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../../.venv
# A copy of the requirements marks a complete venv.
if cmp -s "$here/requirements.txt" "$venv/installed-requirements.txt"; then exit 0; fi
/usr/bin/python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
cp "$here/requirements.txt" "$venv/installed-requirements.txt"
