#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos_lab_test.sh SINEW PROGRAM: what pools live through, over three hosts of the network lab.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
on_a_lab 3 "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"

start --launch-agent "$by_lab" -H h1:1,h2:1,h3:1 "$program" job "$work/ledger"
wait_for_run 240
cat out
expect "chaos over three hosts" 0
says out "all right" || fail "chaos over three hosts: $(tail -3 out err)"
leaves_nothing "chaos over three hosts"
finish
