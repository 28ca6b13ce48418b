#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rules_test.sh MPIEXEC LIBRARY PROGRAM CASE: a program of mpi_cases.hpp finds its case right under the library.
set -u
mpiexec=$1 library=$2 program=$3 case=$4
ranks=2
[[ "$case" =~ ^(outstanding|persistent|orders|progress|types)$ ]] && ranks=3
output=$(timeout 100 "$mpiexec" -n "$ranks" env LD_PRELOAD="$library" SINEW_MPI_STATS=1 SINEW_TIMEOUT=60 "$program" "$case" 2>&1)
code=$?
echo "$output"
[ $code -eq 0 ] || { echo "exit code $code"; exit 1; }
grep -qx "$case: right" <<< "$output" || { echo "the program does not say that $case is right"; exit 1; }
grep -Eq " [1-9][0-9]* of [0-9]+ calls through shared memory" <<< "$output" || { echo "nothing was taken"; exit 1; }
