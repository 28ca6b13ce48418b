#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2015,SC2119  # fail ends the script; nothing_left may have an argument
# end_test.sh SOURCE SINEW: jobs that do not end by themselves: Ctrl-C while objects are created, while pods start and while
# ranks run; time limits; a client that is killed. Nothing is left. Skipped (77) without root.
set -uo pipefail
test=end_test source=$1 sinew=$2
# shellcheck source=tests/launchers/kubernetes/support.sh
. "$(dirname -- "$0")/support.sh"

cluster_start --nodes 4
some_objects() { [ -n "$(objects)" ]; }
all_run() { [ "$(grep -c ' runs$' "$work/out")" -eq "$1" ]; }

for resource in secrets services jobs; do
    fake_k8s_ctl fault 500 --hang 1 --verb create --resource "$resource"
    job_begin -n 4 program forever
    [ "$resource" = secrets ] || eventually some_objects || fail "nothing is created"
    sleep 0.3
    kill -INT "$sinew_pid"
    job_end
    fake_k8s_ctl clear
    [ "$code" -eq 130 ] || fail "Ctrl-C while $resource are created: code $code"
    expect "$work/err" 'interrupted; what had been created is removed' "Ctrl-C while $resource are created"
    nothing_left
done
# The server creates the object although the client has gone.
fake_k8s_ctl fault 0 --hang 0.7 --verb create --resource services --count 1
job_begin -n 4 program forever
eventually some_objects || fail "nothing is created"
sleep 0.3
kill -INT "$sinew_pid"
job_end
[ "$code" -eq 130 ] || fail "Ctrl-C before an answer: code $code"
sleep 1
nothing_left
note "Ctrl-C while objects are created"

fake_k8s_ctl delay slow 20 20
job_begin -n 4 --name slow program forever
eventually grep -q '4 pods:' "$work/err" || fail "no line about the pods"
sleep 0.3
kill -INT "$sinew_pid"
job_end
fake_k8s_ctl clear
[ "$code" -eq 130 ] || fail "Ctrl-C while pods start: code $code"
expect "$work/err" 'Interrupt: deleting job slow' "Ctrl-C while pods start"
nothing_left
note "Ctrl-C while pods start"

for signal in INT TERM HUP; do
    job_begin -n 4 program forever
    eventually all_run 4 || fail "the ranks do not run"
    kill "-$signal" "$sinew_pid"
    job_end
    [ "$code" -eq $((128 + $(kill -l "$signal"))) ] || fail "SIG$signal while ranks run: code $code"
    nothing_left
done
note "SIGINT, SIGTERM and SIGHUP while ranks run"

job -n 4 --timeout 1s program forever
[ "$code" -eq 124 ] || fail "--timeout: code $code"
expect "$work/err" 'not finished within 1 s' "--timeout"
nothing_left
note "--timeout"

# A killed client changes nothing.
job_begin -n 4 --name orphan program forever
eventually all_run 4 || fail "the ranks do not run"
kill -9 "$sinew_pid"
job_end
sleep 1
running() { admin get pods -l app.kubernetes.io/instance=orphan --field-selector status.phase=Running -o name | wc -l; }
[ "$(running)" -eq 4 ] || fail "the pods of a killed client do not run on"
"$sinew" stop orphan --backend kubernetes >"$work/out" 2>"$work/err" || fail "stop: code $?"
[ "$(running)" -eq 0 ] || fail "stop returns before the pods have ended"
nothing_left
note "a killed client, and stop"

# The output's reader goes: SIGPIPE, as elsewhere.
code=0
timeout 30 "$sinew" run "${flags[@]}" -n 2 program lines 100000 2>"$work/err" | head -n 1 >"$work/out"
code=${PIPESTATUS[0]}
[ "$code" -eq 141 ] || fail "a reader that goes: code $code"
nothing_left
note "a reader that goes"
