#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# faults_test.sh SINEW: how jobs in containers of a fake engine end when something else does: Ctrl-C, sinew run, a
# container, the engine; and engines that answer what they should not.
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/docker/support.sh
. "$here/support.sh"
prepare "$1"

signals() {
    start --image app -n 2 sh -c 'trap "echo last words; exit 0" TERM INT; echo here; while :; do sleep 0.1; done'
    eventually eval '[[ $(grep -c here out) == 2 ]]' || fail "no output: $(cat out err)"
    kill -INT "$runner"
    wait_for_run
    expect "Ctrl-C" 130
    [[ $(grep -c "last words" out) == 2 ]] || fail "no last words: $(cat out err)"
    leaves_nothing "Ctrl-C"
    # Nothing but the kernel can tell that it has ended.
    start --image app --nodes 2 -n 4 --oversubscribe sleep "$nap"
    eventually there_are 4 || fail "no sleepers: $(cat out err)"
    kill -KILL "$runner"
    wait_for_run
    leaves_nothing "kill -9 of sinew run"
    # A rank that ignores SIGTERM.
    start --image app -n 1 sh -c 'trap "" TERM INT; echo here; while :; do sleep 0.1; done'
    eventually grep -q here out || fail "no output: $(cat out err)"
    kill -KILL "$runner"
    wait_for_run
    leaves_nothing "kill -9, and a rank that ignores signals"
}

# id_of NODE: of its container.
id_of() { ask '/containers/json' | python3 -c 'import json,sys
for c in json.load(sys.stdin):
    if c["Labels"]["sinew.node"] == sys.argv[1]: print(c["Id"])' "$1"; }

losses() {
    start --image app --nodes 2 -n 2 sleep "$nap"
    eventually there_are 2 || fail "no sleepers: $(cat out err)"
    curl -s --unix-socket "$work/engine/docker.sock" -X POST "http://docker/containers/$(id_of 1)/kill" >answer
    wait_for_run
    expect "a container that is killed" 125 "docker-1: lost"
    leaves_nothing "a killed container"
    start --image app --max-restarts 1 -n 1 sh -c 'echo "start $SINEW_RESTART"; [ "$SINEW_RESTART" = 1 ] || sleep '"$nap"
    eventually there_are 1 || fail "no sleepers: $(cat out err)"
    curl -s --unix-socket "$work/engine/docker.sock" -X POST "http://docker/containers/$(id_of 0)/kill" >answer
    wait_for_run
    expect "a restart" 0
    leaves_nothing "a restart"
    # Its processes are those of the containers, too.
    start --image app -n 1 sleep "$nap"
    eventually there_are 1 || fail "no sleepers: $(cat out err)"
    kill "$engine"
    wait_for_run
    ((code != 0)) || fail "the end of the engine: exit code 0"
    eventually there_are 0 || fail "sleepers without an engine"
    end_engine
}

without_engine() {
    export DOCKER_HOST=unix://$work/nowhere
    run --image app -n 1 true
    expect "no socket" 2 "there is no container engine at $work/nowhere" "No such file" "DOCKER_HOST"
    DOCKER_HOST=tcp://host:2375 run --image app -n 1 true
    expect "an engine elsewhere" 2 "DOCKER_HOST=tcp://host:2375" "unix:///"
    python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()' "$work/nowhere"
    run --image app -n 1 true
    expect "nobody listens" 125 "Connection refused"
    if command -v setpriv >/dev/null; then
        start_engine --image app
        chmod 600 "$work/engine/docker.sock"
        chmod 755 "$work" "$work/engine"
        mkdir -m 777 "$work/other"
        code=0
        HOME=$work/other XDG_CACHE_HOME=$work/other setpriv --reuid 65534 --regid 65534 --clear-groups \
            "$sinew" run --backend docker --image app -n 1 true >out 2>err || code=$?
        expect "no permission" 125 "Permission denied" "usermod -aG docker"
        end_engine
    fi
}

# lying HOW code words...: of a job whose engine lies
lying() {
    start_engine --image app --lie "$1"
    run --image app -n 1 true
    expect "$1" "${@:2}"
    end_engine
}

signals_and_losses() {
    start_engine --image app
    signals
    losses
}

signals_and_losses
without_engine
lying cut-json 125 "no JSON"
lying short-body 125 "incomplete"
lying endless-head 125 "cannot be read"
lying old 125 "version 1.2 of the Engine API"
lying no-frames 125 "consists of no frames"
lying huge-frame 0 "all of 4 GiB"
finish
