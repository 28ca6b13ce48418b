#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sees_test.sh REGEX COMMAND...: passes when COMMAND succeeds and its output matches.
# (ctest's PASS_REGULAR_EXPRESSION would ignore the exit code.)
set -euo pipefail

regex=$1
shift
output=$("$@") || { echo "sees_test: $* failed with $?"; exit 1; }
printf '%s\n' "$output"
[[ $output =~ $regex ]] || { echo "sees_test: the output does not match $regex"; exit 1; }
