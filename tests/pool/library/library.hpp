// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/pool.hpp>
#include <vector>

namespace sinew::testing_library {

/// Defined in the library.
int cube(int x);
/// A task that only the library mentions.
std::vector<int> fourth_powers(Pool& pool, std::vector<int> const& values);

}  // namespace sinew::testing_library
