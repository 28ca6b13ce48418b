# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is known of a lab: a directory that only its maker can read. It also holds what the hosts
# have of their own: h1/tmp and h1/shm.
#   name hosts rate congestion    as asked for
#   hosts_file                    the hosts' /etc/hosts
#   owner                         pid and start time of a `lab` that must live as long; else absent
#   watchdog                      pid of the one that waits for the owner's end

lab_directory=/dev/shm
[[ -d $lab_directory ]] || lab_directory=/run

# pid and start time: a pid alone may come again.
process_identity() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    set -- "$1" "${stat##*) }"
    echo "$1 $(cut -d' ' -f20 <<<"$2")"
}

# new_state name hosts rate congestion
new_state() {
    local state
    state=$(mktemp -d "$lab_directory/sinew-lab.XXXXXX")
    process_identity $$ >"$state/owner"
    echo "$2" >"$state/hosts"
    echo "$3" >"$state/rate"
    echo "$4" >"$state/congestion"
    echo "$1" >"$state/name"   # last: with a name it counts as a lab
    echo "$state"
}

labs() {
    local state
    for state in "$lab_directory"/sinew-lab.*; do
        [[ ! -O $state || ! -f $state/name ]] || echo "$state"
    done
}

# The lab of that name, or the one we are in, or the only one.
find_lab() {
    local wanted=${1:-${SINEW_LAB-}} all state
    mapfile -t all < <(labs)
    if [[ -z $wanted ]]; then
        if ((${#all[@]} == 1)); then
            echo "${all[0]}"
            return
        fi
        echo "lab: there are ${#all[@]} labs. Name one with --name; lab list shows them." >&2
        exit 1
    fi
    for state in "${all[@]}"; do
        if [[ $(<"$state/name") == "$wanted" ]]; then
            echo "$state"
            return
        fi
    done
    echo "lab: there is no lab $wanted. See lab list." >&2
    exit 1
}

is_orphan() {
    local owner
    owner=$(cat "$1/owner" 2>/dev/null) || return 1
    [[ $(process_identity "${owner%% *}") != "$owner" ]]
}

list_labs() {
    local state condition
    while read -r state; do
        condition=up
        [[ ! -f $state/owner ]] || condition="while $(cut -d' ' -f1 "$state/owner") lives"
        ! is_orphan "$state" || condition="orphaned: lab clean ends it"
        printf '%-20s %3d hosts  %-8s %s\n' \
            "$(<"$state/name")" "$(<"$state/hosts")" "$(<"$state/rate")" "$condition"
    done < <(labs)
}

clean_labs() {
    local state
    while read -r state; do
        ! is_orphan "$state" || end_lab "$state"
    done < <(labs)
}
