#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cut_test.sh SINEW PROBE...: a host is cut off while a job runs. `sinew run` ends the job and says
# who is lost; the agent over there ends its ranks by itself; whether or not the link comes back.
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/support.sh"
on_a_lab 3 "$0" "$@"
prepare "$1"
probe=$2

# As a host of its own would be: not a child of `sinew run`, which could just be killed.
far_agent="setsid --wait $by_lab"

end_of_cut_job() {
    wait_for_run
    expect "$1" 125 "h2: lost" "no sign of life"
    eventually there_are 0 || fail "$1: ranks remain: $(sleepers)"
}

stays_cut() {
    start --launch-agent "$far_agent" -H h1:2,h2:2,h3:1 sleep "$nap"
    eventually there_are 5 || fail "ranks do not start: $(<err)"
    "$lab" cut h2
    end_of_cut_job "a link cut"
    leaves_nothing "a link cut"
    "$lab" mend h2
}

# The agent of h1, which is not cut off, must not have lost anybody by mistake: the summary is of
# h2.
comes_back_too_late() {
    start --launch-agent "$far_agent" -H h1:2,h2:2,h3:1 sleep "$nap"
    eventually there_are 5 || fail "ranks do not start: $(<err)"
    "$lab" cut h2
    wait_for_run
    "$lab" mend h2
    expect "a link mended late" 125 "h2: lost"
    leaves_nothing "a link mended late"
}

# Shorter than what counts as death: nobody is lost, and nothing of the output.
comes_back_in_time() {
    start --launch-agent "$far_agent" -H h1:1,h2:1 \
        sh -c 'for i in 1 2 3 4 5 6 7 8; do echo $SINEW_RANK.$i; sleep 0.5; done'
    eventually says out 1.2 || fail "no output: $(<err)"
    "$lab" cut h2
    sleep 1.5
    "$lab" mend h2
    wait_for_run
    expect "a link cut for 1.5 s" 0
    [[ $(wc -l <out) == 16 ]] || fail "output over a link that was cut for 1.5 s: $(<out)"
    leaves_nothing "a link cut for 1.5 s"
}

mpi_program_is_cut() {
    [[ -x $probe ]] || return 0
    start --launch-agent "$far_agent" -H h1:1,h2:1,h3:1 "$probe" forever
    eventually says out "h2 sent" || fail "the probe does not start: $(<err)"
    "$lab" cut h2
    wait_for_run
    [[ $code != 0 ]] || fail "an MPI job ends well without h2"
    says err "sinew run: " || says err "sinew: h2: lost" || fail "an MPI job cut: $(<err)"
    leaves_nothing "an MPI job cut"
    "$lab" mend h2
}

# Only what h2 sends is lost: it hears the root, and nobody hears it.
one_way() {
    local rule=(OUTPUT -o lab0 -j DROP)
    "$lab" exec h2 -- iptables -A "${rule[@]}" 2>/dev/null || {
        echo "no iptables: the cut of one direction is left out"
        return 0
    }
    "$lab" exec h2 -- iptables -D "${rule[@]}"
    start --launch-agent "$far_agent" -H h1:2,h2:2,h3:1 sleep "$nap"
    eventually there_are 5 || fail "ranks do not start: $(<err)"
    "$lab" exec h2 -- iptables -A "${rule[@]}"
    end_of_cut_job "one direction cut"
    leaves_nothing "one direction cut"
    "$lab" exec h2 -- iptables -D "${rule[@]}"
}

# With the command gone as well, nobody is left to tell the agent.
run_is_killed_behind_the_cut() {
    start --launch-agent "$far_agent" -H h1:1,h2:2 sleep "$nap"
    eventually there_are 3 || fail "ranks do not start: $(<err)"
    "$lab" cut h2
    kill -KILL "$runner"
    wait_for_run
    leaves_nothing "sinew run killed behind a cut"
    "$lab" mend h2
}

stays_cut
comes_back_too_late
comes_back_in_time
mpi_program_is_cut
one_way
run_is_killed_behind_the_cut
finish
