#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# acquire_lab_test.sh SINEW PROGRAM: a program on one host of the network lab acquires the others, by a launch template.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
on_a_lab 3 "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"
export SINEW_COMMAND=$sinew SINEW_TRANSPORT=socket
# shellcheck disable=SC2154
timeout --kill-after 10 60 "$program" hosts "$by_lab {command}" h2 h3 >out 2>err || fail "exit code $?: $(cat out err)"
grep -q '^right$' out || fail "not right: $(cat out err)"
finish
