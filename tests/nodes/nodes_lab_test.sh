#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nodes_lab_test.sh SINEW PROGRAM: processes, managers, pools and rings on hosts of the network lab, one of which vanishes.
# Who waits hears of it, by cause and in time; on the other side nothing goes on.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
# shellcheck source=tests/pool/communicator/communicator_lab.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../pool/communicator/communicator_lab.sh"
on_a_lab 3 "$0" "$@"
prepare "$1"
prepare_ranks 3 "$2"

rank_0_says() { grep -q "$1" out-0; }
# pids of what rank 0 has started there
started_on() {
    local pid
    for pid in $(processes_of "$@"); do
        case $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline") in
            Manager-* | Process-* | ring-* | "sinew pool worker"*) echo "$pid" ;;
        esac
    done
}
none_on() { [[ -z $(started_on "$@") ]]; }

ends_right() {
    within 300 over || fail "$1: ranks go on"
    rank_0_says '^right$' || { fail "$1: rank 0 is not content"; show; }
    eventually none_on h1 h2 h3 || fail "$1: left behind: $(started_on h1 h2 h3)"
    wait "${ranks[@]}" 2>/dev/null || true
}

for what in processes pools managers deaths rings ring_deaths guests; do
    begin "$what"
    ends_right "$what over $size hosts"
done

# vanishes NAME WHAT READY CUT MEND WORDS: the last host is cut off; WORDS are what rank 0 says then.
vanishes() {
    begin "$2"
    eventually rank_0_says "$3" || { fail "$1: it does not begin"; show; }
    [[ -n $(started_on h3) ]] || fail "$1: nothing on h3"
    eval "$4"
    within 14 rank_0_says "$6" || { fail "$1: rank 0 has not heard of it"; show; }
    # Long before the host comes back, and by itself.
    within 14 none_on h3 || fail "$1: it goes on on the other side: $(started_on h3)"
    eval "$5"
    ends_right "$1"
    echo "$1: $(grep -h -e '^lost' -e '^after' out-0 | cut -c 1-200)"
}

cut="'$lab' cut --name $SINEW_LAB h3" mend="'$lab' mend --name $SINEW_LAB h3"
agent() { sed -n 's/^agent \([0-9]*\) of rank 2$/\1/p' out-2; }

vanishes "a manager's host cut off" lasting '^waiting$' "$cut" "$mend" '^lost, maybe executed 1'
vanishes "a member's host cut off" lasting_ring '^reducing$' "$cut" "$mend" '^after .* on h'
# shellcheck disable=SC2016
vanishes "a process's host cut off" lasting_process '^waiting$' "$cut" "$mend" '^exit code 255'
# shellcheck disable=SC2016
vanishes "a manager's agent stopped" lasting '^waiting$' 'kill -STOP "$(agent)"' \
    'kill -CONT "$(agent)"' '^lost, maybe executed 1'

# A guest of another family on the host that is cut off: it is told there, and rank 0 goes on.
begin lasting_guest
eventually grep -q '^guest waits$' out-2 || { fail "a guest: it does not begin"; show; }
eval "$cut"
within 14 grep -q '^lost, maybe executed 1' out-2 || { fail "a guest: it has not heard of it"; show; }
eval "$mend"
ends_right "a guest's host cut off"
echo "a guest's host cut off: $(grep -h '^lost' out-2 | sed 's/.*is gone/... is gone/' | cut -c 1-200)"
finish
