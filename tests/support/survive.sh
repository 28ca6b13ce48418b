#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# survive.sh PROGRAM ARGUMENTS...: runs one rank whose death the launcher is not to hear of, so that
# it leaves the others alone. For tests that kill a rank; SINEW_MPIEXEC_SURVIVE in
# tests/transport/CMakeLists.txt has the options of mpiexec that belong to it.
trap '' USR1   # MPICH's mpiexec tells all ranks of a loss by it
"$@" || true
