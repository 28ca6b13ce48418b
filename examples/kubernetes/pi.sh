#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pi.sh IMAGE [flags of sinew run]: a Pool whose workers are in 4 pods estimates pi.
set -eu
image=${1:?"usage: $0 IMAGE [flags of sinew run]"}
shift
exec "${SINEW:-sinew}" run --backend kubernetes --image "$image" -n 4 "$@" pool_pi --workers 8 --samples 1000000
