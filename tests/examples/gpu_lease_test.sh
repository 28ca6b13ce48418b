#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gpu_lease_test.sh GPU_LEASE: commands that share a host with two GPUs, and one that is killed.
set -euo pipefail
gpu_lease=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "gpu_lease_test: $1" >&2; exit 1; }
unset CUDA_VISIBLE_DEVICES SINEW_LEASED_GPUS
export SINEW_LEASE_DIR=$work/leases SINEW_NVML_LIBRARY=$work/none.so SINEW_GPUS=2

[[ $("$gpu_lease" 2 printenv CUDA_VISIBLE_DEVICES) == 0,1 ]] || fail "does not give both GPUs"
[[ $("$gpu_lease" 1 bash -c 'exit 3'; echo $?) == 3 ]] || fail "does not end with the command's code"
"$gpu_lease" 3 true 2> "$work/error" && fail "gives three of two GPUs"
grep -q '3 GPUs .* there are 2' "$work/error" || fail "says: $(cat "$work/error")"

# The first command has a GPU until it is killed; then the second one gets both.
mkfifo "$work/begun"
"$gpu_lease" 1 bash -c "echo > $work/begun; exec sleep 60" &
first=$!
read -r < "$work/begun"
"$gpu_lease" 2 printenv CUDA_VISIBLE_DEVICES > "$work/second" &
second=$!
sleep 0.2
[[ ! -s $work/second ]] || fail "does not wait"
kill -9 "$first"
wait "$second"
[[ $(cat "$work/second") == 0,1 ]] || fail "the second has $(cat "$work/second")"
wait "$first" || true
echo "leases follow their commands"
