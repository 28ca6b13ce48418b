# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# How scripts wait for what a program does by itself.

# within SECONDS COMMAND...: repeats it until it succeeds, and fails after so long. For promises about time.
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# eventually COMMAND...: the same within a minute. For all the rest: what is waited for takes a second on an idle machine,
# and far longer on a busy one.
eventually() { within 60 "$@"; }
