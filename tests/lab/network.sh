# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The network of a lab: host NAME-h1 has one interface lab0, whose other end is the port h1 of a
# bridge in the namespace NAME-switch. Nothing appears in the machine's own namespace, so labs
# cannot meet, and all use the same addresses.

lab_subnet=10.77.0
lab_bridge=lab-bridge

unavailable() {
    echo "lab: not possible here: $*." >&2
    exit 77
}

namespaces_of() {
    ip netns list 2>/dev/null | cut -d' ' -f1 | grep -E "^$1-(switch|h[0-9]+)\$" || true
}

build_network() {
    local state=$1 name hosts host
    name=$(<"$state/name") hosts=$(<"$state/hosts")
    make_switch "$name" "$(<"$state/rate")"
    echo "127.0.0.1 localhost" >"$state/hosts_file"
    for ((host = 1; host <= hosts; host++)); do
        mkdir -p "$state/h$host"/{tmp,shm}
        chmod 1777 "$state/h$host"/{tmp,shm}
        echo "$lab_subnet.$host h$host" >>"$state/hosts_file"
        make_host "$name" "$host" "$(<"$state/rate")" "$(<"$state/congestion")"
    done
}

# Also finds out whether this machine can have labs at all.
make_switch() {
    local switch=$1-switch rate=$2 tool message
    for tool in ip tc unshare setsid flock; do
        command -v "$tool" >/dev/null || unavailable "no command $tool (Debian: iproute2, util-linux)"
    done
    [[ -z $(namespaces_of "$1") ]] || { echo "lab: there is a lab $1 already." >&2; exit 1; }
    message=$(ip netns add "$switch" 2>&1) || unavailable "no network namespaces ($message)"
    message=$(ip netns exec "$switch" unshare --uts true 2>&1) ||
        unavailable "namespaces cannot be entered ($message)"
    message=$(ip -n "$switch" link add "$lab_bridge" type bridge 2>&1) || unavailable "no bridge ($message)"
    [[ $rate == none ]] || message=$(shape "$switch" "$lab_bridge" "$rate" 2>&1) ||
        unavailable "links cannot be shaped: no qdisc tbf ($message)"
    [[ $rate == none ]] || tc -n "$switch" qdisc del dev "$lab_bridge" root
    ip -n "$switch" link set "$lab_bridge" up
}

make_host() {
    local switch=$1-switch namespace=$1-h$2 port=h$2 address=$lab_subnet.$2 rate=$3 congestion=$4
    ip netns add "$namespace"
    ip -n "$namespace" link set lo up
    ip -n "$namespace" link add lab0 type veth peer name "$port" netns "$switch"
    ip -n "$switch" link set "$port" master "$lab_bridge" up
    ip -n "$namespace" address add "$address/24" dev lab0
    ip -n "$namespace" link set lab0 up
    if [[ $rate != none ]]; then
        shape "$namespace" lab0 "$rate"
        shape "$switch" "$port" "$rate"
    fi
    # By route: inside a namespace the kernel refuses the sysctl of the same meaning.
    [[ $congestion == system ]] ||
        ip -n "$namespace" route replace "$lab_subnet.0/24" dev lab0 src "$address" \
            congctl "$congestion" 2>/dev/null ||
        echo "lab: no congestion control $congestion here; h$2 keeps the machine's." >&2
}

# link_of NAME host whole|cut: takes the port out of the bridge, where frames then end unseen.
link_of() {
    if [[ $3 == whole ]]; then
        ip -n "$1-switch" link set "$2" master "$lab_bridge"
    else
        ip -n "$1-switch" link set "$2" nomaster
    fi
}

shape() { tc -n "$1" qdisc add dev "$2" root tbf rate "$3" burst 128kb latency 50ms; }

# Ends the processes, the namespaces and with them their links, and the state, in this order: what
# is killed half-way can be done again. Two may try at once.
end_lab() {
    local state=$1 name namespace lock
    { exec {lock}<"$state"; } 2>/dev/null || return 0
    flock "$lock"
    if [[ -f $state/name ]]; then
        name=$(<"$state/name")
        end_processes "$name"
        for namespace in $(namespaces_of "$name"); do
            ip netns delete "$namespace"
        done
        rm -rf --one-file-system "$state"
    fi
    exec {lock}<&-
}

processes_in() {
    local namespace
    for namespace in $(namespaces_of "$1"); do
        ip netns pids "$namespace" 2>/dev/null || true
    done
}

# Two seconds to leave in peace, then by force; new ones may be born meanwhile.
end_processes() {
    local name=$1 signal=TERM try pids
    for ((try = 0; try < 100; try++)); do
        mapfile -t pids < <(processes_in "$name")
        ((${#pids[@]})) || return 0
        ((try < 20)) || signal=KILL
        if ((try == 0 || try >= 20)); then
            kill -s "$signal" "${pids[@]}" 2>/dev/null || true
        fi
        sleep 0.1
    done
    echo "lab: in $name, these processes do not end: ${pids[*]}." >&2
}
