#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sgd_digits_device_test.sh SGD_DIGITS_GPU_TEST SGD_DIGITS [SINEW]: sgd_digits --device is as accurate as without, on one
# rank; two ranks of `sinew run` that share a GPU have equal weights. Without a GPU: skipped, or failed with
# SINEW_REQUIRE_GPU=1.
set -euo pipefail
"$1" --probe || exit $?
program=$2 sinew=${3-}
export SINEW_NCCL=0   # gradients pass through host memory; two ranks of one GPU could not use NCCL
flags=(--epochs 6 --json)

fail() { echo "sgd_digits_device_test: $1" >&2; exit 1; }
json() { "$@" "${flags[@]}" | tr -d '\r' | tail -n 1 || fail "fails: $*"; }
value() { sed -n "s/^{.*\"$1\":\"\{0,1\}\([^,\"}]*\).*}\$/\1/p" <<<"$2"; }
as_accurate() {  # as_accurate line line: half a point is allowed
    awk -v got="$(value test_accuracy "$1")" -v host="$(value test_accuracy "$2")" \
        'BEGIN { exit !(got != "" && host != "" && got >= host - 0.005) }'
}

host=$(json "$program")
one=$(json "$program" --device)
echo "host: $host"
echo "GPU: $one"
as_accurate "$one" "$host" || fail "the GPU gets $(value test_accuracy "$one"), the host $(value test_accuracy "$host")"
again=$(json "$program" --device)
[[ $(value weights_hash "$one") == "$(value weights_hash "$again")" ]] || fail "other bits in the second run: $again"

[[ -n $sinew ]] || exit 0
for wire in native int8; do   # the program compares the weights of all ranks
    host=$(json "$sinew" run -n 2 "$program" --wire $wire --bucket 16384)
    two=$(json "$sinew" run -n 2 "$program" --device --wire $wire --bucket 16384)
    echo "2 ranks, $wire: $two"
    [[ $(value ranks "$two") == 2 && $(value weights_hash "$two") =~ ^0x[0-9a-f]{16}$ ]] || fail "no weights of 2 ranks"
    [[ $(grep -o ' at [0-9A-Fa-f]*:[0-9A-Fa-f]*:' <<<"$two" | wc -l) == 2 ]] || fail "not the GPUs of 2 ranks"
    as_accurate "$two" "$host" || fail "2 ranks get $(value test_accuracy "$two") in $wire, on the host $(value test_accuracy "$host")"
done
