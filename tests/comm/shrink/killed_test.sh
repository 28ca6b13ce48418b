#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# killed_test.sh SINEW PROGRAM TRIALS: six ranks on two nodes of which four die by SIGKILL, at any moment.
set -euo pipefail
for ((trial = 1; trial <= $3; ++trial)); do
    code=0
    output=$(SINEW_TRANSPORT=socket SINEW_CALIBRATE=0 timeout 100 "$1" run --no-kill --quiet --fake-nodes 2 -n 6 "$2" "$trial" 2>&1) ||
        code=$?
    [[ $code == 137 && $(grep -c 'left: 0 1 after' <<<"$output") == 2 && $output != *wrong* ]] && continue
    printf 'trial %s: exit code %s\n%s\n' "$trial" "$code" "$output"
    exit 1
done
echo "$3 trials: two ranks were left in each"
