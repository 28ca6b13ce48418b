#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# saved_test.sh MPIEXEC RANKS LIBRARY PROGRAM: with SINEW_MPI_STATS=1 every_collective's calls are measured again at
# MPI_Finalize; without it, or if the library is off, nothing is.
set -u
mpiexec=$1 ranks=$2 library=$3 program=$4
# shellcheck disable=SC2069  # what it writes to stderr is what is looked at
run() { timeout 100 "$mpiexec" -n "$ranks" env LD_PRELOAD="$library" "$@" "$program" 2>&1 > /dev/null; }
fail() { echo "$1"; echo "$output"; exit 1; }

output=$(run SINEW_MPI_STATS=1) || fail "the program fails"
grep -Eq "^sinew: (saved|lost) about [0-9]+\.[0-9]{6} s \(measured again at MPI_Finalize: calls like those of [1-9][0-9]? % of the time\):$" \
    <<< "$output" || fail "the time saved is missing"
# The line of a class has a positive time of either side, or the reason why it has none.
classes=$(grep -E "^sinew:     MPI_[A-Za-z_]+, .* ranks: [1-9]" <<< "$output")
[ "$(wc -l <<< "$classes")" -eq 12 ] || fail "12 classes are expected"
grep -Evq "calls, (MPI [0-9.e+]+ us, sinew [0-9.e+]+ us|not measured again: the others took too long)$" <<< "$classes" \
    && fail "a class has neither times nor a reason"
grep -Eq " on $ranks ranks: [1-9][0-9]* calls, MPI [0-9.e+]*[1-9]" <<< "$classes" || fail "no class was measured"
output=$(run SINEW_MPI_STATS=1 SINEW_MPI_OFF=1) || fail "the program fails if the library is off"
grep -q "by MPI: switched off" <<< "$output" || fail "the library is not off"
grep -Eq "saved|lost|measured" <<< "$output" && fail "something was measured though nothing was taken"
output=$(run SINEW_MPI_STATS=0) || fail "the program fails without statistics"
[ -z "$output" ] || fail "something is printed without statistics"
