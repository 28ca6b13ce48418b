#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# killed_test.sh SINEW PROGRAM: of two ranks in a collective one is killed. The other, which --no-kill leaves to
# itself, gets an error soon that names the rank, and nothing remains in /dev/shm.
set -u
sinew=$1 program=$2
# shellcheck source=tests/pmpi/remains.sh
source "$(dirname "$0")/remains.sh"
output=$(timeout 50 "$sinew" run --accelerate --no-kill -n 2 "$program" killed 2>&1)
code=$?
echo "$output"
[ $code -ne 0 ] || { echo "the job succeeded"; exit 1; }
[ $code -ne 124 ] || { echo "the job did not end"; exit 1; }
nothing_remains || { echo "files remain in /dev/shm"; exit 1; }
grep -q "rank 1 of MPI_COMM_WORLD) has ended without MPI_Finalize" <<< "$output" || { echo "no error names the rank"; exit 1; }
grep -q "killed: right" <<< "$output" || { echo "the call returned no error"; exit 1; }
