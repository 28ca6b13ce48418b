// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sinew/communicator.hpp>

namespace sinew::tests {

/// Makes `calls` random collective calls back to back on the ranks of `comm`, on a duplicate and on
/// a part of it: any collective, algorithm, root and size, blocking and with up to 8 non-blocking
/// calls in flight. `seed` must be equal on all ranks, so that every rank knows the expected
/// results; only the calls themselves synchronize the ranks. The values of each call are unique, so
/// that leftovers of one call cannot pass as the result of the next. Collective. Throws
/// std::runtime_error, which names the call, for the first wrong result.
void run_storm(Communicator& comm, std::uint64_t seed, long calls);

/// SINEW_TEST_STORM, or a number that every test run can afford.
long calls_of_storm();

}  // namespace sinew::tests
