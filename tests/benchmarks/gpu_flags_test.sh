#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gpu_flags_test.sh DEVICE_KERNELS DEVICE_STEP STAGED: the command lines of the benchmarks for GPUs, and what they say
# where there is no GPU. Those that there are get hidden.
set -u
device_kernels=$1 device_step=$2 staged=$3
export CUDA_VISIBLE_DEVICES=-1
failed=0

# ends STATUS TEXT PROGRAM FLAGS...: the program ends with that status within seconds, and prints the text.
ends() {
    local expected=$1 text=$2 output status=0
    shift 2
    output=$(timeout 20 "$@" 2>&1) || status=$?
    if [ "$status" != "$expected" ] || ! grep -qF -- "$text" <<< "$output"; then
        echo "$*: status $status (expected $expected and \"$text\")"
        echo "$output"
        failed=1
    fi
}

# teaches PROGRAM FLAGS...: --help names each flag, and the program takes each that it names.
teaches() {
    local program=$1 named
    shift
    for flag in "$@"; do ends 0 "  $flag " "$program" --help; done
    named=$("$program" --help | sed -n 's/^  \(--[a-z-]*\) .*/\1/p' | xargs)
    [ "$named" = "$*" ] || { echo "$program --help names $named (expected $*)"; failed=1; }
    ends 2 "'--no-such'" "$program" --no-such 1
    ends 2 "an argument without a flag" "$program" 1000000
    ends 2 "no GPU can be used: " "$program"
}

teaches "$device_kernels" --elements --json
for value in 0 -1 999999 4294967296; do
    ends 2 "device_kernels: --elements $value (must be 1000000 to 4294967295)" "$device_kernels" --elements "$value"
done
for value in 1e6 many 99999999999999999999; do ends 2 "'$value'" "$device_kernels" --elements "$value"; done

teaches "$device_step" --tensors --mib --rounds --json
ends 2 "device_step: --tensors 0 (must be 1 to 100000)" "$device_step" --tensors 0
ends 2 "device_step: --mib 4097 (must be 1 to 4096)" "$device_step" --mib 4097
ends 2 "device_step: --rounds 0 (must be" "$device_step" --rounds 0
ends 2 "'few'" "$device_step" --rounds few

teaches "$staged" --mib --peer --rounds --json
ends 2 "staged: --mib 0 (must be" "$staged" --mib 1,0
ends 2 "staged: --rounds 0 (must be" "$staged" --rounds 0
ends 2 "'few'" "$staged" --rounds few
exit "$failed"
