#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite_test.sh [--np N] [--per-host K] BINARY [arguments]: an MPI test program over four lab hosts, one
# rank each unless told otherwise.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
ranks=4 per_host=1
while (($#)); do
    case $1 in
        --np) ranks=${2:?how many ranks}; shift 2 ;;
        --per-host) per_host=${2:?how many ranks of a host}; shift 2 ;;
        *) break ;;
    esac
done
exec "$here/lab" run --hosts 4 --rate 1gbit -- "$here/mpirun.sh" --np "$ranks" --per-host "$per_host" -- \
    "${@:?which program}"
