#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# simulation_test.sh COLLECTIVES SIMULATE: the two benchmarks, about the same allreduce on four lab hosts of two
# ranks each. The simulated time of a ring and of a tree must be within a factor of 1.5 of the measured one, of which
# a good round counts: the eight ranks share the processors of this machine.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
collectives=${1:?which benchmark of collectives} simulate=${2:?which simulation}
command -v jq >/dev/null || { echo "simulation_test: there is no jq, which reads the results" >&2; exit 77; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$here/lab" run --hosts 4 --rate 200mbit -- "$here/mpirun.sh" --per-host 2 -- "$collectives" \
    --op allreduce --sizes 4M --algorithm ring,recursive_doubling --variant reused --rounds 8 --warmup 1 \
    --budget 20 --json "$folder/measured.json"
# 1448 of 1514 bytes in a frame are payload; 0.1 ms is what the lab's README says of its latency.
"$simulate" --rate "$(bc <<<'scale=3; 200 * 1448 / 1514')mbit" --latency 100us --ranks-per-node 2 \
    --ranks 8 --sizes 4M --json "$folder/simulated.json"

failed=0
compare() {  # algorithm plan
    local measured simulated
    measured=$(jq -s -e --arg name "$1" 'map(select(.algorithm == $name))[0].us.p10' "$folder/measured.json")
    simulated=$(jq -e --arg name "$2" '.[0].us[$name]' "$folder/simulated.json")
    printf '%s: measured %s us, simulated %s us\n' "$1" "$measured" "$simulated"
    if (($(bc <<<"$measured > 1.5 * $simulated || $simulated > 1.5 * $measured"))); then
        echo "simulation_test: the $2 is off by more than a factor of 1.5" >&2
        failed=1
    fi
}
compare ring "flat ring"
compare recursive_doubling "flat tree"
exit "$failed"
