#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nccl_failures_test.sh SINEW PROGRAM: each case of the program nccl_failures with three ranks.
set -uo pipefail
failed=0
trial() {  # trial CASE CODE VARIABLE=VALUE...: the job must end with this code, and no rank may print FAIL
    local name=$1 expected=$2 code=0 output
    output=$(env SINEW_CALIBRATE=0 SINEW_NCCL=1 SINEW_TRANSPORT=socket "${@:3}" timeout 60 "$sinew" run --no-kill --quiet -n 3 "$program" "$name" 2>&1) || code=$?
    [[ $code != 77 ]] || { printf '%s\n' "$output"; exit 77; }
    [[ $code == "$expected" && $output != *FAIL* && $(grep -c '^ok: it came in time' <<<"$output") -ge 2 ]] &&
        { echo "$name: as expected"; return; }
    printf '%s: exit code %s (expected %s)\n%s\n' "$name" "$code" "$expected" "$output"
    failed=1
}
sinew=$1 program=$2
"$program" >/dev/null 2>&1
(($? != 77)) || { "$program"; exit 77; }
trial killed 137
trial late 0 SINEW_TIMEOUT=2s SINEW_LATE_TIMEOUT=4s
trial mismatch 0 SINEW_TIMEOUT=3s SINEW_LATE_TIMEOUT=4s
trial mismatch 0 SINEW_CHECK=1
trial no-start 0 SINEW_TIMEOUT=2s SINEW_LATE_TIMEOUT=4s
exit "$failed"
