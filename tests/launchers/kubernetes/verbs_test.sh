#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# verbs_test.sh SOURCE SINEW: detached jobs, and ps, logs, attach, stop and events on them. Skipped (77) without root.
set -uo pipefail
test=verbs_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 2
verb() {
    code=0
    timeout 30 "$sinew" "$@" --backend kubernetes >"$work/out" 2>"$work/err" </dev/null || code=$?
}
succeeds() { verb "$@"; [ "$code" -eq 0 ] || fail "sinew $*: code $code"; }

job -d -n 4 --nnodes 2 --name ticking-a program ticks 40
[ "$code" -eq 0 ] && [ "$(cat "$work/out")" = ticking-a ] || fail "-d: code $code"
job -d -n 2 --name other program forever
[ "$code" -eq 0 ] || fail "-d: code $code"

verb logs absent-job
[ "$code" -eq 1 ] || fail "logs of no job: code $code"
runs() { verb ps --json; [ "$(jq -r '.[] | select(.name == "ticking-a") | .state' "$work/out" 2>/dev/null)" = running ]; }
eventually runs || fail "ps does not show the running job"
[ "$(jq -r '.[] | select(.name == "ticking-a") | "\(.backend) \(.ranks) \(.nodes) \(.command)"' "$work/out")" = "kubernetes 4 2 program ticks 40" ] ||
    fail "ps --json: other values"
succeeds ps
expect "$work/out" 'ticking-a .*running' "ps"
expect "$work/out" 'other ' "ps"

has_ticks() { verb logs tick; [ "$code" -eq 0 ] && [ "$(wc -l <"$work/out")" -ge 8 ]; }
eventually has_ticks || fail "logs by a prefix"
succeeds logs ticking-a -r 2 --tail 1
[ "$(wc -l <"$work/out")" -eq 1 ] && expect "$work/out" '^rank 2 tick [0-9]+$' "logs of one rank"
verb logs o --tail 0
[ "$code" -eq 0 ] || fail "logs o: code $code"

# Two readers at once, from the beginning to the end; attach has the job's exit code.
timeout 30 "$sinew" logs ticking -f -r 1,3 --backend kubernetes >"$work/followed" 2>"$work/followed.err" & follower=$!
verb attach ticking
[ "$code" -eq 7 ] || fail "attach: the job's code, 7, became $code"
expect "$work/err" '^sinew: rank 3 on .*exited with code 7' "attach: the cause"
for rank in 0 1 2 3; do
    cmp <(grep "^rank $rank " "$work/out") <(seq -f "rank $rank tick %.0f" 0 39) || fail "attach: rank $rank"
done
wait "$follower" || fail "logs -f: code $?"
for rank in 1 3; do
    cmp <(grep "^rank $rank " "$work/followed") <(seq -f "rank $rank tick %.0f" 0 39) || fail "logs -f: rank $rank"
done
[ "$(wc -l <"$work/followed")" -eq 80 ] || fail "logs -f: other ranks"
verb attach ticking-a
[ "$code" -eq 7 ] && [ "$(wc -l <"$work/out")" -eq 160 ] || fail "attach after the end: code $code, $(wc -l <"$work/out") lines"
succeeds ps
expect "$work/out" 'ticking-a .*ended' "ps after the end"
note "ps, logs, attach"

code=0
timeout 20 "$sinew" events ticking-a >"$work/out" 2>"$work/err" || code=$?
[ "$code" -eq 0 ] || fail "events: code $code"
for reason in SuccessfulCreate Scheduled Pulled Started; do expect "$work/out" " $reason" "events"; done
! grep -q other "$work/out" || fail "events of another job"

succeeds stop ticking
[ "$(cat "$work/out")" = "ticking stopped" ] || [ "$(cat "$work/out")" = "ticking-a stopped" ] || fail "stop: other words"
[ -z "$(admin get all,secrets -l app.kubernetes.io/instance=ticking-a -o name)" ] || fail "stop left something"
verb stop ticking
[ "$code" -eq 1 ] || fail "stop of a job that has gone: code $code"

# Attached, the job goes: what is told is that.
timeout 30 "$sinew" attach other --backend kubernetes >"$work/followed" 2>"$work/followed.err" & follower=$!
sleep 1
succeeds stop other --now
code=0
wait "$follower" || code=$?
[ "$code" -ne 0 ] && [ -s "$work/followed.err" ] || fail "attach while the job is stopped: code $code, $(cat "$work/followed.err")"
nothing_left
note "events, stop"

job -d -n 2 --ttl 1s program hello
[ "$code" -eq 0 ] || fail "--ttl: code $code"
nothing_left
note "--ttl removes what nobody looks after"
