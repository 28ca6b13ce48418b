#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# time_limit_test.sh SINEW: jobs that reach their time limit, on a real Slurm. Its limits are minutes,
# which it looks at every 30 s.
set -euo pipefail
here_slurm=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/hosts/support.sh
. "$here_slurm/../hosts/support.sh"
# shellcheck source=tests/support/slurm.sh
. "$here_slurm/../../support/slurm.sh"
need_slurm
on_a_lab 1 "$0" "$@"
prepare "$1"

# reaches_limit NAME: a job with this name, whose ranks say a last word; more arguments of sinew run.
reaches_limit() {
    timeout --kill-after 20 200 "$sinew" run --backend slurm --name "$1" --time 1 "${@:2}" -n 1 sh -c \
        'trap "echo saved; exit 0" TERM; while :; do sleep 0.1; done' >"$1.said" 2>"$1.err" </dev/null || echo $? >"$1.code"
}

CPUS=4 start_slurm 1
# A grace period that Slurm would not wait for has SIGTERM come before the limit.
reaches_limit early --grace 50s &
early=$!
reaches_limit late &
wait "${!}" "$early"
for name in early late; do
    [[ $(<"$name.said") == saved && $(<"$name.code") == 124 ]] ||
        fail "$name: $(tail "$name".*)"
    # By the sinew run in the job or by this one, and not twice.
    [[ $(grep -c "Slurm job .*time limit" "$name.err") == 1 ]] || fail "$name: $(<"$name.err")"
done
says late.err "TIMEOUT" || fail "late: $(<late.err)"
eventually slurm_has_nothing || fail "jobs go on: $(squeue)"
stop_slurm
leaves_nothing "time limits"
finish
