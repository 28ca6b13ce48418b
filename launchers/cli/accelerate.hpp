// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/command_line/options.hpp"

namespace sinew::launch {

/// Implements --accelerate: sets LD_PRELOAD of each program to the libsinew_mpi.so for its MPI. Does
/// nothing unless asked for. Throws UsageError if a program does not say which MPI it uses, or if
/// there is no such library.
void accelerate(RunOptions& options);

}  // namespace sinew::launch
