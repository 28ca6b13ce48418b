#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# srun_test.sh SINEW MPI PMIX HELLO POOL CHAOS: worlds and pools of ranks that Slurm
# has started. Slurm runs on a host of the network lab, with all its daemons, and ends with it. MPI is
# what the programs HELLO, POOL and CHAOS were built with (openmpi, mpich or none), PMIX 1 if with PMIx.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../launchers/hosts/support.sh"
# shellcheck source=tests/support/slurm.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../support/slurm.sh"
need_slurm
on_a_lab 1 "$0" "$@"
prepare "$1"
mpi=$2 pmix=$3 hello=$4 pool=$5 chaos=$6

# ranks KIND PROGRAM ARGUMENTS...: three of them
ranks() {
    code=0
    timeout --kill-after 20 100 srun --quiet --mpi="$1" -n 3 --overcommit "${@:2}" >out 2>err </dev/null || code=$?
}

# world KIND BOOTSTRAP: three ranks are one world, found in this way.
world() {
    ranks "$1" "$hello"
    expect "srun --mpi=$1" 0
    [[ $(grep -c "^rank . of 3 on h1: node 0 of 1, . of 3 there" out) == 3 ]] ||
        fail "srun --mpi=$1: $(<out)"
    says out "joined by: $2" || fail "srun --mpi=$1: not by $2: $(<out)"
}

pool() {
    ranks "$1" "$pool" map
    expect "a pool under srun --mpi=$1" 0
    says out right || fail "a pool under srun --mpi=$1: $(tail -n 5 out err)"
    ranks "$1" "$chaos" apart "$work/ledger" crash kill_20ms
    expect "killed workers under srun --mpi=$1" 0
    says out "all right" || fail "killed workers under srun --mpi=$1: $(tail -n 5 out err)"
}

start_slurm 1
case $mpi in
    openmpi) world pmix mpi; pool pmix ;;
    mpich) world pmi2 mpi; pool pmi2 ;;
esac
if ((pmix)); then
    SINEW_TRANSPORT=socket world pmix pmix
    SINEW_TRANSPORT=socket pool pmix
fi
ranks none "$hello"
expect "without PMIx" 0 "srun --mpi=pmix"
[[ $(grep -c "^rank 0 of 1 " out) == 3 ]] || fail "without PMIx: $(<out)"
stop_slurm
finish
