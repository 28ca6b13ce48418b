#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# layouts_test.sh SINEW PROBE openmpi|mpich: a program that knows its MPI, and not us, over several
# hosts with their own addresses, in several shapes.
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/support.sh"
on_a_lab 4 "$0" "$@"
prepare "$1"
probe=$(readlink -f "$2") mpi=$3 tcp=no

# expected ranks...: what the probe says when h1 has so many of them, h2 so many, ...
expected() {
    local host=0 rank=0 size=0 count place
    for count in "$@"; do size=$((size + count)); done
    for count in "$@"; do
        host=$((host + 1))
        for ((place = 0; place < count; place++)); do
            echo "rank $((rank++)) of $size on h$host, $place of $count there"
        done
    done
}

# check what ranks...: of the last run.
check() {
    local what="$mpi, $1" wrong
    if [[ $mpi$tcp != mpichyes || $code != 124 ]]; then
        expect "$what" 0
    fi
    wrong=$(diff <(expected "${@:2}" | sort) <(grep ^rank out | sort)) || fail "$what: $wrong"
    leaves_nothing "$what"
}

# How many bytes the host with the least has sent.
least_sent() { sed -n 's/.* sent \(-\?[0-9]*\) bytes/\1/p' out | sort -n | head -1; }

hosts_of() {
    local list="" host=0 count
    for count in "$@"; do
        host=$((host + 1))
        list+=${list:+,}h$host:$count
    done
    echo "$list"
}

# by_network what: 8 MiB were added up between hosts, so at least half of that must have left each.
by_network() {
    (($(least_sent) > 4 << 20)) || fail "$mpi, $1: only $(least_sent) bytes over the network"
}

shapes() {
    local shape
    for shape in 1 2,2 4,4,4,4; do
        # shellcheck disable=SC2086  # as words
        set -- ${shape//,/ }
        run --launch-agent "$by_lab" -H "$(hosts_of "$@")" "$probe"
        check "$shape" "$@"
    done
}

uneven_by_hostfile() {
    cat >hosts <<'HOSTS'
# all dialects
h1 slots=3
h2:1
h3 slots=2 max_slots=2
h4:4
HOSTS
    run --launch-agent "$by_lab" --hostfile hosts "$probe"
    check "3+1+2+4" 3 1 2 4
}

# One address of several is the right one: the loopback's is another host for each.
# MPICH 4.0.2 over UCX's TCP sometimes does not come back from MPI_Finalize, under its own mpiexec
# too. Everything else has been said by then.
over_the_network() {
    tcp=yes
    UCX_TLS=tcp,self run --timeout 10 --launch-agent "$by_lab" -H h1:2,h2:2 "$probe"
    check "TCP between hosts" 2 2
    by_network "TCP between hosts"
    tcp=no
}

# All on one /dev/shm and with one host name: folders keep the agents apart.
with_one_shared_memory() {
    tcp=yes
    UCX_TLS=tcp,self run --timeout 10 --launch-agent "ip netns exec $SINEW_LAB-{host}" \
        -H h1:2,h2:2,h3:1 "$probe"
    check "one /dev/shm" 2 2 1
    by_network "one /dev/shm"
    tcp=no
}

with_direct_modex() {
    run --launch-agent "$by_lab" -H h1:2,h2:2 \
        --mca pmix_base_async_modex 1 --mca pmix_base_collect_data 0 "$probe"
    check "direct modex" 2 2
}

# As inside a batch job, or another launcher's.
with_strange_variables() {
    SLURM_JOB_ID=7 SLURM_PROCID=3 SLURM_NTASKS=9 PMI_RANK=5 PMI_SIZE=9 PMI_FD=77 PMIX_RANK=6 \
        OMPI_COMM_WORLD_RANK=4 OMPI_MCA_orte_ess_num_procs=9 SINEW_RANK=8 SINEW_LOCAL_RANK=8 \
        run --launch-agent "$by_lab" -H h2:2,h3:2 "$probe"
    expect "$mpi, with variables of others" 0
    [[ $(grep -c '^rank [0-3] of 4 on h[23], [01] of 2 there$' out) == 4 ]] ||
        fail "$mpi, with variables of others: $(<out)"
    leaves_nothing "$mpi, with variables of others"
}

where_time_goes() {
    run --launch-agent "$by_lab" -H h1,h2,h3,h4 --timing "$probe"
    check "4 hosts" 1 1 1 1
    cat err
}

shapes
uneven_by_hostfile
over_the_network
with_one_shared_memory
[[ $mpi != openmpi ]] || with_direct_modex
with_strange_variables
where_time_goes
finish
