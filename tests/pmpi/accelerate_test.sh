#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# accelerate_test.sh SINEW MPI PROGRAM: sinew run --accelerate finds out the MPI of a program and preloads the
# library for it, and refuses what it cannot tell.
set -u
sinew=$1 mpi=$2 program=$3
accelerated() { timeout 60 env SINEW_MPI_STATS=1 "$sinew" run "$@" 2>&1; }
fail() { echo "$1"; echo "$output"; exit 1; }

for flag in --accelerate "--accelerate=$mpi"; do
    output=$(accelerated "$flag" -n 2 "$program" mixed) || fail "$flag fails"
    grep -q "MPI_Allreduce .* calls through shared memory" <<< "$output" || fail "$flag: nothing was taken"
done
# Of a script it cannot be known; then the user says it.
output=$(accelerated --accelerate -n 2 sh -c "exec $program mixed") && fail "the MPI of a script is not known"
grep -q "cannot tell which MPI sh uses" <<< "$output" || fail "the reason is missing"
output=$(accelerated "--accelerate=$mpi" -n 2 sh -c "exec $program mixed") || fail "a script fails"
grep -q "MPI_Allreduce .* calls through shared memory" <<< "$output" || fail "nothing of a script was taken"
output=$(accelerated --accelerate -n 2 cat) && fail "cat is no MPI program"
grep -q "is not an MPI program" <<< "$output" || fail "the reason is missing"
output=$(accelerated --accelerate=lam -n 2 "$program" mixed) && fail "there is no such MPI"
# Switched off, for all ranks, by rank 0's variable.
output=$(timeout 60 env SINEW_MPI_STATS=1 SINEW_MPI_OFF=1 "$sinew" run --accelerate -n 2 "$program" mixed 2>&1) || fail "off fails"
grep -q "by MPI: switched off" <<< "$output" || fail "it is not off"
grep -Eq " [1-9][0-9]* of [0-9]+ calls through" <<< "$output" && fail "something was taken though it is off"
exit 0
