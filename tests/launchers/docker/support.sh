# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests here share: a fake of Docker's engine (tests/support/fake_docker), and what jobs leave.

support=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../../support")
# shellcheck source=tests/support/wait.sh
. "$support/wait.sh"
fake=$support/fake_docker
failures=0
nap=4322.$$   # sleepers are ours by this

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    failures=$((failures + 1))
}

finish() {
    ((failures == 0)) || exit 1
    echo "all right"
}

# prepare SINEW: a folder to work in, as $work, which is not in any image.
prepare() {
    if [ "$(id -u)" -ne 0 ] || ! unshare --pid --mount --uts --fork true 2>/dev/null; then
        echo "skipped: the fake engine makes namespaces, which needs root and CAP_SYS_ADMIN"
        exit 77
    fi
    command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
    sinew=$(readlink -f "$1")
    work=$(mktemp -d)
    trap 'end_engine; rm -rf -- "$work"' EXIT
    mkdir "$work/here" "$work/state" "$work/cache"
    cd "$work/here" || exit 1
    export XDG_CACHE_HOME=$work/cache SINEW_COMMAND=$sinew TMPDIR=$work
    unset SINEW_BACKEND SINEW_IMAGE FIBER_BACKEND FIBER_IMAGE SINEW_MOUNT
}

# start_engine OPTIONS...: of fake_docker.
start_engine() {
    mkdir "$work/engine"
    python3 -B "$fake" --dir "$work/engine" --hide "$work/here" "$@" >"$work/engine/out" 2>&1 &
    engine=$!
    eventually test -e "$work/engine/ready" || { cat "$work/engine/out" >&2; echo "the fake engine does not start" >&2; exit 1; }
    export DOCKER_HOST=unix://$work/engine/docker.sock
}

end_engine() {
    [[ -n ${engine-} ]] || return 0
    kill "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
    engine=
    if grep -q Traceback "$work/engine/out"; then
        cat "$work/engine/out" >&2
        fail "the fake engine has failed"
    fi
    rm -rf -- "$work/engine"
}

# ask PATH: of the engine, as JSON.
ask() { curl -s --unix-socket "$work/engine/docker.sock" "http://docker$1"; }

# run ARGUMENTS...: sinew run in containers; output, messages and exit code are in out, err and code.
run() {
    code=0
    timeout --kill-after 10 40 "$sinew" run --backend docker "$@" >out 2>err </dev/null || code=$?
}

# start ARGUMENTS...: the same in the background, until `wait_for_run`. `runner` is its pid.
start() {
    : >out
    "$sinew" run --backend docker "$@" >out 2>err </dev/null &
    runner=$!
}
is_over() { ! kill -0 "$runner" 2>/dev/null; }
wait_for_run() {
    eventually is_over || { fail "sinew run goes on after a minute"; kill -KILL "$runner"; }
    code=0
    wait "$runner" 2>/dev/null || code=$?
}

# expect what code words...: of the last run; all words must be in its messages.
expect() {
    local what=$1 words before=$failures
    [[ $code == "$2" ]] || fail "$what: exit code $code instead of $2"
    for words in "${@:3}"; do
        grep -qiF -- "$words" err || fail "$what: not a word of \"$words\""
    done
    ((failures == before)) || { echo "--- $what" && cat out err; } >&2
}

sleepers() { pgrep -fx "sleep $nap"; }
there_are() { [[ $(sleepers | wc -l) == "$1" ]]; }

# What jobs could leave: containers, networks, processes.
traces() {
    ask '/containers/json?all=1' | grep -v '^\[\]$'
    ask '/networks' | grep -o '"Name": "sinew[^"]*"'
    sleepers | sed 's/^/sleeper /'
    pgrep -f "^$sinew container " | sed 's/^/sinew container /'
}
nothing_is_left() { [[ -z $(traces) ]]; }
leaves_nothing() { eventually nothing_is_left || fail "$1 leaves: $(traces)"; }
