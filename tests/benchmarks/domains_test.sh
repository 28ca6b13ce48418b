#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# domains_test.sh SINEW COLLECTIVES: four ranks on two processors, which hwloc is told to be two NUMA nodes.
# The benchmark of the collectives says that they distinguish the nodes, and checks the results.
set -u
sinew=$1 program=$2

# Two processors that this process may use: "0-3,8" as "0 1 2 3 8".
read -ra cpus <<< "$(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); ++i) printf "%d ", i }')"
[ "${#cpus[@]}" -ge 2 ] || { echo "needs two processors"; exit 77; }
export FIRST=${cpus[0]} SECOND=${cpus[1]}
export SYNTHETIC="numa:$((SECOND + 1)) core:1 pu:1"
export SINEW_TRANSPORT=socket SINEW_CALIBRATE=0

# on_nodes LAYOUT ARGUMENTS...: LAYOUT is the node of each rank, such as 0011. Only the ranks see them,
# not the launcher.
on_nodes() {
    # shellcheck disable=SC2016   # the variables are those of the rank
    LAYOUT=$1 timeout 100 "$sinew" run -n 4 --bind-to none --oversubscribe bash -c '
        node=${LAYOUT:$SINEW_RANK:1}
        unset HWLOC_COMPONENTS   # with it, hwloc does not look at the next one
        export HWLOC_SYNTHETIC=$SYNTHETIC
        exec taskset -c "$([ "$node" = 0 ] && echo "$FIRST" || echo "$SECOND")" "$0" "$@"' \
        "$program" "${@:2}" 2>&1
}
expect() {  # what text
    grep -q "$1" <<< "$2" || { echo "expected \"$1\" in:"; echo "$2"; exit 1; }
}

output=$(on_nodes 0011 --op allreduce,broadcast,alltoall --explain) || { echo "$output"; exit 1; }
expect "2 NUMA nodes with 2+2 ranks. Of vectors of 131072 bytes and more each byte enters" "$output"
expect "2 NUMA nodes with 2+2 ranks. Of vectors of 65536 bytes and more each byte enters" "$output"
expect "2 NUMA nodes with 2+2 ranks, not distinguished by alltoall" "$output"
output=$(on_nodes 0101 --op allreduce --explain) || { echo "$output"; exit 1; }
expect "not distinguished by allreduce, because their ranks do not follow each other" "$output"
output=$(on_nodes 0001 --op allreduce --explain) || { echo "$output"; exit 1; }
expect "none (fewer than two NUMA nodes have several ranks: 3+1)" "$output"
output=$(SINEW_NODE_DOMAINS=off on_nodes 0011 --op allreduce --explain) || { echo "$output"; exit 1; }
expect "none (SINEW_NODE_DOMAINS=off)" "$output"
output=$(SINEW_NODE_DOMAINS=far on_nodes 0011 --op allreduce --explain) && { echo "$output"; exit 1; }
expect "SINEW_NODE_DOMAINS=far (must be auto, off, numa or l3)" "$output"

# The benchmark ends with an error if a result is wrong.
for level in auto numa; do
    output=$(SINEW_NODE_DOMAINS=$level on_nodes 0011 --op all --sizes 16K,200K,1M --rounds 2 \
        --warmup 1 --budget 0.1) || { echo "$output"; exit 1; }
    expect "allreduce" "$output"
done
