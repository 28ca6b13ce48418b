// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sinew/communicator.hpp>

namespace sinew::tests {

/// Makes `calls` collective calls back to back on the ranks of `comm`, and on a duplicate and a part
/// of it in between: any collective, algorithm, root and size, blocking and up to 8 non-blocking ones
/// under way. All is drawn from `seed`, which is equal on all ranks, so that every rank knows what it
/// must get; nothing but the calls themselves keeps the ranks in step. Each call's values differ from
/// those of all others: what a call leaves behind cannot pass for the next one's result.
/// Collective. Throws std::runtime_error, which names the call, for the first wrong result.
void run_storm(Communicator& comm, std::uint64_t seed, long calls);

/// SINEW_TEST_STORM, or as many as every run of the tests can afford.
long calls_of_storm();

}  // namespace sinew::tests
