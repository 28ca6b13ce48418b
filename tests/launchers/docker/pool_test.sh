#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pool_test.sh SINEW PROGRAM: a pool whose master, acquire_program, runs on the host, and whose workers run in containers
# of a fake engine. A container is killed while it maps; then the master.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/docker/support.sh
. "$here/support.sh"
program=$(readlink -f "$2")
prepare "$1"
start_engine --image app

# begun VARIABLES...: the program in the background, until it maps; then a container of node 0 is killed.
begun() {
    : >out
    env "$@" "$program" containers >out 2>err &
    runner=$!
    eventually grep -q '^mapping$' out || fail "it does not map: $(cat out err)"
    local id
    id=$(ask '/containers/json' | python3 -c 'import json,sys
print([c["Id"] for c in json.load(sys.stdin) if c["Labels"]["sinew.node"] == "0"][0])')
    curl -s --unix-socket "$work/engine/docker.sock" -X POST "http://docker/containers/$id/kill" >answer
}

begun SINEW_BACKEND=docker SINEW_IMAGE=app
wait_for_run
expect "a pool" 0
grep -q "^right$" out || fail "a pool: $(cat out err)"
leaves_nothing "a pool"
! grep -qE '"(secret|key|session)"' "$work/engine/log" || fail "a secret is in a container's description"

begun FIBER_BACKEND=docker FIBER_IMAGE=app LASTING=1
eventually grep -q '^waiting$' out || fail "it does not wait: $(cat out err)"
kill -KILL "$runner"
wait_for_run
leaves_nothing "a master that is killed"

code=0
SINEW_BACKEND=docker timeout 20 "$program" containers >out 2>err || code=$?
grep -q "SINEW_IMAGE" err || fail "no image: $(cat out err)"
code=0
SINEW_BACKEND=docker SINEW_IMAGE=absent timeout 20 "$program" containers >out 2>err || code=$?
grep -q "absent cannot be pulled" err || fail "no such image: $(cat out err)"
leaves_nothing "pools that fail"
end_engine
finish
