# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced: whether a job leaves shared memory behind. Other jobs of this host come and go, and may outlast
# the wait; a living process holds the lock of its job's folder. Labs of other tests look after their own.
shared_memory_before=$(ls /dev/shm)
nothing_remains() {
    local name remains
    for _ in $(seq 50); do
        remains=
        # shellcheck disable=SC2010  # names of ours have no special characters
        for name in $(comm -13 <(sort <<< "$shared_memory_before") <(ls /dev/shm | grep '^sinew-' | grep -v '^sinew-lab\.' | sort)); do
            [ -e "/dev/shm/$name/lock" ] && ! flock --nonblock "/dev/shm/$name/lock" true && continue
            [ -e "/dev/shm/$name" ] && remains+=" $name"
        done
        [ -z "$remains" ] && return
        sleep 0.2
    done
    echo "in /dev/shm remain:$remains" >&2
    return 1
}
