#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# allocation_test.sh SINEW HELLO OPENMPI MPICH: jobs in an allocation of a real Slurm, on two hosts of
# the network lab. HELLO is example_hello_ranks, the others are probes (no-mpicc... if there is none).
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
here_slurm=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/hosts/support.sh
. "$here_slurm/../hosts/support.sh"
# shellcheck source=tests/support/slurm.sh
. "$here_slurm/../../support/slurm.sh"
need_slurm
on_a_lab 2 "$0" "$@"
hello=$(readlink -f "$2")
mapfile -t probes < <(readlink -m "${@:3}")
prepare "$1"

# allocated OPTIONS... -- ARGUMENTS...: sinew run in an allocation of these options of salloc.
allocated() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    code=0
    timeout --kill-after 20 60 salloc --quiet "${options[@]}" "$sinew" run "$@" >out 2>err </dev/null || code=$?
}

programs() {
    local probe
    for probe in "${probes[@]}"; do
        [[ -x $probe ]] || continue
        allocated -N 2 -n 4 --ntasks-per-node=2 -- "$probe"
        expect "${probe##*/}" 0
        [[ $(grep -c '^rank [0-3] of 4 on h[12], [01] of 2 there$' out) == 4 ]] ||
            fail "${probe##*/}: $(cat out err)"
    done
    allocated -N 2 -n 4 --ntasks-per-node=2 -- -x SINEW_TRANSPORT=socket "$hello"
    expect "a sinew program" 0
    [[ $(grep -c '^rank [0-3] of 4 on h[12]: node [01] of 2' out) == 4 ]] || fail "a sinew program: $(cat out err)"
}

# One srun has started all agents; what Slurm says to them is not said to ranks.
how_agents_are_started() {
    allocated -N 2 -n 4 --ntasks-per-node=2 -- --dry-run true
    says out "backend: slurm" || fail "not by Slurm: $(<out)"
    allocated -N 2 -n 4 --job-name=mine -- --mpi none sh -c \
        'env; [ $SINEW_RANK != 0 ] || squeue --steps --noheader --format="step %i on %N"'
    [[ $code == 0 ]] || fail "a look at steps: $code $(<err)"
    [[ $(grep -c 'step [0-9]*\.0 on h\[1-2\]' out) == 1 ]] || fail "the step: $(grep step out)"
    [[ $(grep -c '^SLURM_JOB_NAME=mine$' out) == 4 ]] || fail "the job's name: $(grep JOB_NAME out)"
    if grep -E '(SLURM_(STEP|PROCID|LOCALID|NTASKS|NODEID|TASK)|SLURMD_|SRUN_|PMI_|PMI2_|PMIX_[A-LN-Z])[A-Z_]*=' out; then
        fail "ranks see the step of their agent"
    fi
    code=0
    salloc --quiet -N 2 -n 2 --ntasks-per-node=1 srun --mpi=none -N 1 -n 1 "$sinew" run -N 1 hostname >out 2>err </dev/null || code=$?
    expect "in a step on one node" 0
    [[ $(sort out) == h1$'\n'h2 ]] || fail "in a step on one node: $(cat out err)"
    allocated -N 2 -n 4 --ntasks-per-node=2 -- --mpi none env
    says out "SLURM_JOB_ID=" || fail "ranks do not see their job"
}

# The key is neither in arguments nor in environments, which others might read.
keeps_its_key() {
    salloc --quiet -N 2 -n 2 --ntasks-per-node=1 "$sinew" run --mpi none sleep "$nap" >out 2>err </dev/null &
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
    local pid
    for pid in $(processes_of); do
        ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline" | grep -qE '(^|[^0-9a-f])[0-9a-f]{64}' ||
            fail "a key in the arguments of $pid"
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") in srun* | *"sinew agent"*) ;; *) continue ;; esac
        ! tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qE '=[0-9a-f]{64}$' ||
            fail "a key in the environment of $pid"
    done
    for pid in $(sleepers h2); do kill -KILL "$pid"; done
    code=0
    wait $! || code=$?
    expect "a killed rank" 137 "on h2"
    leaves_nothing "a killed rank"
}

limits() {
    allocated -N 2 -n 2 --ntasks-per-node=1 -- -n 1 hostname
    [[ $code$(<out) == 0h1 ]] || fail "one rank: $code $(cat out err)"
    allocated -N 2 -n 4 --ntasks-per-node=2 -- --nodes 1 sh -c 'echo $SINEW_NODE_NAME of $SINEW_SIZE'
    [[ $(sort -u out) == "h1 of 2" ]] || fail "one node: $code $(cat out err)"
    allocated -N 2 -n 2 --ntasks-per-node=1 -- -n 3 true
    expect "more ranks than slots" 2 "--oversubscribe"
    allocated -N 2 -n 2 --ntasks-per-node=1 -- -n 0 true
    expect "no ranks" 2 "-n 0"
    allocated -N 2 -n 2 --ntasks-per-node=1 -- --nodes 3 true
    expect "more nodes than there are" 2 "--nnodes 3"
    allocated -N 2 -n 2 --ntasks-per-node=1 -- --backend slurm -H h1,h7 true
    expect "a host of no allocation" 125 "Slurm refuses the step"
    allocated -N 1 -n 1 -- --backend slurm sh -c 'exit 5'
    expect "an exit code" 5 "rank 0 on h"
    allocated -N 2 -n 2 --ntasks-per-node=1 -- /no/such/program
    expect "no program" 127
}

# starts the job in the background, as `runner`; its agents can be killed.
start_sleepers() {
    salloc --quiet -N 2 -n 2 --ntasks-per-node=1 "$sinew" run --mpi none "$@" sleep "$nap" >out 2>err </dev/null &
    runner=$!
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
}

losses() {
    start_sleepers
    kill -KILL "$(agents_of h2 | tail -n 1)"
    wait_for_run
    expect "a killed agent" 125 "h2"
    leaves_nothing "a killed agent"
    start_sleepers --max-restarts 1
    kill -KILL "$(agents_of h2 | tail -n 1)"
    eventually grep -q "restart 1" err || fail "no restart: $(<err)"
    eventually there_are 1 h2 || fail "no new agent on h2: $(<err)"
    pkill -TERM -x -P "$runner" sinew || fail "no sinew run"
    wait_for_run
    expect "a restart, and SIGTERM" 143 "told to end"
    leaves_nothing "a restart"
    start_sleepers
    pkill -KILL -x -P "$runner" sinew || fail "no sinew run"
    wait_for_run
    leaves_nothing "kill -9 of sinew run"
    eventually slurm_has_nothing || fail "steps go on: $(squeue --steps)"
}

CPUS=4 start_slurm 2
programs
how_agents_are_started
keeps_its_key
limits
losses
stop_slurm
leaves_nothing "Slurm"
finish
