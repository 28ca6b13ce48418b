#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# communicator_lab_test.sh SINEW PROGRAM: pools over hosts of the network lab, one of which vanishes in
# the midst of the work. No task is executed twice at a time, and all of them end.
set -euo pipefail
# shellcheck disable=SC2016  # what `vanishes` is to expand
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../launchers/hosts/support.sh"
# shellcheck source=tests/pool/communicator/communicator_lab.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/communicator_lab.sh"
on_a_lab 3 "$0" "$@"
prepare "$1"
prepare_ranks 3 "$2"

there_are_workers() { [[ -n $(workers_of "$@") ]]; }

all_is_well() {
    local what
    for what in map large kill default queue worker_queues; do
        begin "$what"
        ends_well "$what over $size hosts"
    done
}

# vanishes NAME WHAT CUT MEND SECONDS: a host is cut off by one command, for so long.
vanishes() {
    begin "$2"
    eventually works || { fail "$1: no task begins"; show; }
    there_are_workers h2 || fail "$1: no workers on h2"
    eval "$3"
    # Long before the host comes back, and by itself.
    within 14 no_workers h2 || fail "$1: workers go on on the other side"
    sleep "$5"
    eval "$4"
    ends_well "$1"
    grep -q "h2 is lost" err-0 || { fail "$1: not a word of h2"; show; }
}

cut="'$lab' cut --name $SINEW_LAB h2" mend="'$lab' mend --name $SINEW_LAB h2"
# What one host sends to the other goes nowhere; the other direction is whole.
deaf() { echo "'$lab' exec --name $SINEW_LAB h$1 -- ip route $2 blackhole 10.77.0.$3"; }

supervisor() { sed -n 's/^there 1 pid //p' out-1; }

all_is_well
vanishes "a host cut off for good" lasting "$cut" : 0
eval "$mend"
vanishes "a host cut off, at most once" once "$cut" "$mend" 2
vanishes "rank 0 not heard" once "$(deaf 1 add 2)" "$(deaf 1 del 2)" 2
vanishes "a host not heard" once "$(deaf 2 add 1)" "$(deaf 2 del 1)" 2
# shellcheck disable=SC2016
vanishes "a supervisor stopped" once 'kill -STOP "$(supervisor)"' 'kill -CONT "$(supervisor)"' 6
finish
