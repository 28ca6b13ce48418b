#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos_lab_test.sh SINEW PROGRAM: what pools live through, over three hosts of the network lab.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
on_a_lab 3 "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"

# lives_through WHAT [SCENARIO...]: these, or all.
lives_through() {
    start --launch-agent "$by_lab" -H h1:1,h2:1,h3:1 "$program" job "$work/ledger" "${@:2}"
    wait_for_run 240
    cat out
    expect "$1" 0
    says out "all right" || fail "$1: $(tail -3 out err)"
    leaves_nothing "$1"
}

# Every packet takes long, and some never come.
slow_network() {
    local host
    for host in h2 h3; do
        "$lab" exec --name "$SINEW_LAB" $host -- \
            tc qdisc add dev lab0 root netem delay 100ms 10ms loss 2% 2>/dev/null ||
            { echo "no netem: no slow network"; return; }
    done
    lives_through "a slow network" slow_worker poison churn
}

lives_through "chaos over three hosts"
slow_network
finish
