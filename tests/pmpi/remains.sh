# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced: whether a job leaves shared memory behind. Other jobs of this host come and go.
shared_memory_before=$(ls /dev/shm)
nothing_remains() {
    for _ in $(seq 50); do
        # shellcheck disable=SC2010  # names of ours have no special characters
        [ -z "$(comm -13 <(sort <<< "$shared_memory_before") <(ls /dev/shm | grep '^sinew-' | sort))" ] && return
        sleep 0.2
    done
    return 1
}
