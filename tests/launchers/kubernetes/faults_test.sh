#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# faults_test.sh SOURCE SINEW [long]: jobs while the cluster misbehaves: pods that come up in any order, an API server that
# answers 409, 429 and 500, watches that are cut. Output and exit codes stay exact, and nothing is left. Skipped (77) without root.
set -uo pipefail
test=faults_test source=$1 sinew=$2 long=${3:-}
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 4
seconds=3 rounds=1
[ -z "$long" ] || { seconds=20 rounds=10; }

exact() {    # WHAT: eight ranks' 2,000 lines each, and the code of rank 6
    local rank
    [ "$code" -eq 0 ] || fail "$1: code $code"
    for rank in 0 1 2 3 4 5 6 7; do
        cmp <(grep "^rank $rank " "$work/out") "$work/lines.$rank" || fail "$1: the output of rank $rank"
    done
    [ "$(wc -l <"$work/out")" -eq 16000 ] || fail "$1: $(wc -l <"$work/out") lines, not 16000"
}
for rank in 0 1 2 3 4 5 6 7; do SINEW_RANK=$rank "$work/bin/program" lines 2000 >"$work/lines.$rank"; done

fake_k8s_ctl delay program 0 "$seconds"
for ((round = 0; round < rounds; ++round)); do
    job -n 8 --nnodes 4 program lines 2000
    exact "pods in any order"
    nothing_left
done
fake_k8s_ctl clear
note "pods in any order over $seconds s"

# Four errors of the server (500) for one call would be its end; they are rarer.
storm() {
    fake_k8s_ctl fault 409 --probability 0.12 --user admin
    fake_k8s_ctl fault 429 --probability 0.12 --retry-after 1 --user admin
    fake_k8s_ctl fault 500 --probability 0.05 --user admin
}
cut_watches() { while :; do fake_k8s_ctl cut-watches "$@" 2>/dev/null; sleep 0.5; done; }
# Ended by cluster_finish, too.
end_cutter() { kill "$cutter"; wait "$cutter" 2>/dev/null; cutter=""; }
cut_watches & cutter=$!
for ((round = 0; round < rounds; ++round)); do
    storm
    job -n 8 --nnodes 4 program lines 2000
    fake_k8s_ctl clear
    exact "a storm of faults"
    nothing_left
    storm
    job -n 4 program fail 2 9
    fake_k8s_ctl clear
    [ "$code" -eq 9 ] || fail "a storm of faults: the code of a rank, 9, became $code"
    expect "$work/err" '^sinew: rank 2 on .*exited with code 9' "a storm of faults: the cause"
    nothing_left
done
end_cutter
note "answers of 409, 429 and 500 for one call of four, watches cut twice a second"

cut_watches --compact & cutter=$!
job -n 4 program ticks 20
end_cutter
[ "$code" -eq 7 ] || fail "watches cut and compacted: the code of a rank, 7, became $code"
for rank in 0 1 2; do cmp <(grep "^rank $rank " "$work/out") <(seq -f "rank $rank tick %.0f" 0 19) || fail "watches cut and compacted: rank $rank"; done
nothing_left
note "watches that must begin again (410)"

# A server that has never answered is not asked for long; the first call, which lists nodes, is.
for resource in secrets services jobs pods events; do fake_k8s_ctl fault 0 --drop --probability 0.2 --user admin --resource "$resource"; done
job -n 4 program fail 0 5
fake_k8s_ctl clear
[ "$code" -eq 5 ] || fail "connections dropped: the code of a rank, 5, became $code"
nothing_left
note "one connection of five dropped without an answer"
