#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# real_test.sh SINEW: jobs in containers of a real engine. Skipped (77), with the reason, where none answers or it cannot
# get the image (SINEW_TEST_IMAGE, debian:stable-slim).
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
sinew=$(readlink -f "$1")
image=${SINEW_TEST_IMAGE:-debian:stable-slim}
socket=${DOCKER_HOST:-unix:///var/run/docker.sock}
socket=${socket#unix://}
if ! curl -s --max-time 5 --unix-socket "$socket" http://docker/_ping >/dev/null 2>&1; then
    echo "skipped: no container engine answers at $socket"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME=$work/cache
# The first job pulls the image.
if ! timeout 80 "$sinew" run --backend docker --image "$image" -n 1 true >out 2>err; then
    if grep -q "cannot be pulled" err; then
        echo "skipped: $(tail -1 err)"
        exit 77
    fi
    cat out err >&2
    exit 1
fi
echo mine >file
timeout 60 "$sinew" run --backend docker --image "$image" --nodes 2 -n 4 --oversubscribe --mount .:/data:ro \
    sh -c 'echo "$SINEW_RANK of $SINEW_SIZE on $(hostname): $(cat /data/file)"' >out 2>err
[[ $(sort out | tr '\n' ' ') == "0 of 4 on docker-0: mine 1 of 4 on docker-0: mine 2 of 4 on docker-1: mine 3 of 4 on docker-1: mine " ]] ||
    { cat out err >&2; exit 1; }
code=0
timeout 60 "$sinew" run --backend docker --image "$image" -n 1 sh -c 'exit 7' >out 2>err || code=$?
((code == 7)) || { echo "exit code $code" && cat out err; exit 1; }
# kill -9 leaves neither container nor network.
"$sinew" run --backend docker --image "$image" -n 1 --name "real-$$" sh -c 'echo here; sleep 1000' >out 2>err &
runner=$!
for ((i = 0; i < 200; i++)); do
    if grep -q here out; then break; fi
    sleep 0.1
done
kill -KILL "$runner"
for ((i = 0; i < 100; i++)); do
    left=$(curl -s --unix-socket "$socket" http://docker/containers/json?all=1 http://docker/networks)
    [[ $left == *"real-$$"* ]] || { echo "all right"; exit 0; }
    sleep 0.1
done
echo "left: $left" >&2
exit 1
