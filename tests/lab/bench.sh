#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A benchmark over the hosts of a lab. `bench.sh --help` explains.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=tests/lab/rate.sh
. "$here/rate.sh"

hosts=4 rate=200mbit per_host=1 congestion=cubic name=collectives
build=${SINEW_BUILD:-$here/../../build/release}
arguments=()

help() {
    cat <<'HELP'
./dev bench --lab [name] [lab flags] [benchmark flags]
tests/lab/bench.sh       the same, with what is built already

Makes a lab, runs build/release/bench/<name> (collectives) over its hosts, ends the lab.

  --hosts N            how many hosts (4)
  --rate R             rate of each link, each way, or none (200mbit)
  --ranks-per-host K   (1)
  --congestion C       TCP congestion control, or system: this machine's (cubic)

All else goes to the benchmark, with --link-rate BITS_PER_SECOND added, from which it reports the
fraction of the link: of what the wire allows, how much was reached. For example:

  ./dev bench --lab --hosts 4 --rate 200mbit --op allreduce --sizes 4M,16M --peer openmpi

Needs root; exits 77 where this machine has no labs. SINEW_BUILD: another build than build/release.
HELP
}

while (($#)); do
    case $1 in
        --hosts=* | --rate=* | --ranks-per-host=* | --congestion=*)
            set -- "${1%%=*}" "${1#*=}" "${@:2}" ;;
        --hosts) hosts=${2:?--hosts needs a value}; shift 2 ;;
        --rate) rate=${2:?--rate needs a value}; shift 2 ;;
        --ranks-per-host) per_host=${2:?--ranks-per-host needs a value}; shift 2 ;;
        --congestion) congestion=${2:?--congestion needs a value}; shift 2 ;;
        --lab) shift ;;
        -h | --help) help; exit ;;
        -*) arguments+=("$1"); shift ;;
        *)
            # The first word that belongs to no flag is the benchmark's name.
            if ((${#arguments[@]} == 0)); then name=$1; else arguments+=("$1"); fi
            shift ;;
    esac
done

program=$build/bench/$name
if [[ ! -x $program ]]; then
    echo "bench: $program is not built. ./dev build builds it." >&2
    exit 1
fi
if [[ $rate != none ]]; then
    link=$(bits_per_second "$rate") || { echo "bench: --rate $rate is not a rate such as 200mbit." >&2; exit 2; }
    arguments+=(--link-rate "$link")
fi
exec "$here/lab" run --hosts "$hosts" --rate "$rate" --congestion "$congestion" -- \
    "$here/mpirun.sh" --per-host "$per_host" -- "$program" "${arguments[@]}"
