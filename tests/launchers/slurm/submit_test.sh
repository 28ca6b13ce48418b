#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# submit_test.sh SINEW HELLO OPENMPI MPICH: jobs that sinew run submits to a real Slurm, on two hosts of
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
mkdir "$work/jobs %j"   # where jobs are started, and write their output
cd "$work/jobs %j"

# submitted ARGUMENTS...: sinew run --backend slurm; see `run`.
submitted() { run --backend slurm "$@"; }

# started ARGUMENTS...: the same in the background, as `runner`.
started() { : >err; start --backend slurm "$@"; }

# no_files what: the job has left only what the test keeps itself.
no_files() {
    rm -f out err
    [[ -z $(ls -A) ]] || fail "$1 leaves files: $(ls -A)"
}

# state NAME: the state of a job of ours that Slurm has.
state_of() { squeue --noheader --name="$1" --format=%T; }
is_in_state() { [[ $(state_of "$1") == "$2" ]]; }

programs() {
    local probe
    for probe in "${probes[@]}"; do
        [[ -x $probe ]] || continue
        submitted -n 2 "$probe"
        expect "${probe##*/}" 0
        [[ $(grep -c '^rank [01] of 2 on h[12], ' out) == 2 ]] || fail "${probe##*/}: $(cat out err)"
    done
    submitted --nodes 2 -n 4 -x SINEW_TRANSPORT=socket "$hello"
    expect "a sinew program" 0
    [[ $(grep -c '^rank [0-3] of 4 on h[12]: node [01] of 2' out) == 4 ]] || fail "a sinew program: $(cat out err)"
    no_files "a job"
}

ends() {
    submitted -n 2 sh -c 'echo "out $SINEW_RANK"; echo "err $SINEW_RANK" >&2; exit $((SINEW_RANK * 7))'
    expect "a rank that fails" 7 "rank 1 on h" "err 0" "err 1"
    [[ $(sort out) == "out 0"$'\n'"out 1" ]] || fail "output: $(<out)"
    submitted -n 1 sh -c 'kill -9 $$'
    expect "a rank that is killed" 137 "rank 0 on h"
    submitted -n 1 --partition nowhere true
    expect "a wrong partition" 125 "sbatch has not taken the job" "partition"
    submitted -n 1 --slurm-arg=--output=mine true
    expect "an option that sinew run needs" 2 "--slurm-arg=--output=mine"
    submitted -n 1 --tag-output --slurm-arg=--mem=0 echo "it's \"quoted\" \$HOME"
    [[ $(<out) == "[0]<stdout>: it's \"quoted\" \$HOME" ]] || fail "arguments: $(cat out err)"
    submitted -n 2 --dry-run true
    says out "--ntasks=2" || fail "--dry-run: $(cat out err)"
    no_files "a job that fails"
}

signals() {
    # A job that waits is cancelled at once.
    started --name held --slurm-arg=--hold -n 1 true
    eventually grep -q "PENDING (JobHeldUser)" err || fail "no reason: $(<err)"
    kill -INT "$runner"
    wait_for_run
    expect "Ctrl-C while it waits" 130 "cancelling"
    # One that runs is ended in order: its last words arrive.
    started --name caught -n 2 sh -c 'trap "echo last words; exit 0" TERM; echo here; while :; do sleep 0.1; done'
    eventually eval '[[ $(grep -c here out) == 2 ]]' || fail "no output: $(cat out err)"
    kill -TERM "$runner"
    wait_for_run
    expect "SIGTERM" 143 "ending Slurm job"
    [[ $(grep -c "last words" out) == 2 ]] || fail "no last words: $(cat out err)"
    # Somebody else cancels it.
    started --name other -n 2 sleep "$nap"
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
    scancel --name other
    wait_for_run
    expect "scancel" 143 "CANCELLED"
    eventually there_are 0 || fail "sleepers go on"
    eventually slurm_has_nothing || fail "jobs go on: $(squeue)"
    no_files "a signal"
}

requeue() {
    started --name again -n 1 sh -c 'echo "start ${SLURM_RESTART_COUNT-0}"; [ "${SLURM_RESTART_COUNT-0}" != 0 ] || sleep '"$nap"
    eventually there_are 1 || fail "no sleeper: $(cat out err)"
    local id
    id=$(squeue --noheader --name=again --format=%i)
    # Nothing that others must not see is in what Slurm shows of the job.
    scontrol write batch_script "$id" - >script
    says script "sinew" || fail "no script: $(<script)"
    ! grep -qE '[0-9a-f]{64}' script || fail "a key in the script"
    rm script
    scontrol requeue "$id"
    # Slurm waits for two minutes, unless it is told otherwise.
    eventually is_in_state again PENDING || fail "not requeued: $(squeue)"
    sleep 2   # its nodes refuse the job in the second in which they have ended it
    scontrol update JobId="$id" StartTime=now
    wait_for_run
    expect "a job that was requeued" 0 "put into the queue again"
    [[ $(<out) == "start 0"$'\n'"start 1" ]] || fail "requeued: $(cat out err)"
    no_files "a job that was requeued"
}

