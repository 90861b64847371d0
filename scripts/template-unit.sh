#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the template unit for several vehicles, made from the unit for one; only names differ.
set -euo pipefail
cd "$(dirname "$0")/.."

sed \
  -e 's|@fleet-locationd.toml.d.path|@%i.toml.d.path|' \
  -e 's|^Description=.*|& (%i)|' \
  -e 's|/etc/fleet-locationd/fleet-locationd.toml|/etc/fleet-locationd/%i.toml|' \
  -e 's#^ExecStart=/usr/bin/fleet-locationd#& --config /etc/fleet-locationd/%i.toml#' \
  -e 's#^\(RuntimeDirectory\|StateDirectory\)=fleet-locationd$#&-%i#' \
  systemd/fleet-locationd.service
