#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# volume.sh IMAGE CLAIM [flags of sinew run]: one job writes a file to a PersistentVolumeClaim, a second one reads it.
set -eu
image=${1:?"usage: $0 IMAGE CLAIM [flags of sinew run]"}
claim=${2:?"usage: $0 IMAGE CLAIM [flags of sinew run]"}
shift 2
run() { "${SINEW:-sinew}" run --backend kubernetes --image "$image" -n 1 --volume "$claim" "$@"; }
written="written by process $$ at $(date -u +%Y-%m-%dT%H:%M:%SZ)"

# shellcheck disable=SC2016  # $1 is for the shell in the pod
run "$@" sh -c 'echo "$1" > /persistent/sinew-example.txt' sh "$written"
read_back=$(run "$@" sh -c 'cat /persistent/sinew-example.txt && rm /persistent/sinew-example.txt')
[ "$read_back" = "$written" ] || { echo "$0: the second job has read: $read_back" >&2; exit 1; }
echo "the second job has read what the first has written: $read_back"
