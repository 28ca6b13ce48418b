#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train_digits_test.sh SINEW RANKS DATA PYTHON TRAIN_DIGITS SGD_DIGITS: the Python program and the C++ one train on the
# same data, and each epoch ends with the same loss and accuracy but for rounding. DATA: a folder, or "synthetic".
set -euo pipefail
sinew=$1 ranks=$2 data=$3 python=$4 ours=$5 theirs=$6
"$python" -c 'import numpy' 2>/dev/null || { echo "SKIP: numpy is not installed (Debian: python3-numpy)"; exit 77; }
flags=(--epochs 6 --json)
if [[ $data != synthetic ]]; then
    [[ -r $data/train.csv ]] || { echo "SKIP: no data set in $data"; exit 77; }
    flags+=(--data "$data")
fi
python_output=$("$sinew" run -n "$ranks" "$python" -B "$ours" "${flags[@]}") || { echo "train_digits failed" >&2; exit 1; }
cpp_output=$("$sinew" run -n "$ranks" "$theirs" "${flags[@]}") || { echo "sgd_digits failed" >&2; exit 1; }
paste -d ' ' <(grep '^epoch ' <<<"$python_output") <(grep '^epoch ' <<<"$cpp_output") | tr -s ' ' | awk -v ranks="$ranks" '
    function far(a, b, most) { return a == "" || b == "" || a - b > most || b - a > most }
    { epochs++ }
    $2 != $10 || far($4, $12, 0.0005) || far($7, $15, 0.3) { print "train_digits_test: differs: " $0; bad = 1 }
    END { if (epochs != 6) { print "train_digits_test: " epochs " epochs, not 6"; bad = 1 }
          else print ranks " ranks, " epochs " epochs, the last: " $0
          exit bad }'
[[ $(tail -n 1 <<<"$python_output") =~ \"ranks\":$ranks,.*\"weights_hash\":\"0x[0-9a-f]{16}\" ]] ||
    { echo "train_digits_test: no result of $ranks ranks in: $(tail -n 1 <<<"$python_output")" >&2; exit 1; }
