#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# killed_test.sh MPI MPIEXEC LIBRARY PROGRAM: a rank that is killed in a collective ends the others with an
# error, soon, and nothing remains in /dev/shm.
set -u
mpi=$1 mpiexec=$2 library=$3 program=$4
flags=()
# MPICH's launcher can leave the others to themselves: then it is the library that must notice.
[ "$mpi" = mpich ] && flags=(-disable-auto-cleanup)
before=$(ls /dev/shm | grep '^sinew-')
output=$(timeout 50 "$mpiexec" "${flags[@]}" -n 2 env LD_PRELOAD="$library" "$program" killed 2>&1)
code=$?
echo "$output"
[ $code -ne 0 ] || { echo "the job succeeded"; exit 1; }
[ $code -ne 124 ] || { echo "the job did not end"; exit 1; }
[ "$(ls /dev/shm | grep '^sinew-')" = "$before" ] || { echo "files remain in /dev/shm"; exit 1; }
[ "$mpi" = mpich ] || exit 0
grep -q "rank 1 of MPI_COMM_WORLD) has ended without MPI_Finalize" <<< "$output" || { echo "no error names the rank"; exit 1; }
grep -qx "killed: right" <<< "$output" || { echo "the call returned no error"; exit 1; }
