#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# compare_test.sh MPIEXEC RANKS LIBRARY PROGRAM [blocking|non-blocking|persistent [CUDA]]: the program prints the same with the library
# as without it, its collectives did pass through shared memory, and nothing of it remains there. With CUDA, a CUDA driver or
# what stands in for it, its buffers are in the memory of a GPU when it has the library.
set -u
# shellcheck source=tests/pmpi/remains.sh
source "$(dirname "$0")/remains.sh"
mpiexec=$1 ranks=$2 library=$3 program=$4 kind=${5:-blocking} cuda=${6:-}
if [ "$cuda" = libcuda.so.1 ] && ! nvidia-smi -L > /dev/null 2>&1; then
    echo "SKIP: there is no GPU here (nvidia-smi -L fails)"
    [ "${SINEW_REQUIRE_GPU:-0}" = 1 ] && exit 1
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$1" >&2; cat "$work/stderr" >&2; exit 1; }

timeout 200 "$mpiexec" -n "$ranks" "$program" > "$work/expected" 2> "$work/stderr" \
    || fail "$program fails without the library"
timeout 200 "$mpiexec" -n "$ranks" env LD_PRELOAD="$library" SINEW_MPI_STATS=1 ${cuda:+SINEW_TEST_CUDA="$cuda"} "$program" > "$work/got" 2> "$work/stderr" \
    || fail "$program fails with the library"
nothing_remains || fail "files remain in /dev/shm"
[ -z "$cuda" ] || grep -q "buffers are in the memory of a GPU" "$work/stderr" || fail "no buffer was in the memory of a GPU"
[ -s "$work/expected" ] || fail "$program prints nothing"
diff "$work/expected" "$work/got" > "$work/difference" || { head -20 "$work/difference"; fail "results differ"; }
taken=(Allreduce Reduce Reduce_scatter Reduce_scatter_block Scan Exscan Bcast Allgather Allgatherv Gather Gatherv Scatter
    Scatterv Alltoall Alltoallv Barrier)
if [ "$kind" = non-blocking ]; then
    taken=(Iallreduce Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iexscan Ibcast Iallgather Iallgatherv Igather
        Iscatter Ialltoall Ibarrier)
fi
if [ "$kind" = persistent ]; then
    taken=(Allreduce_init Reduce_init Reduce_scatter_init Reduce_scatter_block_init Scan_init Exscan_init Bcast_init
        Allgather_init Allgatherv_init Gather_init Scatter_init Alltoall_init Barrier_init)
fi
for collective in "${taken[@]}"; do
    grep -Eq "MPI_$collective +[1-9][0-9]* of" "$work/stderr" || fail "MPI_$collective was never taken"
done
