#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# right_test.sh MPIEXEC LIBRARY COMMAND...: an MPI program says "right" under the library, which took its calls.
set -u
mpiexec=$1 library=$2
shift 2
output=$(timeout 100 "$mpiexec" -n 2 env LD_PRELOAD="$library" SINEW_MPI_STATS=1 "$@" 2>&1)
code=$?
echo "$output"
[ $code -eq 0 ] || { echo "exit code $code"; exit 1; }
grep -qx "right" <<< "$output" || { echo "the program does not say that all is right"; exit 1; }
for collective in Allreduce Bcast Alltoall Iallreduce Ibcast Ibarrier; do
    grep -Eq "MPI_$collective +[1-9][0-9]* of" <<< "$output" || { echo "MPI_$collective was never taken"; exit 1; }
done
grep -Eq "MPI_Allreduce_init +0 of" <<< "$output" && { echo "MPI_Allreduce_init was never taken"; exit 1; }
exit 0
