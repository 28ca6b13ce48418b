#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# communicator_lab_test.sh SINEW PROGRAM: pools over hosts of the network lab, one of which vanishes in
# the midst of the work. No task is executed twice at a time, and all of them end.
set -euo pipefail
# shellcheck disable=SC2016  # what `vanishes` is to expand
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
size=3
on_a_lab $size "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"
ledger=$work/ledger
world=$work/world

write_world() {
    local host
    rm -f "$world" "$world"-*
    (
        umask 077
        {
            printf 'sinew-world 1\njob lab\nepoch 0\nkey %s\n' "$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')"
            echo "nodes $size"
            for ((host = 1; host <= size; host++)); do echo "node h$host"; done
            echo "ranks $size"
            for ((host = 1; host <= size; host++)); do
                printf 'rank %d 0\nlocal unix:%s/none-%d\nremote tcp:10.77.0.%d:7100\n' \
                    $((host - 1)) "$work" "$host" "$host"
            done
            echo end
        } >"$world"
    )
}

# begin WHAT: a rank on each host, all on their own; what they say is in out-N and err-N.
begin() {
    local rank
    rm -f "$ledger" out-* err-*
    write_world
    ranks=()
    for ((rank = 0; rank < size; rank++)); do
        "$lab" exec --name "$SINEW_LAB" "h$((rank + 1))" -- setsid --wait "$here/communicator_rank.pl" \
            "$world" $rank $size "h$((rank + 1))" "$program" "$1" "$ledger" \
            >"out-$rank" 2>"err-$rank" </dev/null &
        ranks+=($!)
    done
}

over() {
    local pid
    for pid in "${ranks[@]}"; do ! kill -0 "$pid" 2>/dev/null || return 1; done
}
works() { [[ -s $ledger ]] && (($(wc -l <"$ledger") > 150)); }

# pids of workers on these hosts
workers_of() {
    local pid
    for pid in $(processes_of "$@"); do
        [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") != "sinew pool worker "* ]] || echo "$pid"
    done
}
no_workers() { [[ -z $(workers_of "$@") ]]; }
there_are_workers() { [[ -n $(workers_of "$@") ]]; }

show() { tail -n 8 out-* err-* >&2; }

# ends_well WHAT: rank 0 has all results, every rank ends, no process is left.
ends_well() {
    within 100 over || fail "$1: ranks go on"
    grep -q '^right$' out-0 || { fail "$1: rank 0 is not content"; show; }
    within 20 no_workers h1 h2 h3 || fail "$1: workers remain: $(workers_of h1 h2 h3)"
    wait "${ranks[@]}" 2>/dev/null || true
    [[ ! -s $ledger ]] || echo "$1: $(wc -l <"$ledger") lines; $(grep lost, out-0)"
}

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
    within 40 works || { fail "$1: no task begins"; show; }
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
