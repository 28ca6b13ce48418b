#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ssh_test.sh SINEW PROBE_OPENMPI PROBE_MPICH: jobs over hosts with real sshds, by the backend ssh
# and by --launch-agent: ranks, environment, folders, signals; and no ssh, sshd or agent stays.
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/support.sh"
# shellcheck source=tests/launchers/hosts/sshd.sh
. "$here/sshd.sh"
probes=("$(readlink -f "$2")" "$(readlink -f "$3")")
on_a_lab 4 "$0" "$@"
prepare "$1"
mkdir -p only_here
start_sshds
export PATH=$keys/bin:$PATH
by_ssh="'$ssh' -F '$keys/config' {host}"

jobs_of_both_mpis() {
    local probe
    for probe in "${probes[@]}"; do
        [[ -x $probe ]] || continue
        run -H h2:2,h3:1 "$probe"
        three_ranks "${probe##*/} by ssh"
        run --launch-agent "$by_ssh" -H h2:2,h3:1 "$probe"
        three_ranks "${probe##*/} by a template"
        run -H h1:2,h2:1 "$probe"
        expect "${probe##*/}, h1 without sshd" 0
    done
}

three_ranks() {
    expect "$1" 0
    diff <(grep ^rank out | sort) - <<'RANKS' || fail "$1: $(<out)"
rank 0 of 3 on h2, 0 of 2 there
rank 1 of 3 on h2, 1 of 2 there
rank 2 of 3 on h3, 0 of 1 there
RANKS
    leaves_nothing "$1"
}

# What goes along: PATH, LD_LIBRARY_PATH, our families and what -x names. Nothing else.
environment() {
    NOT_NAMED=1 NAMED=2 OMP_NUM_THREADS=3 LD_LIBRARY_PATH=/nowhere/lib run -x NAMED -x "GIVEN=4 5" \
        -H h2,h3 sh -c 'echo "${NOT_NAMED-none} $NAMED $OMP_NUM_THREADS $GIVEN $LD_LIBRARY_PATH"
            echo "PATH on $(hostname) is $PATH"'
    expect "environment" 0
    [[ $(grep -cx "none 2 3 4 5 /nowhere/lib" out) == 2 &&
        $(grep -cxE "PATH on h[23] is $PATH" out) == 2 ]] || fail "environment: $(<out)"
    # Nobody sees the secret: it goes by standard input only.
    run -H h2 sh -c 'tr "\0" " " </proc/$PPID/cmdline; tr "\0" " " </proc/$PPID/environ'
    ! grep -qE '[0-9a-f]{64}' out || fail "64 hex digits to be seen of an agent"
}

# h4 has nothing in only_here, and no sinew where h1 has it.
folders() {
    mkdir -p only_here/now
    (cd only_here/now && "$sinew" run -H h2,h3 pwd) >out 2>err ||
        fail "the folder of sinew run: $(<err)"
    [[ $(sort -u out) == "$work/only_here/now" ]] || fail "the folder of sinew run: $(<out)"
    run --wdir /no/such/folder -H h2 pwd
    expect "a folder that is nowhere" 127 /no/such/folder
    cp "$sinew" copy
    code=0   # what comes behind # is the path here
    (cd only_here/now && "$sinew" run --launch-agent "$by_ssh '$work/copy' agent '#'" -H h4 pwd) \
        >out 2>err || code=$?
    expect "without the folder on h4" 0
    [[ $(<out) == "$HOME" ]] || fail "without the folder on h4: $(<out)"
}

interrupted() {
    start -H h2:2,h3:1 sleep "$nap"
    eventually there_are 3 || fail "ranks do not start: $(<err)"
    kill -INT "$runner"
    wait_for_run
    expect "SIGINT" 130 "signal 2"
    leaves_nothing "SIGINT, over ssh"
}

killed() {
    start -H h2:2,h3:1 sleep "$nap"
    eventually there_are 3 || fail "ranks do not start: $(<err)"
    kill -KILL "$runner"
    wait_for_run
    leaves_nothing "kill -9 of sinew run, over ssh"
}

jobs_of_both_mpis
environment
folders
interrupted
killed
finish
