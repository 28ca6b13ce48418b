#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rsh.sh [options] HOST COMMAND...: what an MPI launcher takes for rsh; here the way to a lab host.
set -euo pipefail
while [[ ${1-} == -* ]]; do
    shift
done
host=${1:?host}
shift
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lab" exec "$host" -- sh -c "$*"