# The job goes on without the sinew run that has submitted it.
orphan() {
    started --name orphan -n 2 sh -c 'echo here; exec sleep '"$nap"
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
    kill -KILL "$runner"
    wait "$runner" 2>/dev/null || true
    is_in_state orphan RUNNING || fail "the job has ended: $(squeue)"
    [[ $(cat orphan-*.out) == "here"$'\n'"here" ]] || fail "no output is kept: $(ls)"
    "$sinew" stop --now orphan --backend slurm >/dev/null
    eventually there_are 0 || fail "sleepers go on"
    rm orphan-*
    no_files "a job that was left"
}

# A node fails in the eyes of Slurm.
node_failure() {
    started --name failing --nodes 2 -n 2 --slurm-arg=--no-requeue sleep "$nap"
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
    scontrol update NodeName=h2 State=DOWN Reason=test
    wait_for_run
    expect "a failed node" 125 "NODE_FAIL" "--requeue"
    eventually there_are 0 || fail "sleepers go on"
    # Its slurmd may have come back by itself.
    scontrol update NodeName=h2 State=RESUME 2>/dev/null || true
    eventually slurm_is_idle || fail "h2 does not come back: $(sinfo)"
    no_files "a failed node"
}

verbs() {
    submitted -d --name quiet -n 2 --nodes 2 sh -c 'echo "rank $SINEW_RANK"; exec sleep '"$nap"
    expect "--detach" 0 "sinew attach quiet"
    [[ $(<out) == quiet ]] || fail "--detach: $(<out)"
    eventually there_are 2 || fail "no sleepers: $(squeue)"
    "$sinew" ps --backend slurm >out
    grep -qE '^quiet +running +2/2 +2 +slurm .*sleep' out || fail "ps: $(<out)"
    eventually logs_have "rank 1" || fail "logs: $(cat out err)"
    "$sinew" attach quiet --backend slurm --tag >out 2>err &
    local attached=$!
    eventually grep -q '^\[1\]<stdout>: rank 1$' out || fail "attach: $(cat out err)"
    "$sinew" stop quiet --backend slurm >stopped 2>&1 || fail "stop: $(<stopped)"
    [[ $(<stopped) == "quiet stopped" ]] || fail "stop: $(<stopped)"
    code=0
    wait "$attached" || code=$?
    expect "attach" 143 "told to end"
    eventually there_are 0 || fail "sleepers go on"
    "$sinew" ps --backend slurm >out
    [[ $(wc -l <out) == 1 ]] || fail "ps afterwards: $(<out)"
    [[ -s $(echo quiet-*.out) ]] || fail "no output of a detached job: $(ls)"
    rm quiet-*.out quiet-*.err stopped
    no_files "a detached job"
}
logs_have() {
    "$sinew" logs quiet --backend slurm -r 1 >out 2>err
    grep -qx "$1" out
}

# Slurm's own PMIx starts the ranks.
native() {
    submitted --native --nodes 2 -n 4 --tag-output "$hello"
    expect "a sinew program, --native" 0
    [[ $(grep -c 'rank [0-3] of 4 on h[12]: node [01] of 2' out) == 4 ]] || fail "--native: $(cat out err)"
    SINEW_TRANSPORT=socket submitted --native --nodes 2 -n 2 "$hello"
    expect "a sinew program without MPI, --native" 0
    says out "joined by: pmix" || fail "not by PMIx: $(cat out err)"
    submitted --native -n 2 sh -c 'exit $((SLURM_PROCID * 4))'
    [[ $code == 4 ]] || fail "an exit code, --native: $code $(cat out err)"
    submitted --native --max-restarts 1 -n 2 true
    expect "what --native cannot do" 2 "--max-restarts with --native"
    no_files "--native"
}

CPUS=4 start_slurm 2
programs
ends
signals
orphan
node_failure
verbs
requeue
native
eventually slurm_has_nothing || fail "jobs go on: $(squeue)"
stop_slurm
cd "$work"
leaves_nothing "Slurm"
finish
