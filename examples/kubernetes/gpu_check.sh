#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh IMAGE [flags of sinew run]: a pod that asks for one GPU lists those it sees, which must be one.
set -eu
image=${1:?"usage: $0 IMAGE [flags of sinew run]"}
shift
list=$("${SINEW:-sinew}" run --backend kubernetes --image "$image" -n 1 --gpu 1 "$@" nvidia-smi -L)
echo "$list"
count=$(echo "$list" | grep -c '^GPU ') || true
[ "$count" -eq 1 ] || { echo "$0: the pod sees $count GPUs (must be 1)" >&2; exit 1; }
