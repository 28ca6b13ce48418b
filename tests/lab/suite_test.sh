#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# suite_test.sh BINARY [arguments]: an MPI test program over four lab hosts, one rank each.
set -euo pipefail
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
exec "$here/lab" run --hosts 4 --rate 1gbit -- "$here/mpirun.sh" --np 4 -- "${@:?which program}"
