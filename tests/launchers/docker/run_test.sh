#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_test.sh SINEW HELLO OPENMPI: jobs in containers of a fake engine, whose image is this host without the folder of
# the test. HELLO is example_hello_ranks, OPENMPI a probe (not there without Open MPI).
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/docker/support.sh
. "$here/support.sh"
hello=$(readlink -f "$2") probe=$(readlink -m "$3")
prepare "$1"
start_engine --image app --registry there --private secret/one

programs() {
    run --image app -n 3 -x SINEW_TRANSPORT=socket "$hello"
    expect "a sinew program" 0
    [[ $(grep -c '^rank [0-2] of 3 on docker-0' out) == 3 ]] || fail "a sinew program: $(cat out err)"
    run --image app --nodes 2 -n 4 -x SINEW_TRANSPORT=socket "$hello"
    expect "two containers" 0
    [[ $(grep -c '^rank [0-3] of 4 on docker-[01]: node [01] of 2' out) == 4 ]] || fail "two containers: $(cat out err)"
    if [[ -x $probe ]]; then
        run --image app -n 2 "$probe"
        expect "a program of Open MPI" 0
        [[ $(grep -c '^rank [01] of 2 on docker-0, ' out) == 2 ]] || fail "Open MPI: $(cat out err)"
        run --image app --nodes 2 -n 2 "$probe"
        expect "Open MPI between containers" 0
        [[ $(grep -c '^rank [01] of 2 on docker-[01], ' out) == 2 ]] || fail "Open MPI between: $(cat out err)"
    fi
    leaves_nothing "a job"
}

# The job's secret, and this user's files, are not where others could see them.
privacy() {
    echo mine >file
    PATH=$PATH:/only/here run --image app -n 1 sh -c 'echo "$PATH"'
    expect "the image's PATH" 0
    ! grep -q /only/here out || fail "the image's PATH is $(cat out)"
    run --image app -n 1 sh -c '[ ! -e '"$work/here/file"' ] && pwd && ls /opt/sinew-host'
    expect "what is not mounted" 0
    [[ $(head -1 out) == / ]] || fail "the folder is $(cat out)"
    ! grep -qE '"(secret|key)"' "$work/engine/log" || fail "a secret is in a container's description"
    [[ $(grep -c '"Type": "bind"' "$work/engine/log") == $(grep -c '"Source": "[^"]*/sinew/copies/' "$work/engine/log") ]] ||
        fail "something else than sinew is mounted"
    run --image app --mount . -n 1 cat file
    expect "a mounted folder" 0
    [[ $(<out) == mine ]] || fail "a mounted folder: $(cat out err)"
    run --image app --mount .:/data:ro -n 1 sh -c 'cat /data/file; echo x >/data/file'
    grep -q mine out || fail "a read-only folder: $(cat out err)"
    grep -qi "read-only" err || fail "a read-only folder can be written"
    [[ $(<file) == mine ]] || fail "the file was written"
}

limits() {
    run --image app --cpus 0.5 --memory 64Mi --shm 32Mi --gpu 1 --nodes 2 -n 4 --label team=a --user 65534 \
        --dry-run true
    expect "--dry-run" 0
    run --image app --cpus 0.5 --memory 64Mi --shm 32Mi --nodes 2 -n 4 --label team=a --name limited \
        sh -c 'df -k /dev/shm | tail -1'
    expect "limits" 0
    grep -q '^tmpfs  *32768 ' out || fail "/dev/shm: $(cat out err)"
    tail -4 "$work/engine/log" >last
    local words
    for words in '"NanoCpus": 1000000000' '"Memory": 134217728' '"team": "a"' '"sinew.job": "limited"' \
        '"AutoRemove": true' '"Init": true' '"NetworkMode": "sinew-limited"'; do
        grep -qF -- "$words" last || fail "no $words in $(<last)"
    done
    run --image app --user 65534:65534 -n 1 id -u
    expect "another user" 0
    [[ $(<out) == 65534 ]] || fail "another user: $(cat out err)"
    code=0
    "$sinew" run --mount /data -n 1 true >out 2>err || code=$?
    expect "a mount without containers" 2 "--mount /data is for --backend docker"
    code=0
    "$sinew" run --image app -n 1 true >out 2>err || code=$?
    expect "an image without containers" 2 "is for --backend docker or kubernetes"
    run --image app --label sinew.job=other --name mine -n 1 true
    grep -q '"sinew.job": "mine"' "$work/engine/log" || fail "a label of ours was replaced"
    run --image app --memory 64Mi true
    expect "limits of an unknown number of ranks" 2 "-n or -N"
    run --image app --network host -n 1 true
    expect "--network host" 0
    run --image app --network nowhere -n 1 true
    expect "a network that is not there" 125 "no network nowhere"
}

images() {
    run --image there -n 1 echo pulled
    expect "an image that is pulled" 0 "pulling there" "abc: Pull complete"
    [[ $(<out) == pulled ]] || fail "pulled: $(cat out err)"
    run --image absent -n 1 true
    expect "an image that is nowhere" 125 "absent cannot be pulled" "manifest unknown"
    run --image secret/one:2 -n 1 true
    run --image secret/one -n 1 true
    expect "an image with a password" 125 "docker login" "docker pull secret/one"
    run --image absent --image-pull-policy Never -n 1 true
    expect "an image that may not be pulled" 125 "policy is Never"
    run -n 1 true
    expect "no image" 2 "--image"
    export SINEW_IMAGE=app
    run -n 1 true
    expect "SINEW_IMAGE" 0
    unset SINEW_IMAGE
    leaves_nothing "a job that fails"
}

ends() {
    # Rank 1 fails late: else rank 0 may be ended before it has written.
    run --image app -n 2 sh -c 'echo "out $SINEW_RANK"; sleep $((SINEW_RANK * 2)); exit $((SINEW_RANK * 7))'
    expect "a rank that fails" 7 "rank 1 on docker-0"
    [[ $(sort out) == "out 0"$'\n'"out 1" ]] || fail "output: $(<out)"
    run --image app -n 1 sh -c 'kill -9 $$'
    expect "a rank that is killed" 137
    run --image app -n 1 ./not-there
    expect "a program that is not in the image" 127
    echo 'some words' | { code=0; "$sinew" run --backend docker --image app -n 1 cat >out 2>err || code=$?; }
    [[ $(<out) == "some words" ]] || fail "standard input: $(cat out err)"
    leaves_nothing "the end of a job"
}

programs
privacy
limits
images
ends
end_engine
finish
