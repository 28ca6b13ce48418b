#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# chaos_partition_test.sh SINEW PROGRAM: a pool over hosts of the network lab that are cut off by every
# means of a firewall, and of hosts that come back: in time, or when their lease is long over.
# shellcheck disable=SC2317  # called by name
set -euo pipefail
# shellcheck source=tests/launchers/hosts/support.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../../launchers/hosts/support.sh"
# shellcheck source=tests/pool/communicator/communicator_lab.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../communicator/communicator_lab.sh"
on_a_lab 4 "$0" "$@"
prepare "$1"
prepare_ranks 4 "$2"

# wall A|D HOST RULE...: adds to the rules of a host's firewall, or takes away.
wall() { "$lab" exec --name "$SINEW_LAB" "$2" -- iptables "-$1" "${@:3}"; }
walls() {
    wall "$1" h2 INPUT -i lab0 -j DROP
    wall "$1" h2 OUTPUT -o lab0 -j DROP
    wall "$1" h3 INPUT -p tcp -j REJECT --reject-with tcp-reset
    wall "$1" h4 OUTPUT -o lab0 -j DROP
}
lost() { grep -q "$1 is lost" err-0; }

# One host is silent, one refuses every packet, one hears and is not heard. Rank 0 goes on alone; what
# was begun over there is never executed twice.
firewalls() {
    begin "$1"
    eventually works || { fail "firewalls: no task begins"; show; }
    walls A
    within 14 no_workers h2 h3 h4 || fail "firewalls: workers go on: $(workers_of h2 h3 h4)"
    sleep 8   # two leases since the cut, and more
    walls D
    ends_well "firewalls, $1"
    local host
    for host in h2 h3 h4; do lost $host || { fail "firewalls: not a word of $host"; show; }; done
}

# h2 is cut off for 2 s only. h3 is suspended, with all there is, past its lease: its workers wake up
# when others have done their tasks, before their supervisor does, and may do nothing any more.
comes_back() {
    local all workers
    begin lasting
    eventually works || { fail "coming back: no task begins"; show; }
    "$lab" cut --name "$SINEW_LAB" h2
    mapfile -t all < <(processes_of h3)
    mapfile -t workers < <(workers_of h3)
    ((${#workers[@]})) || fail "coming back: no workers on h3"
    kill -STOP "${all[@]}"
    sleep 2
    "$lab" mend --name "$SINEW_LAB" h2
    sleep 9
    kill -CONT "${workers[@]}"
    eventually no_workers h3 || fail "coming back: workers of h3 go on: $(workers_of h3)"
    kill -CONT "${all[@]}" 2>/dev/null || true
    ends_well "coming back"
    lost h3 || { fail "coming back: not a word of h3"; show; }
    ! lost h2 || { fail "coming back: h2 was lost within 2 s"; show; }
}

wall A h2 INPUT -p tcp -j REJECT --reject-with tcp-reset 2>/dev/null || {
    echo "no iptables that rejects: left out"
    exit 77
}
wall D h2 INPUT -p tcp -j REJECT --reject-with tcp-reset
firewalls lasting
comes_back
finish
