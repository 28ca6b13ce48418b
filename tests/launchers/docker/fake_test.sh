#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fake_test.sh SINEW: the fake engine is true enough for Docker's own client. Skipped (77) where that is not installed.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/docker/support.sh
. "$here/support.sh"
command -v docker >/dev/null || { echo "skipped: docker's client is not installed"; exit 77; }
prepare "$1"
export DOCKER_CONFIG=$work/config
start_engine --image app --registry there --private mine

# client CODE WORDS ARGUMENTS...: what docker does with them
client() {
    code=0
    timeout 20 docker "${@:3}" >out 2>&1 </dev/null || code=$?
    [[ $code == "$1" ]] || fail "docker ${*:3}: code $code: $(<out)"
    grep -qF -- "$2" out || fail "docker ${*:3}: $(<out)"
}

[[ $(echo words | docker run --rm -i app cat) == words ]] || fail "standard input"
client 3 wrong run --rm app sh -c 'echo wrong >&2; exit 3'
client 127 "no such file or directory" run --rm app /no/such/program
client 125 "manifest unknown" run --rm absent true
client 1 "docker login" pull mine
client 0 "Pull complete" pull there
client 0 "" network create ours
client 1 "already exists" network create ours
client 0 "" run -d --name one --label a=b --network ours app sleep "$nap"
client 125 "is already in use" run -d --name one app true
client 0 one ps --filter label=a=b
client 1 "active endpoints" network rm ours
client 1 "stop the container" rm one
client 0 one rm -f one
client 1 "No such container" logs one
client 0 ours network rm ours
[[ $(ask '/containers/json?all=1') == "[]" ]] || fail "containers are left: $(ask '/containers/json?all=1')"
leaves_nothing "docker"
end_engine
finish
