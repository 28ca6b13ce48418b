// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>

namespace sinew::tests {

/// Calls every collective on every type, operation and a range of counts, in place and not,
/// blocking and not, with every algorithm, and compares each result with one computed directly. All
/// results are exact. Collective; reports GoogleTest failures.
void run_collective_suite(Communicator& comm);

}  // namespace sinew::tests
