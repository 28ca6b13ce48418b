#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pool_test.sh SINEW PROGRAM: a pool and managers of acquire_program on the nodes of an allocation of a
# real Slurm. The pool grows by steps of srun, and keeps all tasks while workers and an agent are killed.
set -euo pipefail
here_slurm=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/launchers/hosts/support.sh
. "$here_slurm/../hosts/support.sh"
# shellcheck source=tests/support/slurm.sh
. "$here_slurm/../../support/slurm.sh"
need_slurm
on_a_lab 2 "$0" "$@"
program=$(readlink -f "$2")
prepare "$1"
export SINEW_COMMAND=$sinew SINEW_TRANSPORT=socket

CPUS=2 start_slurm 2
code=0
timeout --kill-after 10 90 salloc --quiet -N 2 -n 4 "$program" allocation h1 h2 >out 2>err || code=$?
expect "a pool" 0
grep -q '^right$' out || fail "not right: $(cat out err)"
cat out
eventually slurm_has_nothing || fail "steps go on: $(squeue; squeue --steps)"
stop_slurm
leaves_nothing "a pool"
finish
