#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The lab itself: names, rates, and that nothing of it stays, whatever ends it.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/wait.sh
. "$here/../support/wait.sh"
lab=$here/lab
name=test-$$
nap=987.$$
failures=0

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    failures=$((failures + 1))
}

lab_is_listed() { "$lab" list | grep -q "^$name "; }
# The sleepers in our labs, by a duration of their own.
sleepers() { grep -lszx "${nap/./[.]}" /proc/[0-9]*/cmdline || true; }
lab_is_up() { [[ -n $(sleepers) ]]; }
is_dead() { [[ ! -d /proc/$1 || $(cat "/proc/$1/stat" 2>/dev/null) == *") Z "* ]]; }

# Links outside that look like a lab's: there are none, but others' may have such names.
links() { ip -o link | cut -d' ' -f2 | grep -E '^(lab|h[0-9])' || true; }
links_before=$(links)

# What a lab of ours could leave, one thing a line.
traces() {
    ip netns list | grep "^$name" || true
    [[ $(links) == "$links_before" ]] || links
    grep -ls "^$name\$" /dev/shm/sinew-lab.*/name /run/sinew-lab.*/name || true
    [[ ! -d /etc/netns ]] || find /etc/netns -name "$name*"
    mount | grep "$name" || true
    sleepers
}

leaves_nothing() {
    local left
    left=$(traces)
    [[ -z $left ]] || fail "$1 leaves: $left"
}

# A lab started with `lab run`, that sleeps on h1 and h2 and refuses to be asked to end.
start_a_run() {
    "$lab" run --name "$name" --hosts 2 -- bash -c \
        "trap '' TERM; setsid '$lab' exec h2 -- sh -c 'trap \"\" TERM; sleep $nap & wait' & sleep 30; wait" \
        >/dev/null 2>&1 &
    front=$!
}

# fetch host from bytes
fetch() { "$lab" exec --name "$name" "$1" -- "$here/transfer.pl" fetch "$2" 7000 "$3"; }

hosts_know_each_other() {
    local from to
    "$lab" up --name "$name" --hosts 4 --rate 100mbit >/dev/null
    for from in h1 h2 h3 h4; do
        [[ $("$lab" exec --name "$name" "$from" -- hostname) == "$from" ]] || fail "$from has another name"
        "$lab" exec --name "$name" "$from" -- "$here/transfer.pl" serve 7000 &
    done
    for from in h1 h2 h3 h4; do
        for to in h1 h2 h3 h4; do
            fetch "$from" "$to" 1000 >/dev/null || fail "$from does not reach $to"
        done
    done
    [[ $("$lab" exec --name "$name" h1 -- sh -c 'touch /dev/shm/mine; ls /dev/shm') == *mine* &&
        $("$lab" exec --name "$name" h2 -- ls /dev/shm) != *mine* ]] || fail "hosts share /dev/shm"
}

# is_the_links what rate: near 100 Mbit/s; little is asked for, since the machine may be busy.
is_the_links() {
    echo "$1: $2 bit/s over a link of 100000000"
    (($2 >= 50000000 && $2 <= 110000000)) || fail "$1 at $2 bit/s"
}

links_have_their_rate() {
    is_the_links "one connection" "$(fetch h1 h2 8000000)"
    # Two senders, one receiver: its link is the limit.
    local begin=${EPOCHREALTIME/./}
    fetch h1 h3 8000000 >/dev/null &
    fetch h1 h4 8000000 >/dev/null
    wait $!
    is_the_links "two into one host" $((2 * 8 * 8000000 * 1000000 / (${EPOCHREALTIME/./} - begin)))
}

a_cut_host_is_cut_off() {
    "$lab" cut --name "$name" h2
    ! timeout 1 "$lab" exec --name "$name" h1 -- "$here/transfer.pl" fetch h2 7000 1000 >/dev/null 2>&1 ||
        fail "h1 reaches h2, which is cut off"
    fetch h1 h3 1000 >/dev/null || fail "h1 does not reach h3, after h2 was cut off"
    "$lab" mend --name "$name" h2
    eventually fetch h1 h2 1000 >/dev/null || fail "h1 does not reach h2, whose link was mended"
}

down_leaves_nothing() {
    "$lab" exec --name "$name" h2 -- setsid sh -c "trap '' TERM; sleep $nap & wait" &
    disown
    eventually lab_is_up || fail "nothing runs on h2"
    "$lab" down --name "$name"
    leaves_nothing "lab down"
}

run_gives_the_exit_code() {
    local status=0
    "$lab" run --name "$name" --hosts 1 --rate none -- sh -c 'exit 5' || status=$?
    ((status == 5)) || fail "lab run exits $status, the command 5"
    leaves_nothing "lab run"
}

terminated_run_leaves_nothing() {
    local status=0
    start_a_run
    eventually lab_is_up || fail "lab run does not come up"
    kill -TERM "$front"
    wait "$front" || status=$?
    ((status == 143)) || fail "lab run, terminated, exits $status"
    leaves_nothing "a terminated lab run"
}

killed_run_leaves_nothing() {
    start_a_run
    eventually lab_is_up || fail "lab run does not come up"
    kill -KILL "$front"
    wait "$front" 2>/dev/null || true
    lab_is_gone() { [[ -z $(traces) ]]; }
    eventually lab_is_gone || leaves_nothing "a killed lab run"
}

# Its watchdog too is killed: only `lab clean` is left.
clean_ends_what_was_killed() {
    start_a_run
    eventually lab_is_up || fail "lab run does not come up"
    local state
    state=$(dirname "$(grep -ls "^$name\$" /dev/shm/sinew-lab.*/name /run/sinew-lab.*/name)")
    kill -KILL "$(<"$state/watchdog")" "$front"
    wait "$front" 2>/dev/null || true
    eventually is_dead "$front" || true
    [[ $("$lab" list) == *"$name"*orphaned* ]] || fail "lab list does not call it orphaned: $("$lab" list)"
    "$lab" clean
    leaves_nothing "lab clean"
}

mistakes_are_named() {
    local status=0 said
    said=$("$lab" up --rate fast 2>&1) || status=$?
    [[ $status == 2 && $said == *fast* ]] || fail "a wrong rate: exit $status, \"$said\""
    status=0
    said=$("$lab" exec --name "none-$name" h1 -- true 2>&1) || status=$?
    [[ $status == 1 && $said == *"no lab none-$name"* ]] || fail "a wrong lab: exit $status, \"$said\""
}

# Also finds out whether there can be labs here: 77 goes to ctest, with the reason.
"$lab" run --name "$name" --hosts 1 -- true || exit

trap '"$lab" down --name "$name" 2>/dev/null || true' EXIT
hosts_know_each_other
links_have_their_rate
a_cut_host_is_cut_off
down_leaves_nothing
run_gives_the_exit_code
terminated_run_leaves_nothing
killed_run_leaves_nothing
clean_ends_what_was_killed
mistakes_are_named
lab_is_listed && fail "still listed"
((failures == 0)) || exit 1
echo "all right"
