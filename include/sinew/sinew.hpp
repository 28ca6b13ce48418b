// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything but MPI interop (<sinew/mpi.hpp>).
#include <sinew/communicator.hpp>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/version.hpp>
#include <sinew/world.hpp>
