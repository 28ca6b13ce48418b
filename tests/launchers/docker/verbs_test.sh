#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# verbs_test.sh SINEW PROGRAM: ps, logs, attach and stop of jobs and of acquired nodes (acquire_program) in containers of
# a fake engine.
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/docker/support.sh
. "$here/support.sh"
program=$(readlink -f "$2")
prepare "$1"
start_engine --image app
docker=(--backend docker)

# is_listed NAME: by ps
is_listed() { "$sinew" ps "${docker[@]}" | grep -q "^$1 "; }

start --name one -n 2 --image app sh -c 'echo "rank $SINEW_RANK"; sleep '"$nap"
eventually there_are 2 || fail "no sleepers: $(cat out err)"
eventually is_listed one || fail "ps: $("$sinew" ps "${docker[@]}")"
"$sinew" logs "${docker[@]}" one --ranks 1 >said
[[ $(<said) == "rank 1" ]] || fail "logs: $(<said)"
: >attached
"$sinew" attach "${docker[@]}" one >attached 2>&1 &
attached=$!
eventually grep -q "rank 0" attached || fail "attach: $(<attached)"
"$sinew" stop "${docker[@]}" one >stopped
wait_for_run
expect "sinew stop" 143
code=0
wait "$attached" || code=$?
((code == 143)) || fail "attach ends with $code: $(<attached)"
leaves_nothing "sinew stop"

: >out
SINEW_BACKEND=docker SINEW_IMAGE=app "$program" containers >out 2>err &
runner=$!
eventually grep -q '^mapping$' out || fail "it does not map: $(cat out err)"
eventually is_listed "nodes-[a-z0-9]*" || fail "ps of nodes: $("$sinew" ps "${docker[@]}")"
"$sinew" logs "${docker[@]}" nodes >said || fail "logs of nodes: $(<said)"
"$sinew" stop "${docker[@]}" nodes >stopped || fail "stop of nodes: $(<stopped)"
grep -q stopped stopped || fail "stop says $(<stopped)"
[[ $(ask '/containers/json?all=1') == "[]" ]] || fail "containers go on: $(ask '/containers/json?all=1')"
eventually is_over || { kill "$runner"; fail "the program waits for nodes: $(cat out err)"; }
wait "$runner" && fail "the program succeeds without nodes"
code=0
"$sinew" stop "${docker[@]}" nodes >stopped 2>&1 || code=$?
((code == 1)) || fail "stop of nothing: $code: $(<stopped)"
leaves_nothing "nodes that were stopped"
end_engine
finish
