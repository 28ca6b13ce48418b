#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos_lab_test.sh SINEW PROGRAM: what pools live through, over three hosts of the network lab.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../launchers/hosts/support.sh"
on_a_lab 3 "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"

# lives_through WHAT [SCENARIO...]: these, or all.
lives_through() {
    start --launch-agent "$by_lab" -H h1:1,h2:1,h3:1 "$program" job "$work/ledger" "${@:2}"
    RUN_SECONDS=840 wait_for_run
    cat out
    expect "$1" 0
    says out "all right" || fail "$1: $(tail -3 out err)"
    leaves_nothing "$1"
}

# Little fits through, and of that a twentieth is lost.
slow_network() {
    local host chain
    for host in h2 h3; do
        for chain in INPUT OUTPUT; do
            "$lab" exec --name "$SINEW_LAB" $host -- iptables -A $chain \
                -m statistic --mode random --probability 0.05 -j DROP 2>/dev/null ||
                { echo "no iptables that throws dice: no slow network"; return; }
        done
        "$lab" exec --name "$SINEW_LAB" $host -- \
            tc qdisc replace dev lab0 root tbf rate 10mbit burst 32k latency 400ms
    done
    lives_through "a slow network" slow_worker kill_100ms poison churn
}

lives_through "chaos over three hosts"
slow_network
finish
