# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by bash tests.
#
#   step TEXT                       prints a heading
#   until_true SECONDS COMMAND...   repeats a command until it succeeds, and fails after this time

step() { printf '== %s\n' "$1"; }
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
