# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests here share. Each runs on h1 of a lab of its own, which `lab run` ends with all that
# runs in it, whatever becomes of the test.

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/wait.sh
. "$here/../../support/wait.sh"
lab=$(readlink -f "$here/../../lab/lab")
failures=0
nap=4321.$$   # sleepers are ours by this

# on_a_lab HOSTS "$0" "$@": starts the test again, on h1. 77 when there can be no lab.
on_a_lab() {
    [[ -z ${SINEW_LAB_HOST-} ]] || return 0
    exec "$lab" run --name "hosts-$$" --hosts "$1" --rate none -- "${@:2}"
}

# prepare SINEW: names for what is used below.
prepare() {
    sinew=$(readlink -f "$1")
    state=${TMPDIR%/h1/tmp}   # enter.sh sets it
    work=$state/h1/tmp/work
    # shellcheck disable=SC2034  # used by the tests
    by_lab="'$lab' exec --name $SINEW_LAB {host} --"
    mkdir -p "$work"
    cd "$work" || exit 1
    # Each host has its own; what runs elsewhere must not get ours.
    unset SINEW_LAB_HOST
}

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    failures=$((failures + 1))
}

finish() {
    ((failures == 0)) || exit 1
    echo "all right"
}

# run arguments...: sinew run; output, messages and exit code are in out, err and code.
run() {
    code=0
    timeout --kill-after 20 60 "$sinew" run "$@" >out 2>err </dev/null || code=$?
}

# start arguments...: the same in the background, until `wait_for_run`. `runner` is its pid.
start() {
    "$sinew" run "$@" >out 2>err </dev/null &
    runner=$!
}

is_over() { ! kill -0 "$runner" 2>/dev/null; }

# wait_for_run: gives `code`; what takes longer than RUN_SECONDS, by default a minute, has failed, and is killed.
wait_for_run() {
    within "${RUN_SECONDS:-60}" is_over || { fail "sinew run goes on after ${RUN_SECONDS:-60} s"; kill -KILL "$runner"; }
    code=0
    wait "$runner" 2>/dev/null || code=$?
}

# says file words: they are in it, whatever the case.
says() { grep -qiF -- "$2" "$1"; }

# expect what code words...: of the last run; all words must be in its messages.
expect() {
    local what=$1 words before=$failures
    [[ $code == "$2" ]] || fail "$what: exit code $code instead of $2"
    for words in "${@:3}"; do
        says err "$words" || fail "$what: not a word of \"$words\""
    done
    ((failures == before)) || { echo "--- $what" && cat out err; } >&2
}

# sleepers [host]: pids of ranks that run `sleep $nap` there, or anywhere in the lab.
sleepers() {
    local pid
    for pid in $(processes_of "$@"); do
        [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") != "sleep $nap " ]] || echo "$pid"
    done
}

# there_are count [host]: so many sleepers
there_are() { [[ $(sleepers "${@:2}" | wc -l) == "$1" ]]; }

all_hosts() { seq -f 'h%.0f' "$(<"$state/hosts")"; }

# processes_of [hosts]: of all, without any
processes_of() {
    local host hosts=("$@")
    ((${#hosts[@]})) || mapfile -t hosts < <(all_hosts)
    for host in "${hosts[@]}"; do
        ip netns pids "$SINEW_LAB-$host"
    done
}

# agents_of host: pids of `sinew agent` there, the guardian first.
agents_of() {
    local pid
    for pid in $(processes_of "$1" | sort -n); do
        [[ $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") != "$sinew agent "* ]] || echo "$pid"
    done
}

# What jobs could leave in the lab, one thing a line. Of processes: all but the test's own and sshd.
traces() {
    local pid line
    for pid in $(processes_of); do
        line=$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") || continue
        case $line in
            "$sinew "* | ssh\ * | */ssh\ * | "sshd: root"* | "sleep $nap "* | /*/probe_*)
                echo "process $pid: $line" ;;
        esac
    done
    find "$state"/h*/shm "$state"/h*/tmp -mindepth 1 -maxdepth 1 \
        ! -name 'sinew-lab.*' ! -path "$work" | sed 's/^/file /'
}

nothing_is_left() { [[ -z $(traces) ]]; }

# leaves_nothing what
leaves_nothing() {
    eventually nothing_is_left || fail "$1 leaves: $(traces)"
}
