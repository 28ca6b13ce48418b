# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of pools over hosts of the lab share that act on a job which no launcher watches over:
# so that a host may vanish, and only the pool acts on it.

# prepare_ranks SIZE PROGRAM: a rank of the program on each of so many hosts.
prepare_ranks() {
    size=$1
    program=$(readlink -f "$2")
    ranks_here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
    ledger=$work/ledger
    world=$work/world
}

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
        "$lab" exec --name "$SINEW_LAB" "h$((rank + 1))" -- setsid --wait "$ranks_here/communicator_rank.pl" \
            "$world" $rank "$size" "h$((rank + 1))" "$program" "$1" "$ledger" \
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

show() { tail -n 8 out-* err-* >&2; }

# ends_well WHAT: rank 0 has all results, every rank ends, no process is left.
ends_well() {
    within 300 over || fail "$1: ranks go on"
    grep -q '^right$' out-0 || { fail "$1: rank 0 is not content"; show; }
    eventually no_workers || fail "$1: workers remain: $(workers_of)"
    wait "${ranks[@]}" 2>/dev/null || true
    [[ ! -s $ledger ]] || echo "$1: $(wc -l <"$ledger") lines; $(grep lost, out-0)"
}
