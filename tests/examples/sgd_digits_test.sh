#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sgd_digits_test.sh LEAST_ACCURACY RANKS DATA COMMAND...: runs COMMAND, which trains, and looks at
# the JSON in the last line of its output. DATA is a folder, or "synthetic"; not there: skipped.
set -euo pipefail

least=$1 ranks=$2 data=$3
shift 3
flags=(--json)
if [[ $data != synthetic ]]; then
    if [[ ! -r $data/train.csv ]]; then
        echo "SKIP: no data set in $data (UCI optdigits as train.csv and test.csv)"
        exit 77
    fi
    flags+=(--data "$data")
fi

fail() {
    printf 'sgd_digits_test: %s. Its output:\n%s\n' "$1" "$output" >&2
    exit 1
}

output=$("$@" "${flags[@]}" | tr -d '\r') || fail "the training failed"
line=$(tail -n 1 <<<"$output")
value() { sed -n "s/^{.*\"$1\":\"\{0,1\}\([^,\"}]*\).*}\$/\1/p" <<<"$line"; }

[[ $(value ranks) == "$ranks" ]] || fail "ranks is $(value ranks), not $ranks"
[[ $(grep -c '^epoch ' <<<"$output") == "$(value epochs)" ]] || fail "not one line for each epoch"
[[ $(value weights_hash) =~ ^0x[0-9a-f]{16}$ ]] || fail "no weights_hash"
awk -v got="$(value test_accuracy)" -v least="$least" 'BEGIN { exit !(got != "" && got >= least) }' ||
    fail "test_accuracy is $(value test_accuracy), less than $least"
echo "$ranks ranks, $data: test accuracy $(value test_accuracy), weights $(value weights_hash)"
