#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts an MPI program over the hosts of a lab. `mpirun.sh --help` explains.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lab/state.sh
. "$here/state.sh"
# shellcheck source=tests/lab/network.sh
. "$here/network.sh"

ranks="" per_host=1 name="" mpi=auto

help() {
    cat <<'HELP'
lab mpirun [--name L] [--np N] [--per-host K] [--mpi openmpi|mpich] -- PROGRAM...

  --np N        how many ranks (K on every host)
  --per-host K  ranks of one host; the first K are on h1, the next on h2, ... (1)
  --mpi M       whose mpirun; else the one that PROGRAM is linked with
  --name L      which lab, if there are several

Ranks talk TCP between hosts and shared memory within one. The environment goes to all of them.
HELP
}

usage_error() {
    echo "lab mpirun: $*. See lab mpirun --help." >&2
    exit 2
}

while (($#)); do
    case $1 in
        --) shift; break ;;
        --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        -h | --help) help; exit ;;
        --np | --per-host | --name | --mpi)
            (($# > 1)) || usage_error "$1 needs a value"
            case $1 in
                --np) ranks=$2 ;;
                --per-host) per_host=$2 ;;
                --name) name=$2 ;;
                --mpi) mpi=$2 ;;
            esac
            shift 2 ;;
        -*) usage_error "does not know $1" ;;
        *) break ;;
    esac
done
(($#)) || usage_error "needs a program"
[[ $per_host =~ ^[1-9][0-9]*$ ]] || usage_error "--per-host must be a number from 1, not $per_host"
[[ -z $ranks || $ranks =~ ^[1-9][0-9]*$ ]] || usage_error "--np must be a number from 1, not $ranks"

state=$(find_lab "$name")
hosts=$(<"$state/hosts")
: "${ranks:=$((hosts * per_host))}"
used=$(((ranks + per_host - 1) / per_host))
((used <= hosts)) || usage_error "$ranks ranks, $per_host a host, need $used hosts; there are $hosts"

if [[ $mpi == auto ]]; then
    mpi=openmpi
    program=$(command -v "$1") || usage_error "there is no program $1"
    [[ $(ldd "$program" 2>/dev/null) != *libmpich* ]] || mpi=mpich
fi

# first_command names...: the first that exists; MPIs are installed beside each other under names.
first_command() {
    local command
    for command in "$@"; do
        command -v "$command" && return
    done
    echo "lab mpirun: there is no $1." >&2
    exit 77
}

list=$(seq -f "h%.0f:$per_host" -s, "$used")
case $mpi in
    openmpi)
        # In the environment, so that the user's choice goes first. Yielding: all hosts share this
        # machine's cores. ob1 with tcp: what real hosts on Ethernet would use.
        : "${OMPI_MCA_mpi_yield_when_idle:=1}" "${OMPI_MCA_pml:=ob1}" "${OMPI_MCA_btl:=tcp,vader,self}"
        : "${OMPI_MCA_hwloc_base_binding_policy:=none}"
        export OMPI_MCA_mpi_yield_when_idle OMPI_MCA_pml OMPI_MCA_btl OMPI_MCA_hwloc_base_binding_policy
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
        launcher=("$(first_command mpirun.openmpi mpirun)" --oversubscribe
            --mca plm_rsh_agent "$here/rsh.sh" --mca oob_tcp_if_include "$lab_subnet.0/24"
            --mca btl_tcp_if_include "$lab_subnet.0/24" -H "$list" -np "$ranks") ;;
    mpich)
        # UCX would take processes of one kernel for neighbours: tell it that they are not.
        export UCX_TLS="${UCX_TLS:-tcp,self}" UCX_NET_DEVICES=lab0
        # It gives its environment to all ranks; these two are each host's own.
        launcher=(env -u SINEW_LAB_HOST -u TMPDIR "$(first_command mpiexec.mpich mpiexec.hydra)"
            -launcher rsh -launcher-exec "$here/rsh.sh" -iface lab0 -hosts "$list" -np "$ranks") ;;
    *) usage_error "--mpi must be openmpi or mpich, not $mpi" ;;
esac

if [[ -z ${SINEW_LAB_HOST-} ]]; then
    launcher=("$here/lab" exec --name "$(<"$state/name")" h1 -- "${launcher[@]}")
fi
exec "${launcher[@]}" "$@"
