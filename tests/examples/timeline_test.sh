#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeline_test.sh SINEW SGD_DIGITS: two processes write one timeline, because rank 0 has SINEW_TIMELINE or the program a
# flag for it; and training with --tune-buckets says what it chose.
set -euo pipefail
sinew=$1 program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "timeline_test: $1" >&2; cat "$work/out" >&2; exit 1; }

# Each line of the file is one event, so that it can be counted here; timeline_test (C++) parses it.
look_at() {
    local rank
    [[ $(head -c 16 "$1") == '{"traceEvents":[' ]] || fail "$1 begins with $(head -c 40 "$1")"
    [[ $(tail -n 1 "$1") == ']}}' ]] || fail "$1 ends with $(tail -n 1 "$1")"
    for rank in 0 1; do
        grep -q "\"process_name\",\"ph\":\"M\",\"pid\":$rank,.*rank $rank on " "$1" || fail "$1 does not name rank $rank"
        grep -q "\"name\":\"gradient bucket 0 of .*\"pid\":$rank," "$1" || fail "$1 has no bucket of rank $rank"
        grep -q "\"name\":\"allreduce(f32 .*\"pid\":$rank," "$1" || fail "$1 has no allreduce of rank $rank"
    done
    ! ls "$1.part" 2>/dev/null || fail "$1.part was left"
}

SINEW_TIMELINE=$work/world.json "$sinew" run -n 2 "$program" --epochs 1 --bucket 4096 > "$work/out" 2>&1 || fail "fails"
look_at "$work/world.json"
"$sinew" run -n 2 "$program" --epochs 1 --tune-buckets --timeline "$work/flag.json" > "$work/out" 2>&1 || fail "fails with a flag"
look_at "$work/flag.json"
grep -q '^buckets of [0-9]* bytes (steps: .* ms)$' "$work/out" || fail "does not say which buckets it chose"
SINEW_TIMELINE=$work/none/file.json "$sinew" run -n 2 "$program" --epochs 1 > "$work/out" 2>&1 ||
    fail "fails because of a timeline"
grep -q "SINEW_TIMELINE: .*none/file.json cannot be written" "$work/out" || fail "does not say that there is no such folder"
echo "$(grep -c '"ph":"X"' "$work/world.json") events of two ranks"
