// SPDX-License-Identifier: Apache-2.0
#pragma once

// Ranks and what they say to each other. Tasks: <sinew/tasks.hpp>; MPI interop: <sinew/mpi.hpp>.
#include <sinew/communicator.hpp>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>
#include <sinew/version.hpp>
#include <sinew/world.hpp>
