#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# checkpoint_test.sh SINEW SGD_DIGITS SEEDS [flags]: for each seed, as in "1;2", ranks are killed (SIGKILL) at random
# moments, the job begins again from its checkpoint each time, and its weights are those of a run that nobody disturbed,
# bit for bit.
set -u
sinew=$1 program=$2
IFS=';' read -ra seeds <<< "$3"
shift 3
flags=("$@")
ranks=3 kills=3 every=5
work=$(mktemp -d)
trap 'kill "$job" 2>/dev/null; wait; rm -rf "$work"' EXIT
job=
fail() { echo "checkpoint_test: seed ${seed:-none}: $1" >&2; tail -20 "$work/err" >&2; exit 1; }
weights() { sed -n 's/.*"weights_hash": *"\([^"]*\)".*/\1/p' "$1" | tail -1; }   # a rank may be killed after its end

# The number of the newest commit that rank 0 has.
newest() { find "$work/state/rank-0" -name '*-step-*' -printf '%f\n' 2>/dev/null | sed 's/-.*//' | sort -n | tail -1; }
# The ranks of this job, which alone has this folder.
pids_of_ranks() {
    local pid
    for pid in $(pgrep -f -- "--checkpoint $work/state"); do
        [ "$(readlink "/proc/$pid/exe")" = "$(readlink -f "$program")" ] && echo "$pid"
    done
}

# Kills ranks of a job; the moments and the victims come from the seed.
disturb() {
    local killed=0 last=0 now victims victim code got
    RANDOM=$1
    rm -rf "$work/state"
    "$sinew" run -n $ranks --max-restarts $((2 * kills)) "$program" --epochs 25 --json "${flags[@]}" \
        --checkpoint "$work/state" --checkpoint-every $every > "$work/out" 2> "$work/err" &
    job=$!
    while [ $killed -lt $kills ] && kill -0 "$job" 2>/dev/null; do
        now=$(newest)
        if [ "${now:-0}" -ge $((last + 2)) ]; then
            sleep "0.0$((RANDOM % 60 + 10))"
            mapfile -t victims < <(pids_of_ranks)
            victim=${victims[RANDOM % ranks]:-}
            if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then
                killed=$((killed + 1)) last=$now
                sleep 0.3   # until the others have been stopped
            fi
        fi
        sleep 0.01
    done
    wait "$job"
    code=$?
    [ $code -eq 0 ] || fail "exit code $code after $killed kills"
    [ $killed -ge 2 ] || fail "only $killed ranks were killed: the job was too short to show anything"
    got=$(weights "$work/out")
    [ "$expected" = "$got" ] || fail "weights $got after $killed kills instead of $expected"
    echo "seed $1: $killed kills, commits up to number $(newest), weights $got"
}

"$sinew" run -n $ranks "$program" --epochs 25 --json "${flags[@]}" > "$work/undisturbed" 2> "$work/err" || fail "fails undisturbed"
expected=$(weights "$work/undisturbed")
[ -n "$expected" ] || fail "no weights"
for seed in "${seeds[@]}"; do disturb "$seed"; done
