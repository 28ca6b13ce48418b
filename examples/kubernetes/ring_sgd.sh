#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ring_sgd.sh IMAGE [flags of sinew run]: 4 pods train a classifier; their gradients are summed around a ring.
set -eu
image=${1:?"usage: $0 IMAGE [flags of sinew run]"}
shift
exec "${SINEW:-sinew}" run --backend kubernetes --image "$image" -n 4 --report-map "$@" \
    sgd_digits --algorithm ring --epochs 6 --json
