#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# killed_test.sh MPI MPIEXEC LIBRARY PROGRAM: a rank that is killed in a collective ends the others with an
# error, soon, and nothing remains in /dev/shm.
set -u
# Other jobs of this host come and go.
nothing_remains() {
    for _ in $(seq 50); do
        [ -z "$(comm -13 <(sort <<< "$before") <(ls /dev/shm | grep '^sinew-' | sort))" ] && return
        sleep 0.2
    done
    return 1
}
mpi=$1 mpiexec=$2 library=$3 program=$4
flags=()
# MPICH's launcher can leave the others to themselves: then it is the library that must notice.
[ "$mpi" = mpich ] && flags=(-disable-auto-cleanup)
before=$(ls /dev/shm)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# To a file: MPICH's launcher loses the output of ranks when one of them is killed.
timeout 50 "$mpiexec" "${flags[@]}" -n 2 env LD_PRELOAD="$library" sh -c 'exec "$0" killed >> "$1/ranks" 2>&1' \
    "$program" "$work" > "$work/launcher" 2>&1
code=$?
if [ "$mpi" = mpich ]; then   # which may end before the rank
    for _ in $(seq 50); do
        grep -q "^killed:" "$work/ranks" && break
        sleep 0.2
    done
fi
cat "$work/launcher" "$work/ranks"
[ $code -ne 0 ] || { echo "the job succeeded"; exit 1; }
[ $code -ne 124 ] || { echo "the job did not end"; exit 1; }
nothing_remains || { echo "files remain in /dev/shm"; exit 1; }
[ "$mpi" = mpich ] || exit 0
grep -q "rank 1 of MPI_COMM_WORLD) has ended without MPI_Finalize" "$work/ranks" || { echo "no error names the rank"; exit 1; }
grep -qx "killed: right" "$work/ranks" || { echo "the call returned no error"; exit 1; }
