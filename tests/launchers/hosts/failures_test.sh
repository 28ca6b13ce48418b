#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# failures_test.sh SINEW: agents that do not come, agents that are killed, and `sinew run` itself:
# each has its reason told, its exit code, an end in time; and nothing stays on any host.
# shellcheck disable=SC2016  # what ranks are to expand
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/support.sh"
on_a_lab 3 "$0" "$@"
prepare "$1"

sleep_on() { start --launch-agent "$by_lab" "$@" sleep "$nap"; }

# asleep count: so many ranks are there.
asleep() { eventually there_are "$1" || fail "$1 ranks do not start: $(<err)"; }

host_that_does_not_exist() {
    run --launch-agent "$by_lab" -H h1:2,h9:2 hostname
    expect "a host that does not exist" 125 h9 "has no host h9"
    leaves_nothing "a host that does not exist"
}

launch_agent_is_no_command() {
    run --launch-agent "no-such-command {host}" -H h1,h2 hostname
    expect "no such command" 125 h1 no-such-command "is a command of this host"
    run --launch-agent "sh -c 'exit 127' {host}" -H h1,h2 hostname
    expect "127" 125 "ended with code 127" "Install sinew on that host"
}

launch_agent_fails_with_words() {
    run --launch-agent "sh -c 'echo the line is dead. >&2; exit 255' {host}" -H h1,h2 hostname
    expect "255" 125 "[h1] the line is dead." "ended with code 255: the line is dead. "
    leaves_nothing "a launch agent that fails"
}

wrong_template() {
    run --launch-agent "sh -c 'open" -H h1 hostname
    expect "an open quote" 2 "is not closed"
    run --launch-agent "sh {hots}" -H h1 hostname
    expect "an unknown word" 2 "{hots}"
}

# A profile that talks is no failure.
launch_agent_talks() {
    run --launch-agent "sh -c 'echo welcome; exec \"\$@\"' x $by_lab" -H h1,h2 \
        sh -c 'echo $SINEW_RANK'
    expect "a launch agent that talks" 0 "[h1] welcome" "[h2] welcome"
    [[ $(sort out | xargs) == "0 1" ]] || fail "output with a launch agent that talks: $(<out)"
}

launch_agent_hangs() {
    local hang="sh -c '[ \$1 != h2 ] || sleep $nap; shift; exec \"\$@\"' x {host} $by_lab"
    # Long enough for the agents of h1 and h3 on a busy machine: of h2 alone is said that it does not come.
    run --start-timeout 15 --launch-agent "$hang" -H h1,h2,h3 hostname
    expect "a launch agent that hangs" 125 "no agent connected from h2 within 15 s"
    leaves_nothing "a launch agent that hangs"
    start --launch-agent "$hang" -H h1,h2,h3 hostname
    eventually there_are 1 || fail "the launch agent does not hang"
    kill -INT "$runner"
    wait_for_run
    expect "interrupted while an agent hangs" 130
    leaves_nothing "an interrupted start"
}

# agent_is_killed which: the guardian of h2's agent (1), or what it guards (2)
agent_is_killed() {
    local agents
    sleep_on -H h1:2,h2:2,h3:1
    asleep 5
    mapfile -t agents < <(agents_of h2)
    [[ ${#agents[@]} == 2 ]] || fail "agents on h2: ${agents[*]}"
    kill -KILL "${agents[$1 - 1]}"
    wait_for_run
    expect "process $1 of an agent killed" 125 "h2: lost"
    leaves_nothing "process $1 of an agent killed"
}

run_is_killed() {
    sleep_on -H h1:2,h2:2,h3:1
    asleep 5
    kill -KILL "$runner"
    wait_for_run
    leaves_nothing "sinew run killed"
}

run_is_interrupted() {
    local signal
    for signal in INT TERM HUP; do
        sleep_on -H h1:1,h2:2,h3:1
        asleep 4
        kill -s "$signal" "$runner"
        wait_for_run
        expect "SIG$signal" $((128 + $(kill -l "$signal"))) "told to end by signal"
        leaves_nothing "SIG$signal"
    done
}

# Of a rank on another host: first cause, and its host.
rank_fails_elsewhere() {
    run --launch-agent "$by_lab" -H h1,h2,h3 sh -c "[ \$SINEW_RANK = 1 ] && exit 7; exec sleep $nap"
    expect "exit 7 on h2" 7 "rank 1 on h2" "exited with code 7"
    run --launch-agent "$by_lab" -H h1,h2,h3 \
        sh -c "[ \$SINEW_RANK = 2 ] && kill -9 \$\$; exec sleep $nap"
    expect "kill -9 on h3" 137 "rank 2 on h3" "signal 9"
    run --launch-agent "$by_lab" -H h2,h3 ./no-such-program
    expect "no such program" 127 "could not be started" no-such-program
    leaves_nothing "ranks that fail elsewhere"
}

# An agent that is stopped gives no sign of life; it is ended with the rest.
agent_is_stopped() {
    sleep_on -H h1:1,h2:2
    asleep 3
    # shellcheck disable=SC2046  # pids
    kill -STOP $(agents_of h2)
    wait_for_run
    expect "an agent stopped" 125 "h2: lost" "no sign of life"
    leaves_nothing "an agent stopped"
}

host_that_does_not_exist
launch_agent_is_no_command
launch_agent_fails_with_words
wrong_template
launch_agent_talks
launch_agent_hangs
agent_is_killed 1
agent_is_killed 2
run_is_killed
run_is_interrupted
rank_fails_elsewhere
agent_is_stopped
finish
